//! The row diff: the rows of two tables, matched by all columns that are not measurements.

use super::{CellsOf, ColumnPair, HashedRow, SharedColumns, each_hash, rows_of};
use crate::database::table::{Table, mix, run_seed};

/// The rows that differ between two tables, as row numbers of the base and of the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowDiff {
    /// Added rows, as row numbers of the head, ascending.
    pub added: Vec<u32>,
    /// Removed rows, as row numbers of the base, ascending.
    pub removed: Vec<u32>,
    /// Changed rows, as pairs of a row number in the base and a row number in the head, in the order of the head.
    pub changed: Vec<(u32, u32)>,
}

impl RowDiff {
    /// Returns true if no row was added, removed or changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// Returns all rows of a deleted table as removed rows, or all rows of an added table as added rows.
    pub(super) fn one_sided(base: Option<&Table>, head: Option<&Table>) -> Self {
        let all = |t: Option<&Table>| (0..t.map_or(0, |t| t.rows) as u32).collect();
        Self { added: all(head), removed: all(base), changed: Vec::new() }
    }

    /// Matches rows that are equal in all shared columns that are not measurements. Completely equal rows are matched
    /// first, then the remaining rows in file order. Unmatched rows are added or removed. If only one of the tables has
    /// a certain column, all matched rows count as changed.
    pub fn between(base: &Table, head: &Table) -> Self {
        Self::over(&SharedColumns::of(base, head), base, head)
    }

    /// Matches rows as [`between`](Self::between) does. `common` are the columns of base and head, in pairs.
    pub(super) fn over(common: &SharedColumns, base: &Table, head: &Table) -> Self {
        let all: Vec<&ColumnPair<'_>> = common.all().collect();
        let keys: Vec<&ColumnPair<'_>> = common.keys.iter().collect();

        let (mut equal, base, head) = in_place(&all, base.rows, head.rows);
        let (more, base, head) = pair_up(&all, base, head);
        let (mut changed, removed, added) = pair_up(&keys, base, head);
        if !common.one_sided.is_empty() {
            equal.extend(more);
            changed.extend(equal);
        }
        changed.sort_unstable_by_key(|(_, head)| *head);
        Self { added, removed, changed }
    }
}

/// The matched rows of base and head, the unmatched rows of the base, and the unmatched rows of the head.
pub(super) type Paired = (Vec<(u32, u32)>, Vec<u32>, Vec<u32>);

