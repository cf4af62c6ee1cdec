//! The command `perfdb-gate validate`.

use std::path::{Path, PathBuf};

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::checks::settings::RuleSelection;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::findings::baseline::Baseline;
use perfdb_gate::jobs::impact::PlannerOptions;
use perfdb_gate::jobs::validate;
use perfdb_gate::planner::PlannerChoice;
use perfdb_gate::report::{ReportView, chart};
use perfdb_gate::traces;

use super::bar::Bar;
use super::output::{FailOn, OutputArgs};
use super::outputs::{self, Outputs};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to judge")]
    pub root: PathBuf,
    /// Check a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to judge")]
    pub reference: Option<String>,
    /// Check only what changed since the merge base with this commit.
    #[arg(long, value_name = "REF", help_heading = "What to judge")]
    pub since: Option<String>,
    /// Read rules, waivers and the baseline of `.perfdb-gate/` from this commit, so that a change
    /// cannot choose how it is checked; by default from what is checked, or from --since.
    #[arg(long, value_name = "REF", help_heading = "What to judge")]
    pub settings_ref: Option<String>,
    /// Check end-to-end traces in a folder instead: workload cards, experiment configs and metric
    /// files. This always uses one thread.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    #[arg(conflicts_with_all = ["root", "since", "ledger", "systems", "backends", "versions", "tables"])]
    pub traces: Option<PathBuf>,
    #[command(flatten)]
    pub selection: Selection,
    /// A collector's log directory; keys that it recorded as failed are not reported as missing.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    pub ledger: Option<PathBuf>,
    /// Also let the planner's package load the tables and plan its models: a Python with aisimulate or
    /// aiconfigurator-core. Without it nobody is asked.
    #[arg(long, value_name = "PYTHON", conflicts_with = "traces", help_heading = "What to judge")]
    pub planner: Option<PlannerChoice>,
    #[command(flatten)]
    pub rules: RuleSelection,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub gate: GateArgs,
}

/// Arguments that decide which findings fail a run, and which are shown.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// Fail if there is a finding of this severity or worse.
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Output")]
    pub fail_on: FailOn,
    /// Exit with code 3 if there are tables outside every database root, which no rule checks.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
    /// Use this baseline instead of the repository's `.perfdb-gate/baseline.json`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub baseline: Option<PathBuf>,
    /// Write today's findings to a baseline; later runs report only new and grown findings.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub write_baseline: Option<PathBuf>,
    /// Show only this many findings per rule and severity, drawn at random, to review by hand.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "Output")]
    pub draw: Option<u32>,
    /// Seed of the random draw.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "draw", help_heading = "Output")]
    pub seed: u64,
    /// Print every finding; without it, more than 10 are grouped by cause.
    #[arg(long, help_heading = "Output")]
    pub full: bool,
    /// Write all rows of each finding to a folder as CSV: one file per finding, and findings.csv.
    #[arg(long = "rows", value_name = "DIR", conflicts_with = "traces", help_heading = "Output")]
    pub rows_dir: Option<PathBuf>,
}

impl From<&Validate> for validate::ValidateOptions {
    fn from(args: &Validate) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            selection: args.selection.clone(),
            since: args.since.clone(),
            settings_ref: args.settings_ref.clone(),
            rules: args.rules.clone(),
            baseline: args.gate.baseline.clone(),
            ledger: args.ledger.clone(),
            rows_dir: args.gate.rows_dir.clone(),
            strict: args.gate.strict,
            curves: args.output.html.is_some(),
            planner: args.planner.clone().map(|planner| PlannerOptions {
                planner: Some(planner),
                ..PlannerOptions::default()
            }),
        }
    }
}

impl Validate {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let gate = &self.gate;
        self.output.check_one_state()?;
        outputs::check(self.output.files().chain(&gate.write_baseline), &gate.rows_dir)?;
        gate.write_baseline.as_deref().map_or(Ok(()), Baseline::check_target)?;
        let (mut report, figures) = match &self.traces {
            Some(root) => (traces::run(&self.trace_options(root))?, Vec::new()),
            None => validate::drawn(&self.into(), &Bar::of("tables", terminal))?,
        };
        let mut outputs = Outputs::of(gate.full);
        if let Some(path) = &gate.write_baseline {
            outputs.add(path, Baseline::of(&report.findings).text());
        }
        let outcome = report.outcome(gate.fail_on.least());
        if let Some(n) = gate.draw {
            report.draw(n as usize, gate.seed);
        }
        let (view, drawings) = (ReportView::new(&report, outcome), chart::drawings(&figures)?);
        outputs.report(&view, &drawings, &self.output, terminal)?;
        outputs.write()?;
        Ok(self.output.inconclusive.exit(outcome.verdict, &report))
    }

    fn trace_options(&self, root: &Path) -> traces::TraceOptions {
        traces::TraceOptions {
            root: root.to_owned(),
            reference: self.reference.clone(),
            settings_ref: self.settings_ref.clone(),
            rules: self.rules.clone(),
            baseline: self.gate.baseline.clone(),
        }
    }
}
