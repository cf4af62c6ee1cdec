//! Power readings against their limit, and the limit against the machine.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::words::plural;
use crate::checks::RowContext;
use crate::findings::{EXAMPLES, Finding, Half};

/// How far a reading may stand above its limit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Meter {
    /// The meter's error as a share of the reading; NVML's documentation says 5 %.
    error: f64,
}

impl Meter {
    /// Power at or below zero, or above its limit by more than the meter's error.
    pub fn check(&self, rows: &RowContext<'_>) -> Result<Vec<Finding>, ExprError> {
        let Some(power) = rows.table.column("power") else {
            return Ok(Vec::new());
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

/// How far a row's limit may differ from the machine's rating.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitTolerance {
    /// As a share of the rating.
    tolerance: f64,
}

impl LimitTolerance {
    /// Power limits that are not the system's.
    pub fn check(&self, rows: &RowContext<'_>) -> Result<Vec<Finding>, ExprError> {
        let rating = rows.at.system.and_then(|s| s.figure("gpu.power"));
        let (Some(limit), Some(rating)) = (rows.table.column("power_limit"), rating) else {
            return Ok(Vec::new());
        };
        let wrong = |i: usize| {
            let away = (limit.number(i) / rating - 1.0).abs();
            !limit.is_null(i) && (away > self.tolerance || away.is_nan())
        };
        let bad: Vec<usize> = (0..rows.table.rows).filter(|&i| wrong(i)).collect();
        let message = |bad: &[usize]| {
            format!(
                "{} measured under a power limit of {} W, the system's is {rating} W",
                plural(bad.len(), "row"),
                limit.number(bad[0])
            )
        };
        Ok(findings(rows, &bad, &["power_limit"], message))
    }
}

/// The findings on rows, with the columns that show what is wrong.
fn findings(
    rows: &RowContext<'_>,
    bad: &[usize],
    columns: &[&str],
    message: impl Fn(&[usize]) -> String,
) -> Vec<Finding> {
    let half = |half: Half<'_>| {
        let part = half.of(bad);
        let shown = &part[..part.len().min(EXAMPLES)];
        let finding = || rows.finding(message(&part)).rows(part.len());
        (!part.is_empty())
            .then(|| finding().examples(rows.examples(shown, columns)).half(&half, bad.len()))
    };
    rows.halves().filter_map(half).collect()
}
