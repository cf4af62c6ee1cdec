//! The served rows of a table that a pull request changes, as far as a chart shows them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::series::SeriesSet;
use crate::database::diff::{RowDiff, ServedDiff};
use crate::database::table::Table;
use crate::specs::NoiseBands;

/// The change of a table between two states.
#[derive(Clone, Copy)]
pub struct TableChange<'a> {
    /// The table before the change.
    pub base: &'a Table,
    /// The added, removed and changed rows.
    pub rows: &'a RowDiff,
    /// The change of the served keys; `None` if the loader's key is unknown.
    pub served: Option<&'a ServedDiff>,
    /// The noise of reruns of the table; `None` if it is unknown.
    pub noise: Option<NoiseBands<'a>>,
}

impl<'a> TableChange<'a> {
    /// Returns pairs of base and head rows that serve the same key. Without a known key, these are
    /// rows that only differ in measured columns.
    pub(super) fn pairs(&self) -> &'a [(u32, u32)] {
        self.served.map_or(&self.rows.changed[..], |served| &served.rows.common)
    }
}

/// The rows whose drawn values changed.
#[derive(Default)]
pub(super) struct RatioMoves {
    /// Head rows whose latency changed, with the absolute log ratio; if there are none, head rows
    /// that are new, with 0.
    rows: Vec<(usize, f64)>,
    /// The series and slice hashes of base rows that are no longer served.
    lost: Vec<(u64, u64)>,
}

/// The rows of a series or slice that moved.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    /// The number of rows.
    pub rows: usize,
    /// The largest absolute log ratio.
    pub far: f64,
}

impl RatioMoves {
    /// Compares two states of a table by pairs of rows that serve the same key. Without a known
    /// key, rows are paired that only differ in measured columns.
    pub fn new(
        change: TableChange<'_>,
        base: Option<&SeriesSet<'_>>,
        head: &SeriesSet<'_>,
    ) -> Self {
        let mut moves = Self::default();
        let pairs = change.pairs();
        if let Some(base) = base {
            for (before, after) in pairs {
                let (was, is) = (base.latency[*before as usize], head.latency[*after as usize]);
                if was != is && was > 0.0 && is > 0.0 {
                    moves.rows.push((*after as usize, (is / was).ln().abs()));
                }
            }
            moves.lost = lost(change, base);
        }
        if moves.rows.is_empty() {
            let stayed: BTreeSet<u32> = pairs.iter().map(|(_, after)| *after).collect();
            let came: Vec<usize> = match change.served {
                Some(_) => (0..head.latency.len())
                    .filter(|row| head.serves(*row) && !stayed.contains(&(*row as u32)))
                    .collect(),
                None => change.rows.added.iter().map(|row| *row as usize).collect(),
            };
            moves.rows = came.into_iter().map(|row| (row, 0.0)).collect();
        }
        moves
    }

    /// Returns true if the line of the base differs from that of the head.
    pub fn shows_base(&self) -> bool {
        !self.lost.is_empty() || self.rows.iter().any(|(_, far)| *far > 0.0)
    }

    /// Sums up the moved rows by series and by slice.
    pub fn tally(&self, head: &SeriesSet<'_>) -> (HashMap<u64, Moved>, HashMap<u64, Moved>) {
        let (series, slices) = (head.keys.hashes(), head.panels.hashes());
        let rows = self.rows.iter().map(|(row, far)| (series[*row], slices[*row], *far));
        let lost = self.lost.iter().map(|(series, slice)| (*series, *slice, 0.0));
        let mut tallies: (HashMap<u64, Moved>, HashMap<u64, Moved>) = Default::default();
        for (series, slice, far) in rows.chain(lost) {
            for moved in [tallies.0.entry(series), tallies.1.entry(slice)] {
                let moved = moved.or_default();
                moved.rows += 1;
                moved.far = moved.far.max(far);
            }
        }
        tallies
    }
}

/// Returns the series and slices of rows that are no longer served.
fn lost(change: TableChange<'_>, base: &SeriesSet<'_>) -> Vec<(u64, u64)> {
    let stayed: BTreeMap<u32, u32> = change.pairs().iter().copied().collect();
    let (series, slices) = (base.keys.hashes(), base.panels.hashes());
    let lost: Vec<usize> = match change.served {
        Some(_) => (0..base.latency.len())
            .filter(|row| base.serves(*row) && !stayed.contains_key(&(*row as u32)))
            .collect(),
        None => change.rows.removed.iter().map(|row| *row as usize).collect(),
    };
    lost.into_iter().map(|row| (series[row], slices[row])).collect()
}
