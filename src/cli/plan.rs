//! The command `perfdb-gate plan`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::plan::{self, PlanOptions};
use perfdb_gate::report;

use super::bar::Bar;
use super::outputs::{self, write_text};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    options: PlanOptions,
    /// Write the list to a file for `measure`, `remeasure` and `merge`; without it, print a
    /// summary.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl PlanArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        let plan = plan::run(&self.options, &Bar::of("tables", terminal))?;
        if let Some(file) = self.output.as_deref().filter(|_| plan.list.points() > 0) {
            write_text(Some(file), plan.list.text())?;
        }
        report::print(&clean_lines(&plan.text()))?;
        Ok(plan.exit())
    }
}
