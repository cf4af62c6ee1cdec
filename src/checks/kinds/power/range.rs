//! Power that the limit forbids.

use schemars::JsonSchema;
use serde::Deserialize;

use super::findings;
use crate::base::expr::ExprError;
use crate::base::words::plural;
use crate::checks::RowContext;
use crate::checks::judge::{Found, Judge};
use crate::findings::Reads;
use crate::specs::TableSpec;

/// How far a reading may stand above its limit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Meter")]
pub struct PowerMeter {
    /// The meter's error as a share of the reading; NVML's documentation says 5 %.
    error: f64,
}

impl Judge for PowerMeter {
    fn reads(&self, _: &TableSpec) -> Reads {
        Reads::columns(["power", "power_limit"])
    }

    fn table(&self, rows: &RowContext<'_>) -> Result<Found, ExprError> {
        let Some(power) = rows.table.column("power") else {
            return Ok(Found::new());
        };
        let limit = rows.table.column("power_limit");
        let rating = rows.at.system.and_then(|s| s.figure("gpu.power"));
        // A null is a row without a power reading, which is fine; NaN and infinity are none.
        let wrong = |i: usize| {
            let read = power.number(i);
            let limit = limit.map(|l| l.number(i)).filter(|l| l.is_finite()).or(rating);
            !power.is_null(i)
                && (!read.is_finite()
                    || read <= 0.0
                    || limit.is_some_and(|l| read > l * (1.0 + self.error)))
        };
        let bad: Vec<usize> = (0..rows.table.rows).filter(|&i| wrong(i)).collect();
        let percent = self.error * 100.0;
        let message = |bad: &[usize]| {
            format!(
                "{} with a power of zero or less, or beyond the limit by more than the meter's {percent} %",
                plural(bad.len(), "row")
            )
        };
        Ok(findings(rows, &bad, &["power", "power_limit"], message))
    }
}
