//! The command `perfdb-gate explore`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::explore::{self, ExploreOptions};
use perfdb_gate::report;

use super::bar::Bar;
use super::outputs::{self, Outputs};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate explore`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    #[command(flatten)]
    options: ExploreOptions,
    /// The page: by default SYSTEM-BACKEND-VERSION-TABLE.html in the current folder; `-` is standard
    /// output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl ExploreArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        let explored = explore::run(&self.options, &Bar::of("tables", terminal))?;
        let file = self.output.clone().unwrap_or_else(|| format!("{}.html", explored.name).into());
        let mut outputs = Outputs::default();
        outputs::check([&file], [])?;
        outputs.add(&file, explored.page.html);
        outputs.write()?;
        if file.as_os_str() != "-" && !terminal.quiet {
            report::print(&format!("{}\n{}\n", explored.page.summary, file.display()))?;
        }
        Ok(Exit::Clean)
    }
}
