//! The command `perfdb-gate status`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::DocumentFormat;
use perfdb_gate::jobs::status::{self, StatusOptions};

use super::bar::Bar;
use super::outputs::{self, write_text};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    options: StatusOptions,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/health/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormat::Human, help_heading = "Output")]
    pub format: DocumentFormat,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl StatusArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        let health = status::run(&self.options, &Bar::of("tables", terminal))?;
        write_text(self.output.as_deref(), health.render(self.format, terminal.quiet))?;
        Ok(health.exit())
    }
}
