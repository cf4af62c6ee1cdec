//! Matches each row of the head with its row in the base by the loader's key, and records the columns that differ.
//!
//! The row diff distinguishes rows by every column that is not a measurement. Here, two rows match if the loader looks
//! them up by the same key, even if their devices or versions differ. A finding on a row of the head is thus traced to
//! the row in the base.

use super::{CellsOf, ColumnPair, HashedRow, SharedColumns, each_hash, either_has_value, rows_of};
use crate::database::table::{Table, mix};

/// The number of columns that have their own bit in a mask of changed columns. All further columns share the next bit.
const OWN_BITS: usize = 62;

/// The mask of changed columns in which all bits are set. An added row has this mask.
const ALL: u64 = u64::MAX;

/// The maximum number of row pairs of one key that are compared cell by cell. A pair is any row of the base and any row
/// of the head with this key. If a key has more pairs, its rows are matched in file order.
const MOST_COMPARED: usize = 4096;

/// The matches between the rows of a table in the head and in the base, with the columns that differ.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowMatch {
    /// The names of the columns, in the order of their bits in a mask of changed columns. The columns from position
    /// [`OWN_BITS`] on share one bit.
    columns: Vec<String>,
    /// For each row of the head, the mask of the columns in which it differs from the matched row of the base.
    changed: Vec<u64>,
    /// For each row of the head, true if no row of the base matches it.
    added: Vec<bool>,
    /// The hash of the key of each row of the base.
    base_keys: Vec<u64>,
    /// The hash of the key of each row of the head. A corrected key is replaced by the key that it had in the base.
    head_keys: Vec<u64>,
}

impl RowMatch {
    /// Matches rows of base and head that have the same key hash. Equal rows are matched first, then the remaining rows
    /// in file order. `rekeyed` are pairs of a base row and a head row that are matched although their keys differ.
    pub(super) fn new(
        common: &SharedColumns,
        (base, base_keys): (&Table, Vec<u64>),
        (head, mut head_keys): (&Table, Vec<u64>),
        rekeyed: &[(u32, u32)],
    ) -> Self {
        let all: Vec<&ColumnPair<'_>> = common.all().collect();
        for (before, after) in rekeyed {
            head_keys[*after as usize] = base_keys[*before as usize];
        }
        let pairs = pairs(&all, &base_keys, &head_keys);
        let mut columns: Vec<String> = Vec::new();
        let mut changed = vec![0; head.rows];
        let mut added = vec![true; head.rows];
        for (_, row) in &pairs {
            added[*row as usize] = false;
        }
        for column in all {
            let bit = bit_of(&mut columns, &column.name);
            for pair in &pairs {
                changed[pair.1 as usize] |= if column.differs(*pair) { bit } else { 0 };
            }
        }
        for name in &common.one_sided {
            let bit = bit_of(&mut columns, name);
            let sides = (base.column(name), head.column(name));
            for pair in &pairs {
                changed[pair.1 as usize] |= if either_has_value(sides, *pair) { bit } else { 0 };
            }
        }
        changed.iter_mut().zip(&added).filter(|(_, added)| **added).for_each(|(c, _)| *c = ALL);
        Self { columns, changed, added, base_keys, head_keys }
    }

    /// Creates the match of a synthetic table with `rows` rows. The rows in `added` count as added.
    #[cfg(test)]
    pub(crate) fn adding<const N: usize>(added: [usize; N], rows: usize) -> Self {
        let added: Vec<bool> = (0..rows).map(|row| added.contains(&row)).collect();
        let changed = added.iter().map(|added| if *added { ALL } else { 0 }).collect();
        let keys: Vec<u64> = (0..rows as u64).collect();
        let (base_keys, head_keys) = (keys.clone(), keys);
        Self { columns: Vec::new(), changed, added, base_keys, head_keys }
    }

    /// Matches rows by every column that is not a measurement, for tables without a known loader's key.
    pub(super) fn by_identity(common: &SharedColumns, base: &Table, head: &Table) -> Self {
        let hash = |rows: usize, side: CellsOf| -> Vec<u64> {
            let mut keys = vec![0; rows];
            for column in &common.keys {
                keys.iter_mut().zip(side(column)).for_each(|(key, cell)| *key = mix(*key, *cell));
            }
            keys
        };
        let keys = (hash(base.rows, |c| &c.base), hash(head.rows, |c| &c.head));
        Self::new(common, (base, keys.0), (head, keys.1), &[])
    }

    /// Returns the union of the bits of some columns.
    pub(crate) fn bits<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> u64 {
        let bit = |name: &str| self.columns.iter().position(|c| c == name).map_or(0, bit);
        names.into_iter().map(bit).fold(0, |bits, bit| bits | bit)
    }

    /// Returns true if a row of the head was added, or if its number exceeds the number of rows.
    pub(crate) fn is_added(&self, row: usize) -> bool {
        self.added.get(row).copied().unwrap_or(true)
    }

    /// Returns true if a row of the head was added, or differs in one of the columns in `bits`.
    pub(crate) fn changes(&self, row: usize, bits: u64) -> bool {
        self.changed.get(row).is_none_or(|changed| changed & bits != 0)
    }

    /// Returns the key hash of a row of the base.
    pub(crate) fn base_key(&self, row: usize) -> Option<u64> {
        self.base_keys.get(row).copied()
    }

