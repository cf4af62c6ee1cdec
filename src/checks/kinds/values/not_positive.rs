//! Measurements of zero or less.

use super::WrongRowsByFault;
use crate::checks::{Judge, Judged, RowContext};
use crate::database::table::Column;
use crate::findings::Severity;

/// The check for measurements below zero, and for zeros that the spec does not allow.
pub(crate) struct NotPositive;

impl Judge for NotPositive {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let scope = rows.scope();
        let is_unknown = rows.spec.inferred;
        let mut wrong = WrongRowsByFault::default();
        for (name, _) in rows.spec.measures() {
            let Some(column) = rows.column(name) else {
                continue;
            };
            let clean = match column {
                Column::Float { values, .. } => values.iter().all(|v| *v > 0.0 || v.is_nan()),
                Column::Int { values, .. } => values.iter().all(|v| *v > 0),
                Column::Bool { .. } | Column::Text { .. } | Column::Other(_) => true,
            };
            if clean {
                continue;
            }
            let zero = rows.spec.zero.get(name).map(|z| z.mask(scope)).transpose()?;
            for row in 0..rows.count {
                let why = match column.number(row) {
                    v if v < 0.0 => Some("below zero"),
                    // Without a spec it is not known whether zeros are wrong.
                    0.0 if !is_unknown && !zero.as_ref().is_some_and(|z| z.get(row)) => {
                        Some("zero")
                    }
                    _ => None,
                };
                wrong.add(name, row, why);
            }
        }
        // A column that no lookup reads misleads only people.
        let read =
            |c: &String| rows.spec.latency.iter().any(|l| l.value.columns().contains(&c.as_str()));
        let severity = if is_unknown || wrong.columns.iter().any(read) {
            rows.rule.severity
        } else {
            rows.rule.severity.at_most(Severity::Warning)
        };
        Ok(wrong.hit(rows, severity).into_iter().collect())
    }
}
