//! Rows as interpolators see them, and the weights that they have in an answer.

/// How rows became an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The row of that very key.
    Exact,
    /// Interpolated between rows.
    Between,
    /// Beyond the rows: the nearest ones' utilisation is held.
    Beyond,
    /// The shape was not measured: taken over from the nearest shapes.
    Transfer,
}

impl How {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Between => "between rows",
            Self::Beyond => "beyond the grid",
            Self::Transfer => "from near shapes",
        }
    }
}

/// A row of a table, by the place of its file among the table's sources. The order is that of reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowRef {
    /// Index among the sources.
    pub source: u16,
    /// Index in its file.
    pub row: u32,
    /// Set if the power was measured, too.
    pub powered: bool,
}

/// A row as interpolators see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf {
    /// Coordinates, outer first; unused ones are 0.
    pub at: [u64; 3],
    /// Latency, ms.
    pub ms: f64,
    /// The row itself.
    pub row: RowRef,
}

/// Sorts leaves by their coordinates and keeps the first that was read of each place.
pub(crate) fn first_of_each_place(mut leaves: Vec<Leaf>) -> Vec<Leaf> {
    if !leaves.is_sorted_by(|a, b| a.at < b.at) {
        leaves.sort_unstable_by_key(|leaf| (leaf.at, leaf.row));
        leaves.dedup_by_key(|leaf| leaf.at);
    }
    leaves
}

/// Rows with their weights, collected while an interpolator works; collects nothing when off.
#[derive(Debug, Default)]
pub(crate) struct Weights {
    on: bool,
    rows: Vec<(RowRef, f64)>,
}

impl Weights {
    /// An empty collection.
    pub(crate) fn new(on: bool) -> Self {
        Self { on, rows: Vec::new() }
    }

    /// Adds a row.
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

    /// The rows with their weights.
    pub(crate) fn rows(&self) -> &[(RowRef, f64)] {
        &self.rows
    }

    /// The number of rows so far, for [`Self::scale`] and [`Self::drop_since`].
    pub(super) fn mark(&self) -> usize {
        self.rows.len()
    }

    /// Multiplies the weights of the rows in a range of marks.
    pub(super) fn scale(&mut self, range: std::ops::Range<usize>, factor: f64) {
        for (_, weight) in self.rows.get_mut(range).into_iter().flatten() {
            *weight *= factor;
        }
    }

    /// Forgets the rows since a mark.
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
