//! `perfdb-gate merge`, which puts what was measured again into a table on disk.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perfdb_gate::base::error::Result;
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::jobs::repair::merge::{self, MergePolicy};
use perfdb_gate::report;

use super::repair::file_name;

/// `perfdb-gate merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The table, a parquet file; of a run's shards, the one that they become.
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// A file of the run with rows of the table, or a folder that has some; may be repeated, the last counts most.
    #[arg(long, value_name = "RUN", required = true, num_args = 1.., help_heading = "What to merge")]
    pub with: Vec<PathBuf>,
    /// Only keys of this rerun list: the run may have no others.
    #[arg(long, value_name = "FILE", help_heading = "What to merge")]
    pub only: Option<PathBuf>,
    /// Leave out rows of the run that the list does not name, instead of refusing them.
    #[arg(long, requires = "only", help_heading = "What to merge")]
    pub pick: bool,
    /// How many shards the run has, where their names do not say.
    #[arg(long, value_name = "N", help_heading = "What to merge")]
    pub shards: Option<usize>,
    /// Merge although shards are missing.
    #[arg(long, help_heading = "What to merge")]
    pub incomplete: bool,
    /// Which measurement of a key stays.
    #[arg(long, value_enum, default_value_t = PolicyName::Last, help_heading = "How to merge")]
    pub policy: PolicyName,
    /// Add keys alone: a key that the table has already is refused.
    #[arg(long, help_heading = "How to merge")]
    pub append: bool,
    /// A column whose cells do not make another measurement, such as a model's name; may be repeated.
    #[arg(long, value_name = "COLUMN", help_heading = "How to merge")]
    pub ignore: Vec<String>,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "How to merge")]
    pub rules_dir: Option<PathBuf>,
    /// The record of what is replaced and added, one JSON object per line; it must not exist yet.
    #[arg(long, value_name = "FILE", default_value = "merged.jsonl", value_parser = file_name)]
    #[arg(help_heading = "How to merge")]
    pub ledger: PathBuf,
    /// Do it; without this, say what would be done.
    #[arg(long, help_heading = "How to merge")]
    pub write: bool,
}

/// Measurements of a key, of which one stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// The run's; of several, the last.
    Last,
    /// The fastest, the table's own included.
    Min,
    /// The one in the middle by latency, the table's own included.
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

impl From<&MergeArgs> for merge::Options {
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
    pub fn run(&self) -> Result<Exit> {
        let merge = merge::run(&self.into())?;
        let (text, exit) = (merge.text(self.write), merge.exit());
        if self.write {
            merge.write()?;
        }
        report::print(&clean_lines(&text))?;
        Ok(exit)
    }
}
