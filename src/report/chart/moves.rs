//! What a pull request changes of what a table serves, as far as a chart shows it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::series::SeriesSet;
use crate::database::diff::{RowDiff, ServedDiff};
use crate::database::table::Table;

/// What changed in a table.
#[derive(Clone, Copy)]
pub struct TableChange<'a> {
    /// The table before.
    pub base: &'a Table,
    /// Its rows by what happened to them.
    pub rows: &'a RowDiff,
    /// What the loader serves of it; none where its key is not known.
    pub served: Option<&'a ServedDiff>,
}

impl<'a> TableChange<'a> {
    /// Rows before and after that belong together: those that serve one key, else those that are one but
    /// for what is measured.
    pub(super) fn pairs(&self) -> &'a [(u32, u32)] {
        self.served.map_or(&self.rows.changed[..], |served| &served.pairs)
    }
}

/// The rows that moved, by what is drawn of them.
#[derive(Default)]
pub(super) struct RatioMoves {
    /// Rows whose latency changed, of the head, with the log of how far, up or down; where none did,
    /// rows that were not there before.
    rows: Vec<(usize, f64)>,
    /// Series of the base that lost rows: their hashes and those of their slices.
    lost: Vec<(u64, u64)>,
}

/// What moved of each series or slice.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    /// How many rows.
    pub rows: usize,
    /// How far the farthest moved, as a log.
    pub far: f64,
}

impl RatioMoves {
    /// Compares two states of a table, row by row that serve a key on both sides; of a table without a
    /// loader's key, rows that are one except for what is measured.
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

    /// Whether a line before says anything that the line after does not.
    pub fn shows_base(&self) -> bool {
        !self.lost.is_empty() || self.rows.iter().any(|(_, far)| *far > 0.0)
    }

    /// What moved, by series and by slice.
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

/// The series and slices of the rows that are served no more.
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
