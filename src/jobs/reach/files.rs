//! The rows of table files by state, and the lookups of models.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::lookups::{LookupCounts, ModelLookups};
use crate::base::exit::Exit;
use crate::database::served::{RowRun, RowState};
use crate::jobs::impact::PlannedVersion;

/// The rows that queries reach, and the lookups of models.
#[derive(Debug, Default)]
pub struct Reach {
    /// Whether there are two states.
    pub compared: bool,
    /// Table files of either state, by path.
    pub files: Vec<FileReach>,
    /// Files that lie where no loader looks, links among them; their rows are in no state.
    pub strays: usize,
    /// Lookups of each model on each version.
    pub models: Vec<ModelLookups>,
    /// Versions whose lookups are reported.
    pub versions: Vec<PlannedVersion>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A table file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileReach {
    /// Its path.
    pub path: String,
    /// Its system, backend and version.
    #[serde(flatten)]
    pub version: PlannedVersion,
    /// File stem.
    pub table: String,
    /// Its rows before; null where there is one state, or it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<FileRows>,
    /// Its rows; null where it is gone.
    pub after: Option<FileRows>,
}

/// The rows of a file in one state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileRows {
    /// By state.
    pub states: StateCounts,
    /// Every row, in order: consecutive rows of one state. Empty where the file cannot be read.
    pub runs: Vec<RowRun>,
    /// Why the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Why no row is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The file that shadows it as a whole; without this, shadowed rows are shadowed by rows of the file
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_file: Option<String>,
    /// Versions that can be asked for and load it, as `backend version`.
    pub read_by: Vec<String>,
    /// Whether no spec describes the table, so that its key was guessed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_guessed: bool,
}

/// Rows by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StateCounts {
    /// All.
    pub rows: u64,
    /// A query of their key is answered by them.
    pub served: u64,
    /// Another row of their key is served.
    pub shadowed: u64,
    /// The loader does not take them into its maps.
    pub filtered: u64,
    /// The loader refuses the table as a whole.
    pub refused: u64,
    /// No query asks for their version.
    pub not_queryable: u64,
}

impl StateCounts {
    /// Sums up runs.
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
    /// Rows by state before, where there are two states, and after.
    pub fn counts(&self) -> [Option<StateCounts>; 2] {
        let before = self.files.iter().filter_map(|f| f.before.as_ref()).flat_map(|f| &f.runs);
        let after = self.files.iter().filter_map(|f| f.after.as_ref()).flat_map(|f| &f.runs);
        [self.compared.then(|| StateCounts::of(before)), Some(StateCounts::of(after))]
    }

    /// Lookups by source before, where there are two states, and after.
    pub fn lookups(&self) -> [Option<LookupCounts>; 2] {
        [0, 1].map(|side| {
            let counts = self.models.iter().filter_map(|model| model.counts()[side]);
            counts.reduce(LookupCounts::plus)
        })
    }

    /// Files of the later state that cannot be read, with the reason.
    pub fn unread(&self) -> impl Iterator<Item = (&str, &str)> {
        let after = self.files.iter().filter_map(|file| Some((file, file.after.as_ref()?)));
        after.filter_map(|(file, rows)| Some((file.path.as_str(), rows.unread.as_deref()?)))
    }

    /// Inconclusive where there was nothing to look at.
    pub fn exit(&self) -> Exit {
        if self.files.is_empty() { Exit::Inconclusive } else { Exit::Clean }
    }
}
