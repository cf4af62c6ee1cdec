//! The options of `merge`, the comparison of a run with its rerun list, and reasons for a refusal.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use crate::base::error::Error;
use crate::jobs::repair::file_name;

/// The policy that selects the measurement that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum MergePolicy {
    /// The run's measurement; of several, the last.
    Last,
    /// The fastest measurement, including the table's.
    Min,
    /// The median measurement by latency, including the table's.
    ///
    /// If the number of measurements is even, the faster of the two in the middle is kept.
    Median,
}

impl MergePolicy {
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
#[derive(Debug, Clone, clap::Args)]
pub struct MergeOptions {
    /// The table, a Parquet file; for shards, the table that they are joined into.
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// A file with rows of the run, or a folder of such files; may be repeated, later ones win.
    #[arg(long, value_name = "RUN", required = true, num_args = 1.., help_heading = "What to merge")]
    pub with: Vec<PathBuf>,
    /// Merge only the keys of this rerun list; other keys in the run are refused.
    #[arg(long, value_name = "FILE", help_heading = "What to merge")]
    pub only: Option<PathBuf>,
    /// Ignore rows of the run that the list does not name, instead of refusing them.
    #[arg(long, requires = "only", help_heading = "What to merge")]
    pub pick: bool,
    /// Number of shards of the run, if the file names do not state it.
    #[arg(long, value_name = "N", help_heading = "What to merge")]
    pub shards: Option<usize>,
    /// Merge even if shards are missing.
    #[arg(long, help_heading = "What to merge")]
    pub incomplete: bool,
    /// Which measurement of a key is kept.
    #[arg(long, value_enum, default_value_t = MergePolicy::Last, help_heading = "How to merge")]
    pub policy: MergePolicy,
    /// Only add keys; a key that the table already has is refused.
    #[arg(long, help_heading = "How to merge")]
    pub append: bool,
    /// A column to ignore when measurements are compared, such as `model`; may be repeated.
    #[arg(long, value_name = "COLUMN", help_heading = "How to merge")]
    pub ignore: Vec<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR", help_heading = "How to merge")]
    pub rules: Option<PathBuf>,
    /// Where to record replaced and added rows, one JSON object per line; must not exist yet.
    #[arg(long, value_name = "FILE", default_value = "merged.jsonl", value_parser = file_name)]
    #[arg(help_heading = "How to merge")]
    pub ledger: PathBuf,
}

/// The differences between the keys of a run and those of its rerun list.
#[derive(Debug, Default)]
pub(super) struct ListComparison {
    /// Indices of the run's rows whose keys are not in the rerun list. The merge leaves these rows out.
    pub left_out: BTreeSet<usize>,
    /// Number of keys in the rerun list for which the run has no row.
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
    /// Creates a refusal with the reason `why`.
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
    fn the_merge_policy_chooses_among_rows_of_the_table_and_of_the_run() {
        let latency = [3.0, 1.0, 2.0, 1.0];
        let all = [0, 1, 2, 3];
        assert_eq!(MergePolicy::Last.choose(&all, &latency), 3);
        assert_eq!(MergePolicy::Min.choose(&all, &latency), 1, "the first of two as fast");
        assert_eq!(MergePolicy::Median.choose(&all, &latency), 3);
        assert_eq!(MergePolicy::Median.choose(&[0, 1], &latency), 1);
    }
}
