//! The commands `perfdb-gate completions` and `perfdb-gate schema`, whose output other programs
//! read.

use clap::Args;
use clap_complete::Shell;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::schema::{self, SchemaFile};
use perfdb_gate::report;

/// The arguments of `perfdb-gate completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}

/// The arguments of `perfdb-gate schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The file format.
    #[arg(value_enum)]
    pub file: SchemaFile,
}

impl Completions {
    /// Prints the completions of a command line.
    pub(crate) fn run(&self, mut command: clap::Command) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "perfdb-gate", &mut script);
        report::print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Clean)
    }
}

impl SchemaArgs {
    pub(crate) fn run(&self) -> Result<Exit> {
        report::print(&schema::text(self.file))?;
        Ok(Exit::Clean)
    }
}
