//! The age of the lists that this program ships: `rules/sources.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Library, SpecFile};
use crate::base::error::Result;

/// The sources and dates of the facts in `rules/` and `systems/` of this repository.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippedFacts {
    /// The files of facts, one entry per source.
    pub lists: Vec<ShippedList>,
    /// The ids of the rules that use a file of facts, by the file's path. A path such as `rules/tables/` stands for all
    /// files in this folder.
    rules: BTreeMap<String, Vec<String>>,
}

/// Files of this repository whose facts come from the same source.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShippedList {
    /// The paths of the files and folders in this repository.
    pub files: Vec<String>,
    /// The repository that the facts were read from.
    pub source: String,
    /// The commit of the source repository; `None` if the commit was not recorded.
    pub commit: Option<String>,
    /// The year and month in which the facts were current.
    pub date: String,
}

impl ShippedFacts {
    /// Reads `rules/sources.yaml`. If there are several such files, only the last one is read.
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

    /// Returns `not known to perfdb-gate VERSION, whose facts are of DATE`. A message about an unknown name ends with
    /// this text.
    pub(crate) fn not_known(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!("not known to perfdb-gate {version}, whose facts are of {}", self.date())
    }

    /// Returns the sources of the facts that a rule uses, one line each: files, source, commit and date.
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
