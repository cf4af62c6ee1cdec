//! The command `perfdb-gate status`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::checks::settings::RuleSelection;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::jobs::validate::ValidateOptions;
use perfdb_gate::jobs::{DocumentFormat, status};

use super::bar::Bar;
use super::outputs::{self, write_text};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Which tables")]
    pub root: PathBuf,
    /// Read the tables of a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "Which tables")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub selection: Selection,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "Which tables")]
    pub rules_dir: Option<PathBuf>,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/health/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormat::Human, help_heading = "Output")]
    pub format: DocumentFormat,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl From<&StatusArgs> for ValidateOptions {
    fn from(args: &StatusArgs) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            selection: args.selection.clone(),
            rules: RuleSelection { folder: args.rules_dir.clone(), ..RuleSelection::default() },
            ..Self::default()
        }
    }
}

impl StatusArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        let health = status::run(&self.into(), &Bar::of("tables", terminal))?;
        write_text(self.output.as_deref(), health.render(self.format, terminal.quiet))?;
        Ok(health.exit())
    }
}
