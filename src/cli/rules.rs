//! The commands `perfdb-gate explain`, `suggest` and `noise`, which print and learn rules
//! and specs.

use std::path::{Path, PathBuf};

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::jobs::{explain, noise, operations, suggest};
use perfdb_gate::report;
use perfdb_gate::specs::Library;

use super::bar::Bar;
use super::outputs::write_text;
use super::terminal::{self, TerminalArgs};

/// The arguments of `perfdb-gate explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The rule's id, e.g. `duplicate-key`; without it, all rules are listed.
    pub rule: Option<String>,
    /// Compare the table specs with a repository's own operation catalog instead.
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "rule")]
    pub check_root: Option<PathBuf>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// The arguments of `perfdb-gate suggest`.
#[derive(Debug, Args)]
pub struct SuggestArgs {
    /// The table's name, with or without `_perf`.
    pub table: String,
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Learn from a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
    /// Write the spec to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The arguments of `perfdb-gate noise`.
#[derive(Debug, Args)]
pub struct NoiseArgs {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Learn from a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Write the profile to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Explain {
    pub fn run(&self) -> Result<Exit> {
        let overlay = self.rules_dir.as_deref();
        if let Some(root) = &self.check_root {
            let compared = operations::compare(root, overlay)?;
            report::print(&clean_lines(&compared.text()))?;
            return Ok(compared.exit());
        }
        report::print(&match &self.rule {
            Some(rule) => {
                let rules = Rules::with_examples(&library(overlay)?)?;
                explain::story(rules.get(rule)?, terminal::columns())
            }
            None => explain::list(&Rules::read(&library(overlay)?)?),
        })?;
        Ok(Exit::Clean)
    }
}

impl SuggestArgs {
    pub fn run(self, terminal: TerminalArgs) -> Result<Exit> {
        let options = suggest::SuggestOptions {
            root: self.root,
            reference: self.reference,
            rules: self.rules_dir,
            table: self.table,
        };
        let text = Bar::during("reading tables", terminal, || suggest::run(&options))?;
        write_text(self.output.as_deref(), text)?;
        Ok(Exit::Clean)
    }
}

impl NoiseArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        let work = || noise::run(&self.root, self.reference.as_deref());
        let noise = Bar::during("reading tables", terminal, work)?;
        write_text(self.output.as_deref(), noise.yaml())?;
        Ok(Exit::Clean)
    }
}

/// Returns the built-in rules and specs with the files of an overlay.
fn library(overlay: Option<&Path>) -> Result<Library> {
    let mut library = Library::embedded();
    if let Some(folder) = overlay {
        library.overlay(folder)?;
    }
    Ok(library)
}
