//! The commands `perfdb-gate dedupe` and `perfdb-gate convert`, which change tables on disk.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::repair;
use perfdb_gate::jobs::repair::convert;
use perfdb_gate::jobs::repair::dedupe::{self, KeptCopy, Policy};
use perfdb_gate::report;

use super::bar::Bar;
use super::selection::SelectionArgs;
use super::terminal::TerminalArgs;

/// Arguments that select the tables on disk to change.
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// Repository or folder that contains the database; its files on disk are changed.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to change")]
    pub root: PathBuf,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to change")]
    pub rules_dir: Option<PathBuf>,
    /// Write the changes; without it, only print what would change.
    #[arg(long, help_heading = "How to change it")]
    pub write: bool,
}

impl From<&RepairArgs> for repair::RepairOptions {
    fn from(args: &RepairArgs) -> Self {
        Self {
            root: args.root.clone(),
            selection: args.selection.clone().into(),
            rules: args.rules_dir.clone(),
        }
    }
}

/// The arguments of `perfdb-gate dedupe`.
#[derive(Debug, Args)]
pub struct DedupeArgs {
    #[command(flatten)]
    pub repair: RepairArgs,
    /// Which copy of a measurement is kept.
    #[arg(long, value_enum, default_value_t = KeepName::Last, help_heading = "How to change it")]
    pub keep: KeepName,
    /// Also remove copies that differ by more than reruns do.
    #[arg(long, help_heading = "How to change it")]
    pub disagreeing: bool,
    /// A column to ignore when measurements are compared, such as `model`; may be repeated.
    #[arg(long, value_name = "COLUMN", help_heading = "How to change it")]
    pub ignore: Vec<String>,
    /// Where to record removed rows, one JSON object per line; must not exist yet.
    #[arg(long, value_name = "FILE", default_value = "dropped.jsonl", value_parser = file_name)]
    #[arg(help_heading = "How to change it")]
    pub dropped: PathBuf,
}

/// Parses the name of a file; `-` for standard output is an error.
pub(crate) fn file_name(text: &str) -> Result<PathBuf, String> {
    match text {
        "" | "-" => Err("name a file in which the removed rows are kept".to_owned()),
        name => Ok(PathBuf::from(name)),
    }
}

/// The copy of a measurement that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeepName {
    /// The first in the file.
    First,
    /// The last in the file.
    Last,
    /// The median by latency.
    Median,
}

/// The arguments of `perfdb-gate convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub repair: RepairArgs,
}

impl From<KeepName> for KeptCopy {
    fn from(name: KeepName) -> Self {
        match name {
            KeepName::First => Self::First,
            KeepName::Last => Self::Last,
            KeepName::Median => Self::Median,
        }
    }
}

impl From<&DedupeArgs> for Policy {
    fn from(args: &DedupeArgs) -> Self {
        Self { keep: args.keep.into(), disagreeing: args.disagreeing, ignore: args.ignore.clone() }
    }
}

impl DedupeArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let work = || dedupe::run(&(&self.repair).into(), self.into());
        let done = Bar::during("reading tables", terminal, work)?;
        let write = self.repair.write;
        let (text, exit) = (done.text(write.then_some(&self.dropped)), done.exit());
        if write {
            done.write(&self.dropped)?;
        }
        report::print(&clean_lines(&text))?;
        Ok(exit)
    }
}

impl ConvertArgs {
    pub(crate) fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let work = || convert::run(&(&self.repair).into());
        let done = Bar::during("reading tables", terminal, work)?;
        let write = self.repair.write;
        let (text, exit) = (done.text(write), done.exit());
        if write {
            done.write()?;
        }
        report::print(&clean_lines(&text))?;
        Ok(exit)
    }
}
