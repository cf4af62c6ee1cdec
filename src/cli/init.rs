//! The command `perfdb-gate init`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::jobs::init;
use perfdb_gate::report;

use super::bar::Bar;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Repository that contains the database, or a folder in it.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Repository of perfdb-gate on GitHub, whose action the workflows use; without it, the one where
    /// this program is published.
    #[arg(long, value_name = "OWNER/NAME")]
    pub repository: Option<String>,
    /// Commit (40 hexadecimal digits) or version of perfdb-gate that the workflows use; without it,
    /// this version's tag, or the branch main if this is not the program of a release.
    #[arg(long, value_name = "COMMIT")]
    pub action: Option<String>,
    /// Also write a workflow that comments on pull requests; it needs the right to write comments.
    #[arg(long)]
    pub comment: bool,
    /// Layout of the database, copied to `.perfdb-gate/rules/layouts/`, so that every run uses it.
    #[arg(long, value_name = "NAME")]
    pub layout: Option<String>,
}

impl From<&InitArgs> for init::InitOptions {
    fn from(args: &InitArgs) -> Self {
        Self {
            root: args.root.clone(),
            repository: args.repository.clone(),
            action: args.action.clone(),
            comment: args.comment,
            layout: args.layout.clone(),
        }
    }
}

impl InitArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let setup = init::run(&self.into(), &Bar::of("tables", terminal))?;
        report::print(&setup.text())?;
        Ok(Exit::Clean)
    }
}
