//! Rows for which the loader refuses the whole table.

use std::collections::BTreeMap;

use super::WrongRowsByFault;
use crate::base::words::names;
use crate::checks::context::RowContext;
use crate::database::table::Column;

/// Adds the rows that differ from most rows in a `uniform` column, all of whose values must be equal.
pub(super) fn mixed_rows(wrong: &mut WrongRowsByFault, rows: &RowContext<'_>) {
    for name in &rows.spec.uniform {
        if let Some(column) = rows.column(name) {
            mixed_values(wrong, rows.count, name, column);
        }
    }
}

/// Adds the rows with a null, if the table's spec forbids nulls.
pub(super) fn null_rows(wrong: &mut WrongRowsByFault, rows: &RowContext<'_>) {
    if !rows.spec.no_nulls {
        return;
    }
    for (name, column) in rows.whole().columns().filter(|(_, column)| column.has_nulls()) {
        let says = format!("{name} is null, for which the loader refuses the whole table,");
        for row in (0..rows.count).filter(|row| column.is_null(*row)) {
            wrong.add_kind(&format!("{name} null"), &says, name, row);
        }
    }
}

/// Adds the rows whose value in `column` is not the column's most frequent value. If several values are equally
/// frequent, the first one in the file counts as the most frequent.
fn mixed_values(wrong: &mut WrongRowsByFault, rows: usize, name: &str, column: &Column) {
    let mut by_value: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in 0..rows {
        let value = column.json(row);
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        by_value.entry(text).or_default().push(row);
    }
    if by_value.len() < 2 {
        return;
    }
    let most = by_value.iter().max_by(|(_, a), (_, b)| (a.len(), b[0]).cmp(&(b.len(), a[0])));
    let Some((usual, _)) = most.map(|(value, rows)| (value.clone(), rows.len())) else { return };
    by_value.remove(&usual);
    let others = names(by_value.keys().map(|value| short(value)));
    let says = format!(
        "{name} is {others} and not {} as in most rows, but the loader accepts one value per table,",
        short(&usual)
    );
    for row in by_value.into_values().flatten() {
        wrong.add_kind(&format!("{name} mixed"), &says, name, row);
    }
}

/// Shortens a value for messages, since it may be a digest.
fn short(value: &str) -> &str {
    const LONGEST: usize = 20;
    value.char_indices().nth(LONGEST).map_or(value, |(at, _)| &value[..at])
}
