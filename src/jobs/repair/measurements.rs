//! Finds rows that repeat a measurement: they agree in every column that distinguishes
//! measurements.

use serde_json::{Map, Value};

use crate::database::served::rows::repeats;
use crate::database::table::{Column, Table, run_seed};
use crate::specs::measured_unit;

/// Returns the columns that distinguish measurements: columns that are neither measured nor in
/// `ignore`.
pub(super) fn compared_columns<'a>(
    table: &'a Table,
    ignore: &[impl AsRef<str>],
) -> Vec<(&'a str, &'a Column)> {
    let ignored = |name: &str| ignore.iter().any(|i| i.as_ref() == name);
    table.columns().filter(|(name, _)| measured_unit(name).is_none() && !ignored(name)).collect()
}

/// Groups the rows that have equal cells in all of `columns`. Groups are ordered by their first rows. Rows for which
/// `counts` returns false are left out.
pub(super) fn groups(
    table: &Table,
    columns: &[(&str, &Column)],
    counts: impl Fn(usize) -> bool,
) -> Vec<Vec<usize>> {
    let mut hashes = vec![run_seed(); table.rows];
    columns.iter().for_each(|(_, column)| column.hash_into(&mut hashes));
    let equal = |a, b| columns.iter().all(|(_, column)| column.equal(a, b));
    let mut groups: Vec<Vec<usize>> =
        (0..table.rows).map(|row| Vec::from_iter(counts(row).then_some(row))).collect();
    for (row, first) in repeats(&hashes, &counts, equal) {
        groups[row].clear();
        groups[first].push(row);
    }
    groups.retain(|rows| !rows.is_empty());
    groups
}

/// Returns true if two rows are equal in every column.
pub(super) fn equal(table: &Table, a: usize, b: usize) -> bool {
    a == b || table.columns().all(|(_, column)| column.equal(a, b))
}

/// Returns the cells of a row by column.
pub(super) fn cells(table: &Table, row: usize) -> Map<String, Value> {
    table.columns().map(|(name, column)| (name.to_owned(), column.json(row))).collect()
}
