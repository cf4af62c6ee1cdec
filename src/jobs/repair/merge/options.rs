//! The options of `merge`, the comparison of a run with its rerun list, and reasons for a refusal.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use crate::base::error::Error;

/// The policy that selects the measurement that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergePolicy {
    /// The last measurement of the run.
    Last,
    /// The fastest measurement, including the table's own.
    Min,
    /// The median measurement by latency, including the table's own; of an even number, the faster
    /// of the two middle ones.
    Median,
}

impl MergePolicy {
    /// Returns the name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Min => "min",
            Self::Median => "median",
        }
    }

    /// Returns the row that stays; `rows` has the table's rows first, then the run's.
    pub(super) fn choose(self, rows: &[usize], latency: &[f64]) -> usize {
        let mut order = rows.to_vec();
        order.sort_by(|a, b| latency[*a].total_cmp(&latency[*b]).then(a.cmp(b)));
        match self {
            Self::Last => rows[rows.len() - 1],
            Self::Min => order[0],
            Self::Median => order[(order.len() - 1) / 2],
        }
    }
}

/// The options of `merge`.
#[derive(Debug, Clone)]
pub struct MergeOptions {
    /// The table; for shards, the table that they are joined into.
    pub table: PathBuf,
    /// Files of a run, and folders that contain such files.
    pub with: Vec<PathBuf>,
    /// The policy that selects the measurement that stays.
    pub policy: MergePolicy,
    /// A rerun list; only its keys are merged. `None` merges all rows.
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
pub(super) struct ListComparison {
    /// Rows of the run that the list does not name.
    pub left_out: BTreeSet<usize>,
    /// Number of keys of the list that the run lacks.
    pub absent: usize,
}

/// The reason why a merge is not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum MergeFailure {
    /// The content of the run or the table forbids the merge; the text names the reason and a
    /// remedy.
    #[error("{0}")]
    Refused(String),
    /// An error of the tool, such as an unreadable file.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl MergeFailure {
    /// Wraps the reason of a refusal.
    pub(super) fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }
}

pub(super) fn refuse<T>(why: impl fmt::Display) -> Result<T, MergeFailure> {
    Err(MergeFailure::refused(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_chooses_among_rows_of_the_table_and_the_run() {
        let latency = [3.0, 1.0, 2.0, 1.0];
        let all = [0, 1, 2, 3];
        assert_eq!(MergePolicy::Last.choose(&all, &latency), 3);
        assert_eq!(MergePolicy::Min.choose(&all, &latency), 1, "the first of two as fast");
        assert_eq!(MergePolicy::Median.choose(&all, &latency), 3);
        assert_eq!(MergePolicy::Median.choose(&[0, 1], &latency), 1);
    }
}
