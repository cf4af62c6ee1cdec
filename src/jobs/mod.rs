//! The commands, each from its options to its report.

pub mod compare;
pub mod explain;
pub mod explore;
pub mod impact;
pub mod init;
pub mod measure;
pub mod noise;
pub mod operations;
pub mod plan;
pub mod reach;
pub mod remeasure;
pub mod repair;
mod rows;
pub mod sanity;
pub mod schema;
pub mod selftest;
pub mod smoke;
pub mod status;
pub mod suggest;
pub mod validate;
pub mod watch;

use crate::base::escape::{clean, inert_json};
use crate::report::document::Document;

/// The formats of what is not a report: an impact, a selftest's scores, a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// For people.
    Human {
        /// Whether it is only the line that sums it up.
        brief: bool,
    },
    /// For a pull request or a page.
    Markdown,
    /// For programs; `docs/` has the schema of each.
    Json,
}

impl DocumentFormat {
    /// Renders a result, of which one form is made.
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

/// The program that wrote a document.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct ToolName {
    /// Its name.
    name: &'static str,
    /// Its version.
    version: &'static str,
}

impl ToolName {
    fn own() -> Self {
        Self { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") }
    }
}
