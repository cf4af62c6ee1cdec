//! Finds the rows that a change of a table affects, by series and slice of its chart.

use std::collections::{BTreeSet, HashMap};

use super::series::SeriesSet;
use crate::database::diff::{RowDiff, ServedDiff};
use crate::database::table::Table;
use crate::specs::NoiseBands;

/// The change of a table between two states.
#[derive(Clone, Copy)]
pub(super) struct TableChange<'a> {
    /// The table before the change.
    pub base: &'a Table,
    /// The added, removed and changed rows.
    pub rows: &'a RowDiff,
    /// The differences between the keys that the loader serves before and after the change; `None` if the loader's key
    /// is unknown.
    pub served: Option<&'a ServedDiff>,
    /// How much reruns of the table differ; `None` if this is unknown.
    pub noise: Option<NoiseBands<'a>>,
}

impl<'a> TableChange<'a> {
    /// Returns the pairs of base and head rows that serve the same key. If the key is unknown, returns the pairs of
    /// rows that differ only in measured columns.
    pub(crate) fn pairs(&self) -> &'a [(u32, u32)] {
        self.served.map_or(&self.rows.changed[..], |served| &served.rows.common)
    }
}

/// The quantity that a chart of a table's change shows.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ChangedQuantity {
    /// The latencies before and after the change. Charts show them if a latency changed or a key was lost.
    Latency,
    /// The power before and after the change. Charts show it if the power is all that changed.
    Power,
    /// The latencies after the change. Charts show them if keys were only added or nothing changed.
    #[default]
    Rows,
}

/// Summaries of a table's changed rows, for each series and for each slice. The maps' keys are hashes of series or
/// slices.
#[derive(Default)]
pub(super) struct ChangedRows {
    pub kind: ChangedQuantity,
    pub series: HashMap<u64, Moved>,
    pub slices: HashMap<u64, Moved>,
}

/// A summary of the changed rows of a series or slice.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    /// The number of changed rows.
    pub rows: usize,
    /// The largest change of a row's latency or power, computed as `|ln(after / before)|`.
    pub far: f64,
}

impl ChangedRows {
    /// Collects the changed rows of a table: rows with a changed latency or a lost key. If no latency changed, rows
    /// with a new key are also collected. If none of these rows exist, rows with a changed power are collected.
    pub(crate) fn new(
        change: TableChange<'_>,
        base: Option<&SeriesSet<'_>>,
        head: &SeriesSet<'_>,
    ) -> Self {
        let mut moves = Self::default();
        let pairs = || change.pairs().iter().map(|(was, is)| (*was as usize, *is as usize));
        for (before, after) in pairs() {
            let was = base.map_or(f64::NAN, |base| base.latency[before]);
            let is = head.latency[after];
            if was != is && was > 0.0 && is > 0.0 {
                moves.add(head, after, (is / was).ln().abs());
            }
        }
        let moved = !moves.series.is_empty();
        if let Some(base) = base {
            let stayed: BTreeSet<usize> = pairs().map(|(was, _)| was).collect();
            let lost = unpaired(change.served.map(|_| base), &change.rows.removed, &stayed);
            lost.into_iter().for_each(|row| moves.add(base, row, 0.0));
        }
        if !moves.series.is_empty() {
            moves.kind = ChangedQuantity::Latency;
        }
        if !moved {
            let stayed: BTreeSet<usize> = pairs().map(|(_, is)| is).collect();
            let came = unpaired(change.served.map(|_| head), &change.rows.added, &stayed);
            came.into_iter().for_each(|row| moves.add(head, row, 0.0));
        }
        if let Some(base) = base.filter(|_| moves.series.is_empty()) {
            for (before, after) in pairs() {
                let (was, is) = (base.power[before], head.power[after]);
                if was != is && is > 0.0 {
                    moves.kind = ChangedQuantity::Power;
                    moves.add(head, after, if was > 0.0 { (is / was).ln().abs() } else { 0.0 });
                }
            }
        }
        moves
    }

    fn add(&mut self, set: &SeriesSet<'_>, row: usize, far: f64) {
        let entries = [
            self.series.entry(set.keys.hashes()[row]),
            self.slices.entry(set.slice_parts.hashes()[row]),
        ];
        for moved in entries {
            let moved = moved.or_default();
            moved.rows += 1;
            moved.far = moved.far.max(far);
        }
    }
}

/// Returns the rows of one state that have no counterpart in the other state. If the loader's key is known, these are
/// all rows that `served` serves, except the rows in `paired`. If the key is unknown, `served` is `None`, and the rows
/// in `differ` are returned.
fn unpaired(
    served: Option<&SeriesSet<'_>>,
    differ: &[u32],
    paired: &BTreeSet<usize>,
) -> Vec<usize> {
    match served {
        Some(set) => {
            let rows = 0..set.latency.len();
            rows.filter(|row| set.serves(*row) && !paired.contains(row)).collect()
        }
        None => differ.iter().map(|row| *row as usize).collect(),
    }
}
