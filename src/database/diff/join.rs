//! Joins the rows of two tables by the hashes of their keys or cells.

use std::collections::HashSet;

/// The hash of a row's key or cells, and the row number.
pub(crate) type HashedRow = (u64, u32);

/// The rows that base and head serve, matched by the hashes of their keys.
#[derive(Default)]
pub(crate) struct JoinedKeys {
    pub common: Vec<(u32, u32)>,
    /// The rows of the base whose keys the head does not serve, with the hashes of the keys.
    pub lost: Vec<HashedRow>,
    pub gained: Vec<u32>,
}

impl JoinedKeys {
    /// Matches the served rows of base and head by the hashes of their keys. Each list has at most one row per hash and
    /// is sorted by hash.
    pub(crate) fn new(base: &[HashedRow], head: &[HashedRow]) -> Self {
        let mut joined = Self::default();
        each_hash(base, head, |old, new| match (old, new) {
            ([(_, before)], [(_, after)]) => joined.common.push((*before, *after)),
            _ => {
                joined.lost.extend(old);
                joined.gained.extend(rows_of(new));
            }
        });
        joined
    }

    /// Finds rows whose key was corrected. Removes these rows from the lists of `self`, and returns them as pairs of a
    /// base row and a head row. `candidates` are pairs of rows that differ in key columns only. Candidates that are not
    /// served are ignored.
    pub(crate) fn take_rekeyed(&mut self, candidates: &[(u32, u32)]) -> Vec<(u32, u32)> {
        // Rows that serve the same key are not rekeyed: they differ in other columns, such as the device.
        let common: HashSet<(u32, u32)> = self.common.iter().copied().collect();
        let mut candidates = candidates.to_vec();
        candidates.retain(|pair| !common.contains(pair));
        let (bases, heads): (HashSet<u32>, HashSet<u32>) = candidates.iter().copied().unzip();
        let are_rekeyed = |(b, h): &&(u32, u32)| bases.contains(b) && heads.contains(h);
        let replaced: Vec<(u32, u32)> = self.common.iter().filter(are_rekeyed).copied().collect();
        let (mut before, mut after): (HashSet<u32>, HashSet<u32>) = replaced.into_iter().unzip();
        before.extend(rows_of(&self.lost));
        after.extend(&self.gained);
        let is_served = |(b, h): &&(u32, u32)| before.contains(b) && after.contains(h);
        let pairs: Vec<(u32, u32)> = candidates.iter().filter(is_served).copied().collect();
        let (before, after): (HashSet<u32>, HashSet<u32>) = pairs.iter().copied().unzip();
        self.common.retain(|(b, h)| !(before.contains(b) && after.contains(h)));
        self.lost.retain(|(_, row)| !before.contains(row));
        self.gained.retain(|row| !after.contains(row));
        pairs
    }
}

/// Calls `each` once for each hash in `base` or `head`. The arguments of `each` are the rows of the base and the rows
/// of the head that have this hash. Both lists must be sorted by hash.
pub(crate) fn each_hash(
    mut base: &[HashedRow],
    mut head: &[HashedRow],
    mut each: impl FnMut(&[HashedRow], &[HashedRow]),
) {
    while let Some((least, _)) = base.first().into_iter().chain(head.first()).min() {
        let run = |rows: &[HashedRow]| rows.iter().take_while(|(hash, _)| hash == least).count();
        let (old, rest_of_base) = base.split_at(run(base));
        let (new, rest_of_head) = head.split_at(run(head));
        each(old, new);
        (base, head) = (rest_of_base, rest_of_head);
    }
}

/// Returns the row numbers of hashed rows.
pub(crate) fn rows_of(hashed: &[HashedRow]) -> impl Iterator<Item = u32> {
    hashed.iter().map(|(_, row)| *row)
}
