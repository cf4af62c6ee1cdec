//! The rows of a table that its loader serves, by the table's spec: its filter, its maps, its key, and its
//! choice among rows of one key.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;

use crate::base::expr::{ExprError, Vals};
use crate::database::table::{Column, Keys, Table, TableScope, lookup_ranks, text_hash};
use crate::specs::{Guard, Serves};

/// Decides which rows the loader reads, and which of the loader's maps (hash tables from key to latency) contain each
/// row.
struct Admission<'a> {
    loaded: Option<Vals<'a, bool>>,
    buckets: Vec<Vals<'a, bool>>,
    /// For each map of the loader, the text column that splits the map: rows with different texts go into different
    /// maps. `None` for a map that is not split.
    split_columns: Vec<Option<&'a Column>>,
}

impl<'a> Admission<'a> {
    fn new(scope: &'a TableScope<'_>) -> Result<Self, ExprError> {
        let spec = scope.spec;
        let loaded = spec.filter.as_ref().map(|f| f.mask(scope)).transpose()?;
        let buckets = if spec.buckets.is_empty() {
            vec![Vals::One(true)]
        } else {
            spec.buckets.iter().map(|b| b.rows.mask(scope)).collect::<Result<_, _>>()?
        };
        let split_columns = if spec.buckets.is_empty() {
            vec![None]
        } else {
            spec.buckets.iter().map(|bucket| scope.table.column(bucket.apart.as_ref()?)).collect()
        };
        Ok(Self { loaded, buckets, split_columns })
    }

    /// Returns how many maps the loader has for the table.
    fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Returns true if the loader puts a row into one of its maps. `bucket` is the map's index.
    fn goes_into(&self, bucket: usize, row: usize) -> bool {
        self.buckets[bucket].get(row) && self.loaded.as_ref().is_none_or(|l| l.get(row))
    }
}

/// Returns the rows that the loader reads, each with the hash of its key, sorted by hash and then by row.
///
/// # Errors
///
/// If a formula of the spec does not fit the table's columns.
pub(crate) fn read_rows(
    scope: &TableScope<'_>,
    keys: &Keys<'_>,
) -> Result<Vec<(u64, u32)>, ExprError> {
    sorted_rows(scope, keys, |_| 0)
}

/// Returns the rows that the loader reads, each with the hash of its key. The rows are sorted by hash, then by the
/// result of `rank`, then by row number.
fn sorted_rows(
    scope: &TableScope<'_>,
    keys: &Keys<'_>,
    rank: impl Fn(u32) -> u32,
) -> Result<Vec<(u64, u32)>, ExprError> {
    let mut rows = Vec::with_capacity(keys.hashes().len());
    each_read_row(scope, keys, |hash, row| rows.push((hash, row)))?;
    rows.sort_unstable_by_key(|(hash, row)| (*hash, rank(*row), *row));
    Ok(rows)
}

/// Calls `each` with every row that the loader reads and the hash of its key.
///
/// # Errors
///
/// If a formula of the spec does not fit the table's columns.
pub(crate) fn each_read_row(
    scope: &TableScope<'_>,
    keys: &Keys<'_>,
    mut each: impl FnMut(u64, u32),
) -> Result<(), ExprError> {
    let admission = Admission::new(scope)?;
    for number in 0..admission.buckets() {
        for (row, hash) in
            keys.hashes().iter().enumerate().filter(|(row, _)| admission.goes_into(number, *row))
        {
            // A row may go into several of the loader's maps and has a separate key in each.
            let text = admission.split_columns[number].and_then(|column| column.text(row));
            let map = text.map_or(number as u64, text_hash);
            each(hash.wrapping_add(map), row as u32);
        }
    }
    Ok(())
}

/// Returns the rows that the loader serves, each with the hash of its key, sorted by hash.
///
/// # Errors
///
/// If a formula of the spec does not fit the table's columns.
pub(crate) fn served_rows(
    scope: &TableScope<'_>,
    keys: &Keys<'_>,
) -> Result<Vec<(u64, u32)>, ExprError> {
    let mut rows = match lookup_ranks(scope) {
        Some(ranks) => sorted_rows(scope, keys, |row| ranks[row as usize])?,
        None => read_rows(scope, keys)?,
    };
    match scope.spec.serves {
        Serves::First | Serves::Error => rows.dedup_by_key(|(hash, _)| *hash),
        Serves::Last => {
            rows.reverse();
            rows.dedup_by_key(|(hash, _)| *hash);
            rows.reverse();
        }
    }
    Ok(rows)
}

/// The indices of the rows that have one key, in file order. Up to two indices are stored without an allocation.
pub(crate) type KeyRows = SmallVec<[usize; 2]>;

