//! The command `perfdb-gate merge`, which merges new measurements into a table on disk.

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::repair::merge::{self, MergeOptions};
use perfdb_gate::report;

use super::bar::Bar;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    #[command(flatten)]
    options: MergeOptions,
    /// Write the changes; without it, only print what would change.
    #[arg(long, help_heading = "How to merge")]
    pub write: bool,
}

impl MergeArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let merge = Bar::during("merging", terminal, || merge::run(&self.options))?;
        let (text, exit) = (merge.text(self.write), merge.exit());
        if self.write {
            merge.write()?;
        }
        report::print(&clean_lines(&text))?;
        Ok(exit)
    }
}
