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

use crate::base::escape::{clean, inert_json};
use crate::base::words::plural;
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
