//! Finds rows whose key changed and whose measurements did not, such as rows of a corrected `num_heads`.

use std::collections::BTreeMap;

use super::RowDiff;
use super::cells::{ColumnPair, SharedColumns};
use super::join::each_hash;
use super::rows::{by_hash, pair_up};

/// The share of row pairs that must differ in the same key columns, since fewer is a coincidence of equal latencies.
/// Also the share of a table's removed keys that must pair for its class to be [`Class::Rekey`](super::Class::Rekey).
pub(super) const NEARLY_ALL: f64 = 0.95;

/// The share of removed rows that must pair before any pair counts.
const PAIRED: f64 = 0.5;

/// Pairs removed rows with added rows of equal measurements, as row numbers of base and head. All pairs
/// differ in the same key columns. Rows that are equal in everything else pair in file order. Returns no
/// pairs if fewer than half of the removed rows have one.
pub(super) fn rekeyed(shared: &SharedColumns<'_>, rows: &RowDiff) -> Vec<(u32, u32)> {
    let Some(changed) = changed_keys(shared, rows) else { return Vec::new() };
    let kept = shared.keys.iter().enumerate().filter(|(number, _)| !changed.contains(number));
    let kept: Vec<&ColumnPair<'_>> =
        kept.map(|(_, column)| column).chain(&shared.measures).collect();
    let (pairs, ..) = pair_up(&kept, rows.removed.clone(), rows.added.clone());
    let are_many = pairs.len() as f64 >= PAIRED * rows.removed.len() as f64;
    if are_many { pairs } else { Vec::new() }
}

/// Returns the numbers of the key columns in which the pairs differ. Only pairs whose measurements occur
/// once on either side are considered. `None` if there are none, or if they differ in various columns.
fn changed_keys(shared: &SharedColumns<'_>, rows: &RowDiff) -> Option<Vec<usize>> {
    let measures: Vec<&ColumnPair<'_>> = shared.measures.iter().collect();
    if measures.is_empty() || rows.removed.is_empty() || rows.added.is_empty() {
        return None;
    }
    let base = by_hash(&measures, rows.removed.clone(), |column| &column.base);
    let head = by_hash(&measures, rows.added.clone(), |column| &column.head);
    let mut sets: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    each_hash(&base, &head, |old, new| {
        let ([(_, before)], [(_, after)]) = (old, new) else { return };
        let pair = (*before, *after);
        if !measures.iter().any(|column| column.differs(pair)) {
            let differ = shared.keys.iter().enumerate().filter(|(_, column)| column.differs(pair));
            *sets.entry(differ.map(|(number, _)| number).collect()).or_default() += 1;
        }
    });
    let all: usize = sets.values().sum();
    let (columns, pairs) = sets.into_iter().max_by_key(|(_, pairs)| *pairs)?;
    (pairs as f64 >= NEARLY_ALL * all as f64).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::Format;
    use crate::database::table::Table;

    /// A synthetic table of rows (num_heads, m, latency).
    fn table(rows: &[(u32, u32, f64)]) -> Table {
        let lines = rows.iter().map(|(heads, m, latency)| format!("{heads},{m},{latency}\n"));
        let text = format!("num_heads,m,latency\n{}", lines.collect::<String>());
        Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap()
    }

    fn pairs(base: &[(u32, u32, f64)], head: &[(u32, u32, f64)]) -> Vec<(u32, u32)> {
        let (base, head) = (table(base), table(head));
        let shared = SharedColumns::of(&base, &head);
        rekeyed(&shared, &RowDiff::over(&shared, &base, &head))
    }

    #[test]
    fn rows_with_a_corrected_key_column_pair_even_if_latencies_repeat() {
        let base = [(128, 1, 0.1), (128, 2, 0.2), (128, 3, 0.3), (128, 4, 0.3)];
        let head = [(64, 9, 0.9), (64, 4, 0.3), (64, 1, 0.1), (64, 2, 0.2), (64, 3, 0.3)];
        assert_eq!(pairs(&base, &head), [(0, 2), (1, 3), (2, 4), (3, 1)]);
    }

    #[test]
    fn equal_latencies_of_unrelated_rows_do_not_pair() {
        let base = [(128, 1, 0.1), (128, 2, 0.2), (128, 3, 0.3), (128, 4, 0.4)];
        assert_eq!(pairs(&base, &[(64, 1, 0.1), (128, 7, 0.2), (64, 8, 0.3)]), []);
        assert_eq!(pairs(&base, &[(64, 1, 0.1), (64, 2, 0.25), (64, 3, 0.35)]), []);
    }
}