/// Matches equal rows at the same position in base and head. `base` and `head` are the row counts of the two tables.
/// Most changes leave most rows at their position.
fn in_place(columns: &[&ColumnPair<'_>], base: usize, head: usize) -> Paired {
    let both = base.min(head);
    let mut equal = vec![true; both];
    for column in columns {
        let cells = column.base.iter().zip(column.head.iter());
        equal.iter_mut().zip(cells).for_each(|(equal, (b, h))| *equal &= b == h);
    }
    let is_equal = |row: u32| equal.get(row as usize).copied().unwrap_or(false);
    let pairs = (0..both as u32).filter(|r| is_equal(*r)).map(|r| (r, r)).collect();
    let rest = |rows: usize| (0..rows as u32).filter(|r| !is_equal(*r)).collect();
    (pairs, rest(base), rest(head))
}

/// Matches rows of base and head that are equal in the given columns, in file order.
pub(super) fn pair_up(columns: &[&ColumnPair<'_>], base: Vec<u32>, head: Vec<u32>) -> Paired {
    if base.is_empty() || head.is_empty() {
        return (Vec::new(), base, head);
    }
    let base = by_hash(columns, base, |c| &c.base);
    let head = by_hash(columns, head, |c| &c.head);

    let are_equal = |pair| !columns.iter().any(|column| column.differs(pair));
    let mut paired = Paired::default();
    each_hash(&base, &head, |old, new| match (old, new) {
        // Nearly every identity belongs to one row on either side.
        ([(_, b)], [(_, h)]) if are_equal((*b, *h)) => paired.0.push((*b, *h)),
        (only, []) => paired.1.extend(rows_of(only)),
        ([], only) => paired.2.extend(rows_of(only)),
        _ => pair_run(columns, rows_of(old).collect(), rows_of(new).collect(), &mut paired),
    });
    paired.0.sort_unstable();
    paired.1.sort_unstable();
    paired.2.sort_unstable();
    paired
}

/// Returns the given rows with a hash of their cells, sorted by hash. The order differs between runs of the program,
/// because each run has its own hash seed.
pub(super) fn by_hash(columns: &[&ColumnPair<'_>], rows: Vec<u32>, of: CellsOf) -> Vec<HashedRow> {
    let seed = run_seed();
    let mut hashed: Vec<HashedRow> = rows.into_iter().map(|row| (seed, row)).collect();
    for column in columns {
        let cells = of(column);
        hashed.iter_mut().for_each(|(hash, row)| *hash = mix(*hash, cells[*row as usize]));
    }
    hashed.sort_unstable();
    hashed
}

/// Matches rows of base and head that have the same hash and equal cells, and adds them to `out`. Cells are compared,
/// because different cells may have the same hash.
fn pair_run(columns: &[&ColumnPair<'_>], mut base: Vec<u32>, mut head: Vec<u32>, out: &mut Paired) {
    while let (Some(&first), false) = (base.first(), head.is_empty()) {
        let like_first = |side: CellsOf, row: u32| {
            columns.iter().all(|c| c.base[first as usize] == side(c)[row as usize])
        };
        let (old, others): (Vec<u32>, _) =
            base.iter().partition(|row| like_first(|c| &c.base, **row));
        let (new, other_new): (Vec<u32>, _) =
            head.iter().partition(|row| like_first(|c| &c.head, **row));
        let both = old.len().min(new.len());
        out.0.extend(old.iter().copied().zip(new.iter().copied()));
        out.1.extend(&old[both..]);
        out.2.extend(&new[both..]);
        (base, head) = (others, other_new);
    }
    out.1.extend(base);
    out.2.extend(head);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::database::catalog::Format;

    fn table(rows: &[(u8, u8)]) -> Table {
        let lines: String = rows.iter().map(|(m, latency)| format!("{m},{latency}\n")).collect();
        Table::decode(format!("m,latency\n{lines}").as_bytes(), Format::Csv, &|_| false).unwrap()
    }

    fn diff(base: &[(u8, u8)], head: &[(u8, u8)]) -> RowDiff {
        RowDiff::between(&table(base), &table(head))
    }

    #[test]
    fn equal_rows_of_a_key_are_matched_before_changed_rows() {
        let found = diff(&[(1, 1), (1, 2), (1, 3)], &[(1, 3), (1, 5)]);
        assert_eq!(found, RowDiff { added: vec![], removed: vec![1], changed: vec![(0, 1)] });
        let found = diff(&[(1, 1)], &[(1, 7), (1, 1), (2, 1)]);
        assert_eq!(found, RowDiff { added: vec![0, 2], removed: vec![], changed: vec![] });
    }

    #[test]
    fn reordered_rows_are_not_changed() {
        assert!(diff(&[(1, 1), (2, 2), (3, 3)], &[(3, 3), (1, 1), (2, 2)]).is_empty());
    }

    #[test]
    fn keys_with_equal_hashes_are_compared_by_their_cells() {
        // Without a column to hash, all hashes are equal, and the cells are compared.
        let (base, head) = (vec![1, 2, 1].into(), vec![2, 1, 3].into());
        let cells = ColumnPair { name: "m".into(), base, head };
        let mut paired = Paired::default();
        pair_run(&[&cells], vec![0, 1, 2], vec![0, 1, 2], &mut paired);
        assert_eq!(paired, (vec![(0, 1), (1, 0)], vec![2], vec![2]));
    }

    #[test]
    fn a_quarter_million_copies_of_a_key_are_compared_in_linear_time() {
        let base: Vec<(u8, u8)> = (0..250_000).map(|i| (1, (i % 100) as u8)).collect();
        let head: Vec<(u8, u8)> = (0..250_000).map(|i| (1, (i % 90) as u8)).collect();
        let found = diff(&base, &head);
        assert_eq!((found.added.len(), found.removed.len(), found.changed.len()), (0, 0, 25_000));
    }

    proptest! {
        /// Applying a diff to the base gives the head, and equal rows are not in the diff.
        #[test]
        fn a_diff_applied_to_its_base_is_the_head(
            base in proptest::collection::vec((0u8..4, 0u8..4), 1..40),
            head in proptest::collection::vec((0u8..4, 0u8..4), 1..40),
        ) {
            let found = diff(&base, &head);
            let mut rows: Vec<Option<(u8, u8)>> = base.iter().copied().map(Some).collect();
            for &(from, to) in &found.changed {
                let (old, new) = (rows[from as usize].take().unwrap(), head[to as usize]);
                prop_assert_eq!(old.0, new.0, "of one key");
                prop_assert_ne!(old.1, new.1);
                rows.push(Some(new));
            }
            for &gone in &found.removed {
                rows[gone as usize].take().unwrap();
            }
            rows.extend(found.added.iter().map(|&new| Some(head[new as usize])));
            let mut rows: Vec<(u8, u8)> = rows.into_iter().flatten().collect();
            rows.sort_unstable();
            let mut wanted = head.clone();
            wanted.sort_unstable();
            prop_assert_eq!(rows, wanted);
            // No identity is both added and removed, since such rows would have been matched.
            for new in &found.added {
                let key = head[*new as usize].0;
                prop_assert!(found.removed.iter().all(|old| base[*old as usize].0 != key));
            }
        }
    }
}
