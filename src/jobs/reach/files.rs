//! The rows of table files by state, and the lookups of models.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::lookups::{LookupCounts, ModelLookups};
use crate::base::exit::Exit;
use crate::database::served::{RowRun, RowState};
use crate::jobs::impact::PlannedVersion;

/// The rows that queries can reach, and the lookups of default models.
#[derive(Debug, Default)]
pub struct Reach {
    /// True if two states are compared.
    pub compared: bool,
    /// Table files of either state, sorted by path.
    pub files: Vec<FileReach>,
    /// Number of files at places that no loader reads, including links; their rows are not counted.
    pub strays: usize,
    /// Lookups of each model on each version.
    pub models: Vec<ModelLookups>,
    /// Versions whose lookups are reported.
    pub versions: Vec<PlannedVersion>,
    /// Duration of the run.
    pub elapsed: Duration,
}

/// A table file before and after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileReach {
    /// The file's path.
    pub path: String,
    /// The file's system, backend and version.
    #[serde(flatten)]
    pub version: PlannedVersion,
    /// The file stem.
    pub table: String,
    /// The rows before the change; absent if there is one state or the file did not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<FileRows>,
    /// The rows after the change; null if the file does not exist.
    pub after: Option<FileRows>,
}

/// The rows of a file in one state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileRows {
    /// Counts of rows by state.
    pub states: StateCounts,
    /// All rows in order, as runs of consecutive rows with one state. Empty if the file cannot be
    /// read.
    pub runs: Vec<RowRun>,
    /// The reason why the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// The reason why no row of the file is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The file that the loader reads instead of this one. If absent, shadowed rows are shadowed by
    /// other rows of this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_file: Option<String>,
    /// Versions that queries can name and that load the file, as `backend version`.
    pub read_by: Vec<String>,
    /// True if no spec describes the table, so that its key is a guess.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_guessed: bool,
}

/// Counts of rows by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StateCounts {
    /// Number of all rows.
    pub rows: u64,
    /// Number of rows that answer a query of their key.
    pub served: u64,
    /// Number of rows whose key is answered by another row.
    pub shadowed: u64,
    /// Number of rows that the loader skips.
    pub filtered: u64,
    /// Number of rows in tables that the loader refuses as a whole.
    pub refused: u64,
    /// Number of rows whose version no query can name.
    pub not_queryable: u64,
}

impl StateCounts {
    /// Counts the rows of runs by state.
    pub fn of<'r>(runs: impl IntoIterator<Item = &'r RowRun>) -> Self {
        let mut this = Self::default();
        for run in runs {
            let rows = u64::from(run.rows);
            this.rows += rows;
            *match run.state {
                RowState::Served => &mut this.served,
                RowState::Shadowed => &mut this.shadowed,
                RowState::Filtered => &mut this.filtered,
                RowState::Refused => &mut this.refused,
                RowState::NotQueryable => &mut this.not_queryable,
            } += rows;
        }
        this
    }
}

impl Reach {
    /// Returns the row counts before the change, if there are two states, and after it.
    pub fn counts(&self) -> [Option<StateCounts>; 2] {
        let before = self.files.iter().filter_map(|f| f.before.as_ref()).flat_map(|f| &f.runs);
        let after = self.files.iter().filter_map(|f| f.after.as_ref()).flat_map(|f| &f.runs);
        [self.compared.then(|| StateCounts::of(before)), Some(StateCounts::of(after))]
    }

    /// Returns the lookup counts before the change, if there are two states, and after it.
    pub fn lookups(&self) -> [Option<LookupCounts>; 2] {
        [0, 1].map(|side| {
            let counts = self.models.iter().filter_map(|model| model.counts()[side]);
            counts.reduce(LookupCounts::plus)
        })
    }

    /// Iterates over paths of unreadable files of the later state, each with the reason.
    pub fn unread(&self) -> impl Iterator<Item = (&str, &str)> {
        let after = self.files.iter().filter_map(|file| Some((file, file.after.as_ref()?)));
        after.filter_map(|(file, rows)| Some((file.path.as_str(), rows.unread.as_deref()?)))
    }

    /// Returns the exit code: inconclusive if there are no table files.
    pub fn exit(&self) -> Exit {
        if self.files.is_empty() { Exit::Inconclusive } else { Exit::Clean }
    }
}