    /// Returns the key hash of a row of the head.
    pub(crate) fn head_key(&self, row: usize) -> Option<u64> {
        self.head_keys.get(row).copied()
    }
}

fn bit(position: usize) -> u64 {
    1 << position.min(OWN_BITS)
}

/// Returns the bit of a column, and adds the column if it is new.
fn bit_of(columns: &mut Vec<String>, name: &str) -> u64 {
    let position = columns.iter().position(|c| c == name).unwrap_or_else(|| {
        columns.push(name.to_owned());
        columns.len() - 1
    });
    bit(position)
}

/// Returns the matched rows of the base and of the head.
fn pairs(all: &[&ColumnPair<'_>], base_keys: &[u64], head_keys: &[u64]) -> Vec<(u32, u32)> {
    let alike = |b: usize, h: usize| all.iter().all(|c| c.base[b] == c.head[h]);
    // Fast path: most changes keep the position of most rows. Rows at equal positions match if they are
    // equal, or if no key is repeated.
    if base_keys == head_keys {
        let order = |(row, _): (usize, &u64)| (row as u32, row as u32);
        let places: Vec<(u32, u32)> = head_keys.iter().enumerate().map(order).collect();
        if places.iter().all(|(b, h)| alike(*b as usize, *h as usize)) || is_unique(head_keys) {
            return places;
        }
    }
    let mut pairs = Vec::with_capacity(head_keys.len());
    each_hash(&sorted(base_keys), &sorted(head_keys), |old, new| {
        pair_run(old, new, &alike, &mut pairs);
    });
    pairs
}

fn is_unique(keys: &[u64]) -> bool {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

/// Returns the row numbers with their key hashes, sorted by hash.
fn sorted(keys: &[u64]) -> Vec<HashedRow> {
    let mut rows: Vec<HashedRow> =
        keys.iter().enumerate().map(|(row, key)| (*key, row as u32)).collect();
    rows.sort_unstable();
    rows
}

/// Pairs the rows of base and head that have the same key.
fn pair_run(
    old: &[HashedRow],
    new: &[HashedRow],
    alike: &impl Fn(usize, usize) -> bool,
    pairs: &mut Vec<(u32, u32)>,
) {
    if let ([(_, b)], [(_, h)]) = (old, new) {
        pairs.push((*b, *h));
        return;
    }
    let mut old: Vec<u32> = rows_of(old).collect();
    let mut rest = Vec::new();
    let compare = old.len().saturating_mul(new.len()) <= MOST_COMPARED;
    for h in rows_of(new) {
        let equal = |b: &u32| alike(*b as usize, h as usize);
        match old.iter().position(equal).filter(|_| compare) {
            Some(place) => pairs.push((old.remove(place), h)),
            None => rest.push(h),
        }
    }
    pairs.extend(old.into_iter().zip(rest));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Format;

    /// Matches two CSV tables by the column `m`.
    fn matched(base: &str, head: &str) -> RowMatch {
        let table = |text: &str| Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
        let (base, head) = (table(base), table(head));
        let keys = |table: &Table| {
            let column = table.column("m").unwrap();
            (0..table.rows).map(|row| column.number(row) as u64).collect()
        };
        let common = SharedColumns::of(&base, &head);
        RowMatch::new(&common, (&base, keys(&base)), (&head, keys(&head)), &[])
    }

    fn changes(matched: &RowMatch, rows: usize, names: &[&str]) -> Vec<bool> {
        let bits = matched.bits(names.iter().copied());
        (0..rows).map(|row| matched.changes(row, bits)).collect()
    }

    #[test]
    fn a_row_changed_in_a_column_if_the_cell_differs() {
        let base = "m,latency,power\n1,0.5,9\n2,0.7,9\n3,0.9,9\n";
        let found = matched(base, "m,latency,power\n3,0.9,8\n1,0.6,9\n4,1.0,9\n");
        assert_eq!(changes(&found, 3, &["latency"]), [false, true, true]);
        assert_eq!(changes(&found, 3, &["power"]), [true, false, true]);
        assert_eq!(changes(&found, 3, &["no_such"]), [false; 3]);
        assert_eq!(
            (0..4).map(|r| found.is_added(r)).collect::<Vec<_>>(),
            [false, false, true, true]
        );
    }

    #[test]
    fn copies_of_a_key_are_matched_by_their_cells_first() {
        let base = "m,latency\n1,0.5\n1,0.7\n1,0.9\n";
        let found = matched(base, "m,latency\n1,0.9\n1,0.8\n1,0.5\n1,0.1\n");
        assert_eq!(changes(&found, 4, &["latency"]), [false, true, false, true]);
        assert!(found.is_added(3) && !found.is_added(1));
    }

    #[test]
    fn an_added_or_removed_column_changed_the_rows_with_a_value() {
        let found = matched("m,latency\n1,0.5\n2,0.7\n", "m,latency,power\n1,0.5,9\n2,0.7,\n");
        assert_eq!(changes(&found, 2, &["power"]), [true, false]);
        assert_eq!(changes(&found, 2, &["latency"]), [false, false]);
        let found = matched("m,latency,power\n1,0.5,9\n", "m,latency\n1,0.5\n");
        assert_eq!(changes(&found, 1, &["power"]), [true]);
    }
}
