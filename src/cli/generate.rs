//! The commands `perfdb-gate completions` and `perfdb-gate schema`, whose output other programs
//! read.

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::schema;
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
    pub file: SchemaName,
}

/// The file formats with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    /// A report: `validate --format json`.
    Report,
    /// Predictions: `impact --format json`.
    Impact,
    /// Stages of a change: `sanity --format stages`.
    Stages,
    /// An audit, `sanity --report audit=FILE`.
    Audit,
    /// `rules/<rule>.yaml`.
    Rule,
    /// `rules/tables/<family>.yaml`.
    Tables,
    /// A layout of a database, `rules/layouts/<name>.yaml`.
    Layout,
    /// `.perfdb-gate/waivers.yaml`.
    Waivers,
    /// A sidecar, `collection_meta.yaml`.
    Sidecar,
    /// A rerun list: `plan --output FILE`.
    Rerun,
    /// A line between `remeasure --device process` and its command.
    Runner,
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
        report::print(&match self.file {
            SchemaName::Report => schema::report(),
            SchemaName::Impact => schema::impact(),
            SchemaName::Stages => schema::stages(),
            SchemaName::Audit => schema::audit(),
            SchemaName::Rule => schema::rule(),
            SchemaName::Tables => schema::tables(),
            SchemaName::Layout => schema::layout(),
            SchemaName::Waivers => schema::waivers(),
            SchemaName::Sidecar => schema::sidecar(),
            SchemaName::Rerun => schema::rerun(),
            SchemaName::Runner => schema::runner(),
        })?;
        Ok(Exit::Clean)
    }
}
