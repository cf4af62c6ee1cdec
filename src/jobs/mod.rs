//! The commands, each from its options to its report.
//!
//! In reading order:
//!
//! - `validate`: Judges the data of a database.
//! - `sanity`: Judges the change of a pull request against its base.
//! - `pull_request`: Opens the two states of a pull request, in the one way that all jobs share.
//! - `site`: Opens a state of a database with its settings, for jobs that read tables.
//! - `rows`: Reads tables and their rows as a loader does, for jobs that choose rows.
//! - `impact`: Predicts step times of models before and after a change, with the changed tables behind every move.
//! - `explore`: Builds the explorer page of a table, with its earlier state, its peers and its findings.
//! - `plan`: Plans points to measure again: a rerun list from a report or from missing keys.
//! - `learn`: Learns a spec of a table from the rows of its files, for jobs that meet a table without one, and renders
//!   it as YAML for `rules/tables/<family>.yaml`.
//! - `suggest`: Suggests a spec for a table without one, learned from its rows and its family.
//! - `status`: The health of a database: a map of tables by systems, with the worst finding of each.
//! - `explain`: Renders rules as text for people, from the rule files.
//! - `schema`: JSON Schemas of file formats, generated from the types that read and write the files.
//! - `measure`: Measures a plan or a rerun list into tables in the database's format.
//! - `remeasure`: Measures points of tables again and judges whether the GPU confirms the tables.
//! - `repair`: Commands that change tables on disk; without `--write`, they only print the plan.
//! - `new`: Starts a table of a database: the system's YAML, the rows of a CSV, and a sidecar.
//! - `init`: Sets up a repository for its database: workflows, a pre-commit hook and a baseline.
//! - `waive`: Accepts a finding until a date: writes its waiver to the repository's own settings.
//! - `smoke`: Runs a user's command that tries the database, such as the planner.
//! - `for_selftest`: The parts of the library that the crate `selftest/` uses and that are not public otherwise.

pub mod explain;
pub mod explore;
#[doc(hidden)]
pub mod for_selftest;
pub mod impact;
pub mod init;
mod learn;
pub mod measure;
pub mod new;
pub mod plan;
mod pull_request;
pub mod remeasure;
pub mod repair;
mod rows;
pub mod sanity;
pub mod schema;
mod site;
pub mod smoke;
pub mod status;
pub mod suggest;
pub mod validate;
pub mod waive;

use std::path::Path;

use crate::base::escape::{clean, inert_json};
use crate::base::words::plural;
use crate::database::source::{self, Source};
use crate::report::document::Document;

/// The formats of documents other than reports, such as an impact or a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DocumentFormat {
    /// For people.
    Human,
    /// For a pull request or a page.
    Markdown,
    /// For programs.
    Json,
}

impl DocumentFormat {
    /// Renders a result in this format. Of the three closures, only the one that this format needs is called. If
    /// `brief` is true, the human format contains only the headline.
    pub(crate) fn render(
        self,
        brief: bool,
        headline: impl FnOnce() -> String,
        document: impl FnOnce() -> Document,
        json: impl FnOnce() -> String,
    ) -> String {
        match self {
            Self::Human if brief => clean(&headline()) + "\n",
            Self::Human => document().text(),
            Self::Markdown => document().markdown(),
            Self::Json => inert_json(&json()) + "\n",
        }
    }
}

/// Renders the root folder, the base (if there is one) and the head as a text for people. Each commit is shown with its
/// date.
pub(crate) fn states_in_words(root: &Path, base: Option<&dyn Source>, head: &dyn Source) -> String {
    let base = base.map(|base| format!("base {}, head ", state_in_words(root, base)));
    let state = state_in_words(root, head);
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    format!("root {}; {}{state}", root.display(), base.unwrap_or_default())
}

/// Describes one state for people. A commit is shown with its date and repository. Files on disk are shown with the
/// commit that is checked out, if there is one.
fn state_in_words(root: &Path, source: &dyn Source) -> String {
    let Some(commit) = source.commit() else {
        let checkout = source::open(root, Some("HEAD")).ok();
        let checkout = checkout.map(|c| format!(", checkout of {}", state_in_words(root, &*c)));
        return format!("files on disk{}", checkout.unwrap_or_default());
    };
    let id: String = commit.chars().take(12).collect();
    let of = source.date_and_repository();
    if of.is_empty() { id } else { format!("{id} ({of})") }
}

/// Returns the first `most` lines. If there are more, the last line states the number of omitted ones, such as `and 3
/// cases more`.
pub(crate) fn first_lines(
    lines: impl ExactSizeIterator<Item = String>,
    most: usize,
    noun: &str,
) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    let rest = (more > 0).then(|| format!("and {} more", plural(more, noun)));
    lines.take(most).chain(rest).collect()
}

/// The name and version of the program that wrote a document.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct ToolName {
    /// The program's name.
    name: &'static str,
    /// The program's version.
    version: &'static str,
}

impl ToolName {
    /// Returns the name and version of this program.
    fn own() -> Self {
        Self { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") }
    }
}
