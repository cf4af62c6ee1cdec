//! The command `perfdb-gate validate`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::findings::baseline::Baseline;
use perfdb_gate::jobs::impact::PlannerOptions;
use perfdb_gate::jobs::validate::{self, ValidateOptions};
use perfdb_gate::planner::PlannerChoice;
use perfdb_gate::report::{ReportView, chart};
use perfdb_gate::traces::{self, TraceOptions};

use super::bar::Bar;
use super::output::{FailOn, OutputArgs};
use super::outputs::{self, Outputs};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate validate`.
#[derive(Debug, Args)]
pub struct Validate {
    #[command(flatten)]
    options: ValidateOptions,
    /// Check end-to-end traces in a folder instead: workload cards, experiment configs and metric
    /// files. This always uses one thread.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    #[arg(conflicts_with_all = ["root", "since", "ledger", "planner", "systems", "backends", "versions", "tables", "rows_dir"])]
    pub traces: Option<PathBuf>,
    /// Also let the planner's package load the tables and plan its models: a Python with aisimulate or
    /// aiconfigurator-core. Without it nobody is asked.
    #[arg(long, value_name = "PYTHON", help_heading = "What to judge")]
    pub planner: Option<PlannerChoice>,
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
}

impl Validate {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let gate = &self.gate;
        let planner = self
            .planner
            .clone()
            .map(|planner| PlannerOptions { planner: Some(planner), ..PlannerOptions::default() });
        let curves = self.output.html.is_some();
        let options = ValidateOptions { planner, curves, ..self.options.clone() };
        self.output.check_one_state()?;
        outputs::check(self.output.files().chain(&gate.write_baseline), &options.rows_dir)?;
        gate.write_baseline.as_deref().map_or(Ok(()), Baseline::check_target)?;
        let (mut report, figures) = match &self.traces {
            Some(root) => {
                let options = TraceOptions {
                    root: root.clone(),
                    reference: options.reference,
                    settings_ref: options.settings_ref,
                    rules: options.rules,
                    baseline: options.baseline,
                };
                (traces::run(&options)?, Vec::new())
            }
            None => validate::drawn(&options, &Bar::of("tables", terminal))?,
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
}