/// Returns the groups of rows that have the same key and that the loader puts into the same map. Each group has at
/// least two rows. If the table lacks columns of the key, the result is empty, unless the loader refuses repeated keys.
///
/// # Errors
///
/// If a formula of the spec does not fit the table's columns.
pub(crate) fn copies(scope: &TableScope<'_>, keys: &Keys<'_>) -> Result<Vec<KeyRows>, ExprError> {
    // A loader that refuses repeated keys refuses them whatever else the table lacks.
    if !has_key(scope) && scope.spec.serves != Serves::Error {
        return Ok(Vec::new());
    }
    let admission = Admission::new(scope)?;
    let hashes = keys.run_hashes();
    let mut groups: Vec<KeyRows> = Vec::new();
    for number in 0..admission.buckets() {
        let goes = |i: usize| admission.goes_into(number, i);
        let is_one_map =
            |a, b| admission.split_columns[number].is_none_or(|column| column.equal(a, b));
        let found = repeats(&hashes, goes, |a, b| keys.equal(a, b) && is_one_map(a, b));
        groups.extend(by_first(found));
    }
    // A row in two maps may have the same competitors in both.
    if admission.buckets() > 1 {
        groups.sort_unstable();
        groups.dedup();
    }
    Ok(groups)
}

/// Groups rows by key. Each pair of `repeats` contains a row and the first row with the same key.
fn by_first(mut repeats: Vec<(usize, usize)>) -> Vec<KeyRows> {
    repeats.sort_unstable_by_key(|(row, first)| (*first, *row));
    let of_key = |copies: &[(usize, usize)]| {
        let first = std::iter::once(copies[0].1);
        first.chain(copies.iter().map(|(row, _)| *row)).collect()
    };
    repeats.chunk_by(|a, b| a.1 == b.1).map(of_key).collect()
}

/// Returns each row whose key occurs in an earlier row, paired with the first row of that key. Only rows for which
/// `goes` is true are compared. `hashes` contains the hash of each row's key. `equal` compares the keys of two rows.
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

/// Returns the rows that the loader reads, each with the hash of its key, sorted by hash and then by row. `None` if the
/// table lacks columns of the key.
///
/// # Errors
///
/// If a formula of the spec does not fit the table's columns.
pub(crate) fn rows_by_key(scope: &TableScope<'_>) -> Result<Option<Vec<(u64, u32)>>, ExprError> {
    let spec = scope.spec;
    if spec.key.is_empty() || !has_key(scope) {
        return Ok(None);
    }
    read_rows(scope, &Keys::new(&spec.key, scope)?).map(Some)
}

/// Returns true if a table has all required columns of the loader's key. Without them, all rows would have one key.
pub(crate) fn has_key(scope: &TableScope<'_>) -> bool {
    let is_optional = |name: &str| scope.spec.column(name).is_some_and(|column| column.optional);
    let is_known = |name: &str| name == "system" || scope.table.column(name).is_some();
    let mut columns = scope.spec.key.iter().flat_map(|part| part.value.columns());
    columns.all(|name| is_known(name) || is_optional(name))
}

/// Returns the rows for which the loader's check `guard` refuses the table. The check groups the rows that have equal
/// values in the columns `guard.by`. It refuses a group with several values in the column `guard.varies` but only one
/// value in the column `guard.with`.
pub(crate) fn guarded_rows(table: &Table, guard: &Guard) -> Vec<usize> {
    let column = |name: &String| table.column(name);
    let by: Option<Vec<&Column>> = guard.by.iter().map(column).collect();
    let (Some(by), Some(varies), Some(with)) = (by, column(&guard.varies), column(&guard.with))
    else {
        return Vec::new();
    };
    let code = |c: &Column, i: usize| match c {
        Column::Text { codes, .. } => u64::from(codes[i]),
        other => other.number(i).to_bits(),
    };
    let group = |i: usize| by.iter().map(|c| code(c, i)).collect::<Vec<u64>>();
    let mut seen: BTreeMap<Vec<u64>, BTreeSet<(u64, u64)>> = BTreeMap::new();
    let columns = || by.iter().copied().chain([varies, with]);
    for i in 0..table.rows {
        // Rows come in runs of equal values, so only changes are inserted.
        if i == 0 || columns().any(|column| code(column, i) != code(column, i - 1)) {
            seen.entry(group(i)).or_default().insert((code(varies, i), code(with, i)));
        }
    }
    seen.retain(|_, pairs| {
        let of_varies: BTreeSet<u64> = pairs.iter().map(|p| p.0).collect();
        let of_with: BTreeSet<u64> = pairs.iter().map(|p| p.1).collect();
        of_varies.len() > 1 && of_with.len() == 1
    });
    if seen.is_empty() {
        return Vec::new();
    }
    (0..table.rows).filter(|i| seen.contains_key(&group(*i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unequal_keys_with_equal_hashes_are_not_copies() {
        let keys = [1, 2, 1, 2, 3];
        let found = repeats(&[7; 5], |_| true, |a, b| keys[a] == keys[b]);
        assert_eq!(found, [(2, 0), (3, 1)]);
    }

    #[test]
    fn copies_are_grouped_by_the_first_row_of_their_key() {
        let found = by_first(vec![(2, 1), (4, 0), (5, 1), (6, 3)]);
        let expected = [&[0, 4][..], &[1, 2, 5], &[3, 6]].map(KeyRows::from_slice);
        assert_eq!(found, expected);
        assert!(by_first(Vec::new()).is_empty());
    }

    #[test]
    fn rows_that_are_not_loaded_are_not_copies() {
        let found = repeats(&[7; 3], |i| i != 0, |_, _| true);
        assert_eq!(found, [(2, 1)]);
    }
}
