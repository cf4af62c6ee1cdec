//! Rows that are measurements of the same thing: they agree in every column that distinguishes measurements.

use serde_json::{Map, Value};

use crate::database::served::rows::repeats;
use crate::database::table::{Column, Table, run_seed};
use crate::specs::measured_unit;

/// Columns that are neither measured nor to `ignore`. Two rows that differ in one of them are different
/// measurements.
pub(super) fn compared_columns<'a>(
    table: &'a Table,
    ignore: &[impl AsRef<str>],
) -> Vec<(&'a str, &'a Column)> {
    let ignored = |name: &str| ignore.iter().any(|i| i.as_ref() == name);
    table.columns().filter(|(name, _)| measured_unit(name).is_none() && !ignored(name)).collect()
}

/// Rows that repeat an earlier row in all of `columns`, each with the first such row. Only rows for which
/// `counts` is true are compared.
pub(super) fn repeated_rows(
    columns: &[(&str, &Column)],
    rows: usize,
    counts: impl Fn(usize) -> bool,
) -> Vec<(usize, usize)> {
    let mut hashes = vec![run_seed(); rows];
    columns.iter().for_each(|(_, column)| column.hash_into(&mut hashes));
    repeats(&hashes, counts, |a, b| columns.iter().all(|(_, column)| column.equal(a, b)))
}

/// Whether two rows are equal in every column.
pub(super) fn equal(table: &Table, a: usize, b: usize) -> bool {
    a == b || table.columns().all(|(_, column)| column.equal(a, b))
}

/// The cells of a row by column.
pub(super) fn cells(table: &Table, row: usize) -> Map<String, Value> {
    table.columns().map(|(name, column)| (name.to_owned(), column.json(row))).collect()
}
