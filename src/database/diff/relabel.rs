//! Rows that are served under another key after a change. A relabelled slice has a corrected text in its key and nearly
//! the same latencies. A rekeyed row has a corrected key column, such as `num_heads`, and the same measurements.

use std::collections::{BTreeMap, HashMap};

use super::cells::{ColumnPair, SharedColumns};
use super::join::{JoinedKeys, each_hash};
use super::ratios::PairedTables;
use super::rows::{by_hash, pair_up};
use super::{RowDiff, SliceLatency, SliceName};
use crate::base::expr::ExprError;
use crate::database::table::Keys;
use crate::specs::{KeyPart, NoiseBands};

/// For a slice to count as renamed, at least this share of its lost keys must be paired with gained keys of a single
/// other slice.
const PAIRED: f64 = 0.95;

/// For a slice to count as renamed, at most this share of its key pairs may have a latency ratio that is farther from 1
/// than in 99 % of reruns. In three known cases of the public database, the share was at most 0.008.
const BEYOND_NOISE: f64 = 0.05;

/// The maximum number of gained keys that are paired with one lost key. The keys of a pair differ in one key part only.
const MOST_PAIRED: usize = 16;

/// A slice that has another name after a change, because a text in its keys was corrected.
#[derive(Debug, Clone, PartialEq)]
pub struct Relabelled {
    /// The name of the slice before the change.
    pub from: SliceName,
    /// The name of the slice after the change.
    pub to: SliceName,
    /// The number of pairs of a key in the old slice and a key in the new slice. The two keys differ only in the
    /// corrected text.
    pub keys: u64,
    /// The median of the latency ratios, after over before, of the paired keys.
    pub ratio: f64,
}

impl PairedTables<'_> {
    /// Finds renamed slices. In a renamed slice, nearly every lost key has a gained key that differs from it only in
    /// the text of one key part. `keys` are the keys of all rows of base and of head.
    pub(super) fn relabelled(
        &self,
        joined: &JoinedKeys,
        keys: (Option<&Keys<'_>>, Option<&Keys<'_>>),
        noise: &NoiseBands<'_>,
    ) -> Result<Vec<Relabelled>, ExprError> {
        let ((Some(base), Some(head)), (Some(before), Some(after))) = (self.tables, keys) else {
            return Ok(Vec::new());
        };
        if joined.lost.is_empty() || joined.gained.is_empty() {
            return Ok(Vec::new());
        }
        let (base, head) = (self.base_scope(base), self.head_scope(head));
        let (of_lost, of_gained) = (before.slice_numbers(), after.slice_numbers());
        let slices =
            |row: &(u32, u32)| (of_lost.of_rows[row.0 as usize], of_gained.of_rows[row.1 as usize]);
        let mut lost = HashMap::new();
        for (_, row) in &joined.lost {
            *lost.entry(of_lost.of_rows[*row as usize]).or_insert(0_usize) += 1;
        }
        let mut found = BTreeMap::new();
        for part in self.spec.key.iter().filter(|part| self.spec.is_name(part)) {
            let is_other = |other: &&KeyPart| other.name != part.name;
            let others: Vec<KeyPart> = self.spec.key.iter().filter(is_other).cloned().collect();
            let (old, new) = (Keys::new(&others, &base)?, Keys::new(&others, &head)?);
            let mut by_hash: HashMap<u64, Vec<u32>> = HashMap::new();
            for row in &joined.gained {
                let rows = by_hash.entry(new.hashes()[*row as usize]).or_default();
                rows.extend((rows.len() < MOST_PAIRED).then_some(*row));
            }
            let mut pairs: Vec<(u32, u32)> = Vec::new();
            for (_, row) in &joined.lost {
                let same = by_hash.get(&old.hashes()[*row as usize]).into_iter().flatten();
                pairs.extend(same.map(|other| (*row, *other)));
            }
            pairs.sort_by_key(slices);
            let all_latencies = self.latencies(&pairs)?;
            let mut latencies = all_latencies.iter();
            for pairs in pairs.chunk_by(|a, b| slices(a) == slices(b)) {
                let (from, _) = slices(&pairs[0]);
                let latencies: Vec<_> = latencies.by_ref().take(pairs.len()).collect();
                let latency = SliceLatency::of(&latencies, *noise);
                let Some(latency) = latency.filter(|latency| {
                    let count = pairs.len() as f64;
                    count >= PAIRED * lost[&from] as f64
                        && latency.beyond_noise as f64 <= BEYOND_NOISE * count
                }) else {
                    continue;
                };
                let (row, other) = pairs[0];
                found.entry(from).or_insert(Relabelled {
                    from: before.texts(row as usize),
                    to: after.texts(other as usize),
                    keys: pairs.len() as u64,
                    ratio: latency.ratio,
                });
            }
        }
        Ok(found.into_values().collect())
    }
}

/// The minimum share that counts as nearly all, in two conditions:
/// - Rows count as rekeyed only if nearly all pairs of a removed row and an added row with equal measurements differ in
///   the same key columns.
/// - A change has the class [`Class::Rekey`](super::Class::Rekey) only if nearly all keys that are no longer served are
///   served under a corrected key.
pub(super) const NEARLY_ALL: f64 = 0.95;

/// The minimum share of removed rows that must be paired with added rows. If fewer are paired, no row counts as
/// rekeyed.
const LEAST_PAIRED: f64 = 0.5;

/// Pairs removed rows with added rows that have equal measurements. All pairs differ in the same key columns. Each pair
/// consists of row numbers of base and head. Returns no pairs if fewer than half of the removed rows have a pair.
pub(super) fn rekeyed(shared: &SharedColumns<'_>, rows: &RowDiff) -> Vec<(u32, u32)> {
    let Some(changed) = changed_keys(shared, rows) else { return Vec::new() };
    let kept = shared.keys.iter().enumerate().filter(|(number, _)| !changed.contains(number));
    let kept: Vec<&ColumnPair<'_>> =
        kept.map(|(_, column)| column).chain(&shared.measures).collect();
    let (pairs, ..) = pair_up(&kept, rows.removed.clone(), rows.added.clone());
    let are_many = pairs.len() as f64 >= LEAST_PAIRED * rows.removed.len() as f64;
    if are_many { pairs } else { Vec::new() }
}

/// Finds the corrected key columns, such as `num_heads`, in which removed and added rows with equal measurements
/// differ. Returns their indices in `shared.keys`. `None` if no removed row has the same measurements as an added row,
/// or if too few of these pairs of rows differ in the same columns.
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
    fn rows_with_a_corrected_key_column_are_paired_even_if_latencies_repeat() {
        let base = [(128, 1, 0.1), (128, 2, 0.2), (128, 3, 0.3), (128, 4, 0.3)];
        let head = [(64, 9, 0.9), (64, 4, 0.3), (64, 1, 0.1), (64, 2, 0.2), (64, 3, 0.3)];
        assert_eq!(pairs(&base, &head), [(0, 2), (1, 3), (2, 4), (3, 1)]);
    }

    #[test]
    fn unrelated_rows_with_equal_latencies_are_not_paired() {
        let base = [(128, 1, 0.1), (128, 2, 0.2), (128, 3, 0.3), (128, 4, 0.4)];
        assert_eq!(pairs(&base, &[(64, 1, 0.1), (128, 7, 0.2), (64, 8, 0.3)]), []);
        assert_eq!(pairs(&base, &[(64, 1, 0.1), (64, 2, 0.25), (64, 3, 0.35)]), []);
    }
}
