//! `perfdb-gate validate`.

use std::path::PathBuf;

use clap::Args;

use super::output::{FailOn, OutputArgs};
use super::selection::{RuleArgs, SelectionArgs};

/// `perfdb-gate validate`.
#[derive(Debug, Args)]
pub struct Validate {
    /// Repository or folder that holds the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to judge")]
    pub root: PathBuf,
    /// Judge a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to judge")]
    pub reference: Option<String>,
    /// Only what changed since the merge base with this commit.
    #[arg(long, value_name = "REF", help_heading = "What to judge")]
    pub since: Option<String>,
    /// Judge end-to-end traces below a folder instead: workload cards, experiment configs and metric
    /// files. One thread does it, whatever --threads says.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    #[arg(conflicts_with_all = ["root", "since", "ledger", "system", "backend", "version", "table"])]
    pub traces: Option<PathBuf>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A collector's log directory: what it classified as failed is missing for a reason.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    pub ledger: Option<PathBuf>,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub gate: GateArgs,
}

/// Which findings fail a run.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// The least severity that fails the run.
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Output")]
    pub fail_on: FailOn,
    /// Judge against this baseline instead of the repository's `.perfdb-gate/baseline.json`.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub baseline: Option<PathBuf>,
    /// Freeze today's findings into a baseline; later runs report what is new or has grown.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub write_baseline: Option<PathBuf>,
    /// Show only this many findings of each rule and severity, drawn at random, to judge by hand.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "Output")]
    pub draw: Option<u32>,
    /// Seed of the draw.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "draw", help_heading = "Output")]
    pub seed: u64,
}
