//! The command `perfdb-gate merge`, which merges new measurements into a table on disk.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::repair::merge::{self, MergeOptions, MergePolicy};
use perfdb_gate::report;

use super::bar::Bar;
use super::repair::file_name;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The table, a Parquet file; for shards, the table that they are joined into.
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// A file with rows of the run, or a folder of such files; may be repeated, later ones win.
    #[arg(long, value_name = "RUN", required = true, num_args = 1.., help_heading = "What to merge")]
    pub with: Vec<PathBuf>,
    /// Merge only the keys of this rerun list; other keys in the run are refused.
    #[arg(long, value_name = "FILE", help_heading = "What to merge")]
    pub only: Option<PathBuf>,
    /// Ignore rows of the run that the list does not name, instead of refusing them.
    #[arg(long, requires = "only", help_heading = "What to merge")]
    pub pick: bool,
    /// Number of shards of the run, if the file names do not state it.
    #[arg(long, value_name = "N", help_heading = "What to merge")]
    pub shards: Option<usize>,
    /// Merge even if shards are missing.
    #[arg(long, help_heading = "What to merge")]
    pub incomplete: bool,
    /// Which measurement of a key is kept.
    #[arg(long, value_enum, default_value_t = PolicyName::Last, help_heading = "How to merge")]
    pub policy: PolicyName,
    /// Only add keys; a key that the table already has is refused.
    #[arg(long, help_heading = "How to merge")]
    pub append: bool,
    /// A column to ignore when measurements are compared, such as `model`; may be repeated.
    #[arg(long, value_name = "COLUMN", help_heading = "How to merge")]
    pub ignore: Vec<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "How to merge")]
    pub rules_dir: Option<PathBuf>,
    /// Where to record replaced and added rows, one JSON object per line; must not exist yet.
    #[arg(long, value_name = "FILE", default_value = "merged.jsonl", value_parser = file_name)]
    #[arg(help_heading = "How to merge")]
    pub ledger: PathBuf,
    /// Write the changes; without it, only print what would change.
    #[arg(long, help_heading = "How to merge")]
    pub write: bool,
}

/// The measurement of a key that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// The run's measurement; of several, the last.
    Last,
    /// The fastest measurement, including the table's.
    Min,
    /// The median measurement by latency, including the table's.
    Median,
}

impl From<PolicyName> for MergePolicy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Last => Self::Last,
            PolicyName::Min => Self::Min,
            PolicyName::Median => Self::Median,
        }
    }
}

impl From<&MergeArgs> for MergeOptions {
    fn from(args: &MergeArgs) -> Self {
        Self {
            table: args.table.clone(),
            with: args.with.clone(),
            policy: args.policy.into(),
            only: args.only.clone(),
            pick: args.pick,
            append: args.append,
            ignore: args.ignore.clone(),
            shards: args.shards,
            incomplete: args.incomplete,
            rules: args.rules_dir.clone(),
            ledger: args.ledger.clone(),
        }
    }
}

impl MergeArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let merge = Bar::during("merging", terminal, || merge::run(&self.into()))?;
        let (text, exit) = (merge.text(self.write), merge.exit());
        if self.write {
            merge.write()?;
        }
        report::print(&clean_lines(&text))?;
        Ok(exit)
    }
}
