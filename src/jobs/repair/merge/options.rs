//! The options of `merge`, and the comparison of a run with its rerun list.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::groups::MergePolicy;

/// The options of `merge`.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// The table; for shards, the table that they are joined into.
    pub table: PathBuf,
    /// Files of a run, and folders that contain such files.
    pub with: Vec<PathBuf>,
    /// The policy that selects the measurement that stays.
    pub policy: MergePolicy,
    /// A rerun list; only its keys are merged.
    pub only: Option<PathBuf>,
    /// True to leave out rows that the list does not name, instead of refusing the merge.
    pub pick: bool,
    /// True to refuse keys that the table already has.
    pub append: bool,
    /// Columns that do not distinguish measurements. The loader must not read these columns.
    pub ignore: Vec<String>,
    /// The number of shards of the run; `None` reads it from file names.
    pub shards: Option<usize>,
    /// True to merge even if shards are missing.
    pub incomplete: bool,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
    /// The path of the merge's record.
    pub ledger: PathBuf,
}

/// The differences between a run and its rerun list.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// Rows of the run that the list does not name.
    pub left_out: BTreeSet<usize>,
    /// Number of keys of the list that the run lacks.
    pub absent: usize,
}
