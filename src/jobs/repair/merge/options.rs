//! RepairOptions of a merge, and the rows of a run that a rerun list does not name.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::groups::MergePolicy;

/// RepairOptions of a merge.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// The table; for shards, the table that they become.
    pub table: PathBuf,
    /// Files of a run, and folders that hold some.
    pub with: Vec<PathBuf>,
    /// Selects the measurement that stays.
    pub policy: MergePolicy,
    /// A rerun list: only its keys are merged.
    pub only: Option<PathBuf>,
    /// Whether rows that the list does not name are left out, instead of refused.
    pub pick: bool,
    /// Whether keys may only be added.
    pub append: bool,
    /// Columns that do not make a row another measurement. The loader reads none of them.
    pub ignore: Vec<String>,
    /// The number of shards of the run, where their names do not say it.
    pub shards: Option<usize>,
    /// Whether the run is merged though shards are lost.
    pub incomplete: bool,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// The record of the merge.
    pub ledger: PathBuf,
}

/// The rows of a run that its rerun list does not name.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Rows that are left out.
    pub left_out: BTreeSet<usize>,
    /// The number of keys of the list that the run lacks.
    pub absent: usize,
}
