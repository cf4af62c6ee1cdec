//! The commands `perfdb-gate rules`, `explain` and `suggest`, which print rules and learn specs.

use std::path::{Path, PathBuf};

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::base::files::write_all;
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::jobs::{explain, suggest};
use perfdb_gate::report;
use perfdb_gate::specs::Library;

use super::bar::Bar;
use super::outputs::write_text;
use super::removed::{in_selftest, removed};
use super::terminal::{MOST_COLUMNS, TerminalArgs};

/// The arguments of `perfdb-gate rules`.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// Removed; the crate `selftest/` takes its place.
    #[arg(long, value_name = "DIR", hide = true)]
    pub check_root: Option<PathBuf>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// The arguments of `perfdb-gate explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The rule's id, e.g. `duplicate-key`.
    pub rule: String,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// The arguments of `perfdb-gate suggest`.
#[derive(Debug, Args)]
pub struct SuggestArgs {
    /// The table's name, with or without `_perf`.
    #[arg(required_unless_present = "layout")]
    pub table: Option<String>,
    /// Write a first layout and the specs of all tables in a folder instead, for a database that
    /// no layout describes.
    #[arg(long, conflicts_with_all = ["table", "reference", "rules_dir"])]
    pub layout: bool,
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
    /// Write the spec to a file instead of standard output; with --layout, write
    /// layouts/suggested.yaml and tables/suggested.yaml to a folder.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl RulesArgs {
    pub fn run(&self) -> Result<Exit> {
        if self.check_root.is_some() {
            return Err(removed("flag `rules --check-root`", &in_selftest("catalog")));
        }
        report::print(&explain::list(&Rules::read(&library(self.rules_dir.as_deref())?)?))?;
        Ok(Exit::Clean)
    }
}

impl Explain {
    pub fn run(&self) -> Result<Exit> {
        let rules = Rules::with_examples(&library(self.rules_dir.as_deref())?)?;
        report::print(&explain::story(rules.get(&self.rule)?, width()))?;
        Ok(Exit::Clean)
    }
}

impl SuggestArgs {
    pub fn run(self, terminal: TerminalArgs) -> Result<Exit> {
        let Some(table) = self.table else {
            return suggest_layout(&self.root, self.output.as_deref());
        };
        let options = suggest::SuggestOptions {
            root: self.root,
            reference: self.reference,
            rules: self.rules_dir,
            table,
        };
        let text = Bar::during("reading tables", terminal, || suggest::run(&options))?;
        write_text(self.output.as_deref(), text)?;
        Ok(Exit::Clean)
    }
}

/// Writes a suggested layout and its specs to a folder, or prints them.
fn suggest_layout(root: &Path, folder: Option<&Path>) -> Result<Exit> {
    let suggested = suggest::suggest_layout(root)?;
    let name = suggest::SUGGESTED;
    match folder {
        None => report::print(&format!(
            "# layouts/{name}.yaml\n{}\n# tables/{name}.yaml\n{}",
            suggested.layout, suggested.tables
        ))?,
        Some(folder) => {
            let files = [("layouts", suggested.layout), ("tables", suggested.tables)];
            let folders = files.each_ref().map(|(inside, _)| folder.join(inside));
            let files = files.map(|(inside, text)| {
                (folder.join(inside).join(format!("{name}.yaml")), text.into_bytes())
            });
            write_all(&folders, &files)?;
        }
    }
    Ok(Exit::Clean)
}

/// Returns the built-in rules and specs with the files of an overlay.
fn library(overlay: Option<&Path>) -> Result<Library> {
    let mut library = Library::embedded();
    if let Some(folder) = overlay {
        library.overlay(folder)?;
    }
    Ok(library)
}

/// Returns the width for texts: the terminal's, from 40 to [`MOST_COLUMNS`] columns.
fn width() -> usize {
    let columns = terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    columns.map_or(MOST_COLUMNS, |columns| columns.clamp(40, MOST_COLUMNS))
}
