//! The age of the lists that this program ships: `rules/sources.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Library, SpecFile};
use crate::base::error::Result;

/// The sources and dates of the lists of facts in `rules/` and `systems/`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippedFacts {
    /// The lists, one entry per source.
    pub lists: Vec<ShippedList>,
    /// The ids of the rules whose findings depend on a list, by the start of the list's path.
    rules: BTreeMap<String, Vec<String>>,
}

/// Lists of facts that come from one source.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippedList {
    /// The files and folders of the lists, by their paths in this repository.
    pub files: Vec<String>,
    /// The repository that the facts were read from.
    pub source: String,
    /// The commit of the source repository; `None` if the commit was not recorded.
    pub commit: Option<String>,
    /// The year and month in which the facts were current.
    pub date: String,
}

impl ShippedFacts {
    /// Reads the last version of `rules/sources.yaml`.
    ///
    /// # Errors
    ///
    /// If the file is malformed.
    pub fn read(library: &Library) -> Result<Self> {
        let last = library.file("rules/sources.yaml").last();
        last.map_or_else(|| Ok(Self::default()), SpecFile::parse)
    }

    /// Returns the year and month of the newest facts.
    pub(crate) fn date(&self) -> &str {
        self.lists.iter().map(|list| &*list.date).max().unwrap_or("an unknown date")
    }

    /// Returns the end of a sentence about something that no list contains: `not known to perfdb-gate VERSION, whose
    /// facts are of DATE`.
    pub(crate) fn not_known(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("not known to perfdb-gate {version}, whose facts are of {}", self.date())
    }

    /// Returns the lists that a rule uses, for people: files, source, commit and date.
    pub(crate) fn of_rule(&self, rule: &str) -> impl Iterator<Item = String> {
        let is_used = move |file: &&String| {
            let mut uses = self.rules.iter().filter(|(_, rules)| rules.iter().any(|r| r == rule));
            uses.any(|(start, _)| file.starts_with(start.as_str()))
        };
        self.lists.iter().filter_map(move |list| {
            let files: Vec<&str> = list.files.iter().filter(is_used).map(String::as_str).collect();
            let commit = list.commit.as_ref().map(|c| format!(" at {c}")).unwrap_or_default();
            let words = || format!("{}: {}{commit}, {}", files.join(", "), list.source, list.date);
            (!files.is_empty()).then(words)
        })
    }
}
