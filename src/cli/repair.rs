//! The commands `perfdb-gate dedupe` and `perfdb-gate convert`, which change tables on disk.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::repair::dedupe::{self, Policy};
use perfdb_gate::jobs::repair::{RepairOptions, convert, file_name};
use perfdb_gate::report;

use super::bar::Bar;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate convert`. `perfdb-gate dedupe` has the same arguments and more.
#[derive(Debug, Args)]
pub struct RepairArgs {
    #[command(flatten)]
    options: RepairOptions,
    /// Write the changes; without it, only print what would change.
    #[arg(long, help_heading = "How to change it")]
    pub write: bool,
}

/// The arguments of `perfdb-gate dedupe`.
#[derive(Debug, Args)]
pub struct DedupeArgs {
    #[command(flatten)]
    pub repair: RepairArgs,
    #[command(flatten)]
    policy: Policy,
    /// Where to record removed rows, one JSON object per line; must not exist yet.
    #[arg(long, value_name = "FILE", default_value = "dropped.jsonl", value_parser = file_name)]
    #[arg(help_heading = "How to change it")]
    pub dropped: PathBuf,
}

impl DedupeArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let work = || dedupe::run(&self.repair.options, self.policy.clone());
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

impl RepairArgs {
    /// Runs `perfdb-gate convert`.
    pub fn convert(&self, terminal: TerminalArgs) -> Result<Exit> {
        let work = || convert::run(&self.options);
        let done = Bar::during("reading tables", terminal, work)?;
        let (text, exit) = (done.text(self.write), done.exit());
        if self.write {
            done.write()?;
        }
        report::print(&clean_lines(&text))?;
        Ok(exit)
    }
}
