//! Rows as interpolators see them, and the rows' weights in an answer.

use super::super::refusal::Refusal;
use super::no_anchor;

/// The way in which rows gave a looked-up time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The row with the same key.
    Exact,
    /// Interpolated between rows.
    Between,
    /// Beyond the rows: the utilisation of the nearest rows is kept.
    Beyond,
    /// The shape was not measured: the utilisation of the nearest shapes is used.
    Transfer,
}

impl How {
    /// The way in words, for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Between => "between rows",
            Self::Beyond => "beyond the grid",
            Self::Transfer => "from near shapes",
        }
    }
}

/// A row of a table, by the index of its file and row. The ordering is the reading order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowRef {
    /// Index of the file among the table's sources.
    pub source: u16,
    /// Index of the row in its file.
    pub row: u32,
    /// True if the row's power was measured.
    pub powered: bool,
}

/// A row as interpolators see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf {
    /// Coordinates, outer first; unused ones are 0.
    pub at: [u64; 3],
    /// Latency, ms.
    pub ms: f64,
    /// The table's row.
    pub row: RowRef,
}

impl Leaf {
    /// The latency at a bound of `sol` in ms, with the utilisation of this leaf, whose bound is `own`.
    ///
    /// # Errors
    ///
    /// If the leaf has no positive latency or bound.
    pub(super) fn held(&self, own: f64, sol: f64, weights: &mut Weights) -> Result<f64, Refusal> {
        if !(self.ms > 0.0 && own > 0.0) {
            return Err(no_anchor());
        }
        weights.push(self.row, 1.0);
        Ok(sol / (own / self.ms))
    }
}

/// Sorts leaves by coordinates. Of leaves with the same coordinates, it keeps the first that was read.
pub(crate) fn first_of_each_place(mut leaves: Vec<Leaf>) -> Vec<Leaf> {
    if !leaves.is_sorted_by(|a, b| a.at < b.at) {
        leaves.sort_unstable_by_key(|leaf| (leaf.at, leaf.row));
        leaves.dedup_by_key(|leaf| leaf.at);
    }
    leaves
}

/// Collects rows with their weights while an interpolator works; ignores them when switched off.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    on: bool,
    rows: Vec<(RowRef, f64)>,
}

impl Weights {
    /// Creates an empty collection that ignores rows unless `on`.
    pub(crate) fn new(on: bool) -> Self {
        Self { on, rows: Vec::new() }
    }

    /// Adds a row with its weight.
    pub(super) fn push(&mut self, row: RowRef, weight: f64) {
        if self.on {
            self.rows.push((row, weight));
        }
    }

    /// Adds the rows of another collection.
    pub(super) fn extend(&mut self, others: &Self) {
        if self.on {
            self.rows.extend_from_slice(&others.rows);
        }
    }

    /// The collected rows with their weights.
    pub(crate) fn rows(&self) -> &[(RowRef, f64)] {
        &self.rows
    }

    /// The number of rows so far, as a mark for [`Self::scale`] and [`Self::drop_since`].
    pub(super) fn mark(&self) -> usize {
        self.rows.len()
    }

    /// Multiplies the weights of the rows between two marks.
    pub(super) fn scale(&mut self, range: std::ops::Range<usize>, factor: f64) {
        for (_, weight) in self.rows.get_mut(range).into_iter().flatten() {
            *weight *= factor;
        }
    }

    /// Removes the rows added since a mark.
    pub(super) fn drop_since(&mut self, mark: usize) {
        self.rows.truncate(mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    #[test]
    fn the_first_leaf_that_was_read_of_a_place_stays() {
        let mut random = Random::new(11);
        for largest in [4_u64, u64::MAX] {
            let mut size = || if random.below(2) == 0 { random.below(4) as u64 } else { largest };
            let leaf = |row: u32| {
                let row = RowRef { source: 0, row, powered: false };
                Leaf { at: [size(), size(), size()], ms: 0.5, row }
            };
            let leaves: Vec<Leaf> = (0..300).map(leaf).collect();
            let mut expected = leaves.clone();
            expected.sort_by_key(|leaf| leaf.at);
            expected.dedup_by_key(|leaf| leaf.at);
            let shown = |leaves: &[Leaf]| -> Vec<([u64; 3], u32)> {
                leaves.iter().map(|leaf| (leaf.at, leaf.row.row)).collect()
            };
            assert_eq!(shown(&first_of_each_place(leaves)), shown(&expected), "{largest}");
            assert!(expected.len() < 300);
        }
    }
}
