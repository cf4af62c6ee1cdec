//! The command `perfdb-gate impact`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::DocumentFormat;
use perfdb_gate::jobs::impact::{self, ImpactOptions};
use perfdb_gate::planner::RUNNER;
use perfdb_gate::report;

use super::bar::Bar;
use super::outputs::{self, write_text};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate impact`.
#[derive(Debug, Args)]
pub struct ImpactArgs {
    #[command(flatten)]
    options: ImpactOptions,
    /// Print the program that asks the package, and nothing else.
    #[arg(long, help_heading = "Predictions")]
    pub print_runner: bool,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/impact/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormat::Human, help_heading = "Output")]
    pub format: DocumentFormat,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl ImpactArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        if self.print_runner {
            report::print(RUNNER)?;
            return Ok(Exit::Clean);
        }
        outputs::check(&self.output, [])?;
        let impact = impact::run(&self.options, &Bar::of("versions", terminal))?;
        write_text(self.output.as_deref(), impact::render(&impact, self.format, terminal.quiet))?;
        Ok(impact::exit(&impact))
    }
}
