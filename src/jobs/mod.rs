//! The commands, each from its options to its report.

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

/// The output formats of documents other than reports, such as a comparison or a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// Text for people.
    Human {
        /// True if only the headline is printed.
        brief: bool,
    },
    /// Markdown for a pull request or a page.
    Markdown,
    /// JSON for programs; `perfdb-gate schema` prints the schema of each document.
    Json,
}

impl DocumentFormat {
    /// Renders a result in this format and builds only the form that the format needs.
    pub(crate) fn render(
        self,
        headline: impl FnOnce() -> String,
        document: impl FnOnce() -> Document,
        json: impl FnOnce() -> String,
    ) -> String {
        match self {
            Self::Human { brief: true } => clean(&headline()) + "\n",
            Self::Human { brief: false } => document().text(),
            Self::Markdown => document().markdown(),
            Self::Json => inert_json(&json()) + "\n",
        }
    }
}

/// Describes judged states for people: the root, and the commits with their dates.
pub(crate) fn states_in_words(root: &Path, base: Option<&dyn Source>, head: &dyn Source) -> String {
    let base = base.map(|base| format!("base {}, head ", state_in_words(root, base)));
    let state = state_in_words(root, head);
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    format!("root {}; {}{state}", root.display(), base.unwrap_or_default())
}

/// Names a commit with its date and repository. Files on disk are named by the commit of their checkout, if any.
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

/// Returns the first `most` lines and, if there are more, a line with their number, such as `and 3
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
