//! Rows as interpolators see them.

/// A row of a table, by the place of its file among the table's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRef {
    /// Index among the sources.
    pub source: u16,
    /// Index in its file.
    pub row: u32,
    /// Whether its power was measured too.
    pub powered: bool,
}

/// A row as interpolators see it.
#[derive(Debug, Clone, Copy)]
pub struct Leaf {
    /// Coordinates, outer first; unused ones are 0.
    pub at: [u64; 3],
    /// Latency, ms.
    pub ms: f64,
    /// Where it comes from: in the order of reading.
    pub row: RowRef,
}

/// The first of some leaves at each place, by their coordinates.
pub(super) fn first_of_each_place(mut leaves: Vec<Leaf>) -> Vec<Leaf> {
    if leaves.is_sorted_by(|a, b| a.at < b.at) {
        return leaves;
    }
    let all = leaves.iter().fold([0; 3], |all: [u64; 3], leaf| {
        [all[0] | leaf.at[0], all[1] | leaf.at[1], all[2] | leaf.at[2]]
    });
    let [outer, middle, inner] = all.map(|bits| u64::BITS - bits.leading_zeros());
    if outer + middle + inner + u32::BITS > u128::BITS {
        leaves.sort_by_key(|leaf| leaf.at);
        leaves.dedup_by_key(|leaf| leaf.at);
        return leaves;
    }
    // One number each, its low half the place in the order of reading: many times as many leaves are sorted as
    // are ever looked at.
    let key = |(number, leaf): (u32, &Leaf)| {
        let [a, b, c] = leaf.at.map(u128::from);
        (((a << middle | b) << inner | c) << u32::BITS) | u128::from(number)
    };
    let mut order: Vec<u128> = (0..).zip(&leaves).map(key).collect();
    order.sort_unstable();
    order.dedup_by_key(|key| *key >> u32::BITS);
    order.into_iter().map(|key| leaves[key as u32 as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    #[test]
    fn of_leaves_at_one_place_the_first_that_was_read_stays() {
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
