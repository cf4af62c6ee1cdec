//! The command `perfdb-gate new`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::new;
use perfdb_gate::report::{self, ReportView};

use super::output::FailOn;
use super::outputs::human;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// Repository or folder that contains the database, or will contain it.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Name of the system, such as h200_sxm. A known name brings the machine's figures; any other name
    /// takes those of the GPU at hand.
    #[arg(long, value_name = "NAME")]
    pub system: String,
    /// Name of the table, such as gemm; a table that no spec describes gets one, learned from the rows.
    #[arg(long, value_name = "NAME")]
    pub table: String,
    /// Backend that was measured, such as vllm.
    #[arg(long, value_name = "NAME")]
    pub backend: String,
    /// Version of the backend.
    #[arg(long, value_name = "VERSION")]
    pub version: String,
    /// CSV file with the rows; without it, the header of such a file is printed.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Write the files if none of them has an error; existing files are kept.
    #[arg(long, requires = "from")]
    pub write: bool,
}

impl From<&NewArgs> for new::NewOptions {
    fn from(args: &NewArgs) -> Self {
        Self {
            root: args.root.clone(),
            system: args.system.clone(),
            table: args.table.clone(),
            backend: args.backend.clone(),
            version: args.version.clone(),
            from: args.from.clone(),
            write: args.write,
        }
    }
}

impl NewArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let made = new::run(&self.into())?;
        let mut text = made.files_text();
        let mut exit = Exit::Clean;
        if let Some(report) = &made.report {
            let outcome = report.outcome(FailOn::Error.least());
            text += "\n";
            text += &report::render(&ReportView::new(report, outcome), human(terminal))?;
            exit = outcome.verdict.exit();
        }
        report::print(&(text + &made.next_text()))?;
        Ok(exit)
    }
}
