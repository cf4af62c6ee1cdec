//! The commands `perfdb-gate explain` and `suggest`, which print rules and learn specs.

use std::path::{Path, PathBuf};

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::jobs::explain;
use perfdb_gate::jobs::suggest::{self, SuggestOptions};
use perfdb_gate::report;
use perfdb_gate::specs::{Library, ShippedFacts};

use super::bar::Bar;
use super::outputs::write_text;
use super::terminal::{self, TerminalArgs};

/// The arguments of `perfdb-gate explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The rule's id, e.g. `duplicate-key`; without it, all rules are listed.
    pub rule: Option<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// The arguments of `perfdb-gate suggest`.
#[derive(Debug, Args)]
pub(crate) struct SuggestArgs {
    #[command(flatten)]
    options: SuggestOptions,
    /// Write the spec to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Explain {
    pub(crate) fn run(&self) -> Result<Exit> {
        let overlay = self.rules_dir.as_deref();
        report::print(&match &self.rule {
            Some(rule) => {
                let library = library(overlay)?;
                let (rules, shipped) =
                    (Rules::with_examples(&library)?, ShippedFacts::read(&library)?);
                explain::rule_text(rules.get(rule)?, &shipped, terminal::columns())
            }
            None => explain::list(&Rules::read(&library(overlay)?)?),
        })?;
        Ok(Exit::Clean)
    }
}

impl SuggestArgs {
    pub(crate) fn run(self, terminal: TerminalArgs) -> Result<Exit> {
        let text = Bar::during("reading tables", terminal, || suggest::run(&self.options))?;
        write_text(self.output.as_deref(), text)?;
        Ok(Exit::Clean)
    }
}

/// Returns the built-in rules and specs. If `overlay` is a folder, its files are added and replace built-in ones of the
/// same id.
fn library(overlay: Option<&Path>) -> Result<Library> {
    let mut library = Library::embedded();
    if let Some(folder) = overlay {
        library.overlay(folder)?;
    }
    Ok(library)
}
