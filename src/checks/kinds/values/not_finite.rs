//! NaN, infinities and nulls among the measurements.

use super::WrongRowsByFault;
use crate::checks::{Judge, Judged, RowContext};
use crate::database::table::Column;

/// The check for NaN, infinities and nulls among the measurements.
pub(crate) struct NotFinite;

impl Judge for NotFinite {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let mut wrong = WrongRowsByFault::default();
        for (name, _) in rows.spec.measures() {
            let Some(column) = rows.column(name) else {
                continue;
            };
            let clean = match column {
                Column::Float { values, .. } => values.iter().all(|v| v.is_finite()),
                Column::Int { nulls, .. } => nulls.is_none(),
                // The rule header-mismatch reports a measurement that is not a number.
                Column::Bool { .. } | Column::Text { .. } | Column::Other(_) => true,
            };
            if clean {
                continue;
            }
            for row in 0..rows.count {
                wrong.add(name, row, no_number(column, row));
            }
        }
        Ok(wrong.hit(rows, rows.rule.severity).into_iter().collect())
    }
}

fn no_number(column: &Column, row: usize) -> Option<&'static str> {
    let value = column.number(row);
    if column.is_null(row) {
        Some("null")
    } else if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some("infinite")
    } else {
        None
    }
}
