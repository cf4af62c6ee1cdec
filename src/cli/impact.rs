//! The command `perfdb-gate impact`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::impact;
use perfdb_gate::planner::{MOST_VERSIONS, PlannerChoice, RUNNER};
use perfdb_gate::report;

use super::bar::Bar;
use super::output::DocumentFormatName;
use super::outputs::{self, write_text};
use super::terminal::TerminalArgs;

/// Arguments that choose the planner and what it is asked.
#[derive(Debug, Args)]
pub struct PlannerArgs {
    /// A Python with the planner's package (aisimulate or aiconfigurator-core), or `none` to ask nobody; without it
    /// $PERFDB_GATE_PLANNER, or python3 if it has the package.
    #[arg(long, value_name = "PYTHON", help_heading = "Predictions")]
    pub planner: Option<OsString>,
    /// Number of changed versions to ask about, beside the current and the next one of each backend.
    #[arg(long, value_name = "N", default_value_t = MOST_VERSIONS, help_heading = "Predictions")]
    pub planner_versions: usize,
    /// Models and steps to predict instead of those of rules/cases.yaml.
    #[arg(long, value_name = "FILE", help_heading = "Predictions")]
    pub cases: Option<PathBuf>,
}

impl From<&PlannerArgs> for impact::PlannerOptions {
    fn from(args: &PlannerArgs) -> Self {
        Self {
            choice: args.planner.clone().map_or(PlannerChoice::Found, PlannerChoice::named),
            cases: args.cases.clone(),
            most_versions: args.planner_versions,
        }
    }
}

/// The arguments of `perfdb-gate impact`.
#[derive(Debug, Args)]
pub struct ImpactArgs {
    /// Repository that contains the database, or a folder in it; may be bare if commits are named.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to predict")]
    pub root: PathBuf,
    /// The branch to merge into; the head is compared with their merge base. Without it, one state
    /// is predicted.
    #[arg(long, value_name = "REF", help_heading = "What to predict")]
    pub base_ref: Option<String>,
    /// The commit to predict, read without a checkout; without it, the files on disk.
    #[arg(long, alias = "ref", value_name = "REF", help_heading = "What to predict")]
    pub head_ref: Option<String>,
    /// Only these systems, e.g. `h200_sxm` or `b*`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "What to predict")]
    pub system: Vec<String>,
    /// Only these backends, e.g. `vllm`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "What to predict")]
    pub backend: Vec<String>,
    /// Only these versions, e.g. `0.24.0` or `0.2*`; without it, changed versions, and the current and the next one of each backend.
    #[arg(long, value_name = "VERSION", help_heading = "What to predict")]
    pub version: Vec<String>,
    /// Only these models, by their names in the file of cases, e.g. `*Qwen3-32B*`.
    #[arg(long, value_name = "NAME", help_heading = "What to predict")]
    pub model: Vec<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to predict")]
    pub rules_dir: Option<PathBuf>,
    #[command(flatten)]
    pub planner: PlannerArgs,
    /// Print the program that asks the package, and nothing else.
    #[arg(long, help_heading = "Predictions")]
    pub print_runner: bool,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/impact/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormatName::Human, help_heading = "Output")]
    pub format: DocumentFormatName,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl From<&ImpactArgs> for impact::ImpactOptions {
    fn from(args: &ImpactArgs) -> Self {
        Self {
            root: args.root.clone(),
            base: args.base_ref.clone(),
            head: args.head_ref.clone(),
            systems: args.system.clone(),
            backends: args.backend.clone(),
            versions: args.version.clone(),
            models: args.model.clone(),
            rules: args.rules_dir.clone(),
            planner: (&args.planner).into(),
        }
    }
}

impl ImpactArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        if self.print_runner {
            report::print(RUNNER)?;
            return Ok(Exit::Clean);
        }
        outputs::check(&self.output, [])?;
        let impact = impact::run(&self.into(), &Bar::of("versions", terminal))?;
        write_text(self.output.as_deref(), impact::render(&impact, self.format.of(terminal)))?;
        Ok(impact::exit(&impact))
    }
}
