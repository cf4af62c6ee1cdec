//! Rows that compete for a key, and how far they differ.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::base::expr::{ExprError, Vals};
use crate::database::table::{Keys, TableScope};
use crate::specs::KeyPart;

/// Rows that compete for a key of the loader's, in file order: those that it reads, in each of the
/// maps that it puts them into. None where the table lacks what the key is made of.
///
/// # Errors
///
/// When a formula of the spec does not fit the table's columns.
pub(crate) fn copies(
    scope: &TableScope<'_>,
    keys: &Keys<'_>,
) -> Result<BTreeSet<Vec<usize>>, ExprError> {
    let spec = scope.spec;
    if !spec.key.iter().all(|p| has_columns(scope, p)) {
        return Ok(BTreeSet::new());
    }
    let loaded = spec.filter.as_ref().map(|f| f.mask(scope)).transpose()?;
    // Copies compete within a bucket; a row that goes into two may have rivals in both.
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let buckets: Vec<Vals<bool>> = if spec.buckets.is_empty() {
        vec![Vals::One(true)]
    } else {
        spec.buckets.iter().map(|b| b.rows.mask(scope)).collect::<Result<_, _>>()?
    };
    for (number, bucket) in buckets.iter().enumerate() {
        let goes = |i: usize| bucket.get(i) && loaded.as_ref().is_none_or(|l| l.get(i));
        for (row, first) in repeats(keys.hashes(), goes, |a, b| keys.equal(a, b)) {
            groups.entry((number, first)).or_insert_with(|| vec![first]).push(row);
        }
    }
    Ok(groups.into_values().collect())
}

/// Whether the table has what a key part reads; without it every row would be a copy of every other.
fn has_columns(scope: &TableScope<'_>, part: &KeyPart) -> bool {
    let optional = |c: &str| scope.spec.column(c).is_some_and(|c| c.optional);
    part.value.columns().iter().all(|c| scope.table.column(c).is_some() || optional(c))
}

/// Rows whose key an earlier row has, each with the first row of that key.
pub(crate) fn repeats(
    hashes: &[u64],
    goes: impl Fn(usize) -> bool,
    equal: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    let mut firsts: HashTable<u32> = HashTable::with_capacity(hashes.len());
    let mut found = Vec::new();
    for (row, &hash) in hashes.iter().enumerate().filter(|(row, _)| goes(*row)) {
        let same_key = |first: &u32| {
            let first = *first as usize;
            hashes[first] == hash && equal(first, row)
        };
        match firsts.entry(hash, same_key, |first| hashes[*first as usize]) {
            Entry::Occupied(first) => found.push((row, *first.get() as usize)),
            Entry::Vacant(free) => drop(free.insert(row as u32)),
        }
    }
    found
}

/// How far copies of a row differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CopySpread {
    /// Slowest over fastest copy, of the latency that differs most.
    pub ratio: f64,
    /// Whether that is more than `tail` allows at the slowest copy's latency.
    pub beyond_noise: bool,
}

impl CopySpread {
    /// Of some rows, by their latencies in ms. A time of zero or less beside one of another is
    /// beyond all noise and has no ratio.
    pub fn of(rows: &[usize], latencies: &[&Vals<'_, f64>], tail: impl Fn(f64) -> f64) -> Self {
        let mut spread = Self { ratio: 1.0, beyond_noise: false };
        for values in latencies {
            let (least, most) = range(rows, values);
            if least > 0.0 && most.is_finite() {
                spread.ratio = spread.ratio.max(most / least);
                spread.beyond_noise |= most / least > tail(most);
            } else {
                spread.beyond_noise |= least < most;
            }
        }
        spread
    }
}

/// The fastest and the slowest of some rows; what is no number is passed over.
pub(super) fn range(rows: &[usize], values: &Vals<'_, f64>) -> (f64, f64) {
    let times = || rows.iter().map(|row| values.get(*row));
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::repeats;

    #[test]
    fn equal_hashes_of_unequal_keys_are_no_repeats() {
        let keys = [1, 2, 1, 2, 3];
        let found = repeats(&[7; 5], |_| true, |a, b| keys[a] == keys[b]);
        assert_eq!(found, [(2, 0), (3, 1)]);
    }

    #[test]
    fn rows_that_are_not_loaded_do_not_count() {
        let found = repeats(&[7; 3], |i| i != 0, |_, _| true);
        assert_eq!(found, [(2, 1)]);
    }
}
