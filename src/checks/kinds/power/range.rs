//! Power readings that cannot be a power, or exceed the limit.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Readings;
use crate::base::expr::ExprError;
use crate::base::words::plural_verb;
use crate::checks::{Judge, Judged, RowContext};
use crate::database::catalog::Format;
use crate::findings::{EXAMPLES, Hits, Severity, wholes};
use crate::specs::system::POWER;

/// The columns that the examples of a finding show.
const COLUMNS: &[&str] = &["power", "power_limit"];

/// The check for power readings that are negative, zero, or above the power limit by more than the meter's error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Meter")]
pub struct PowerMeter {
    /// The meter's error as a share of the reading; NVML's documentation says 5 %.
    error: f64,
}

impl Judge for PowerMeter {
    /// Reports power readings that are zero, negative or above the power limit. The hit is an info if each reported
    /// reading is a zero in a row whose time is zero, too. Nulls are reported if the loader refuses them.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let Some(readings) = Readings::of(rows) else {
            return Ok(Hits::new());
        };
        let rating = rows.figure(POWER);
        if readings.are_in_milliwatts(rating) {
            let message = |rows: &[usize]| {
                let rows = plural_verb(rows.len(), "row", ["is", "are"]);
                format!("power and power_limit of {rows} in milliwatts, not in watts")
            };
            return Ok(rows.hit(rows.rule.severity, 0..rows.count, COLUMNS, message));
        }
        let mut hits = Hits::new();
        if rows.file.format == Format::Parquet {
            let nulls = (0..rows.count).filter(|row| readings.column.is_null(*row));
            let message = |rows: &[usize]| {
                format!(
                    "{} a null in power, for which the planner cannot load the table: 0.0 under a limit of 0.0 says that \
                     power was not measured",
                    plural_verb(rows.len(), "row", ["has", "have"])
                )
            };
            // One null makes the loader refuse the table, so this finding is not divided by rows.
            let nulls: Vec<usize> = nulls.collect();
            if !nulls.is_empty() {
                let examples = rows.examples(&nulls[..nulls.len().min(EXAMPLES)], COLUMNS);
                let finding = rows.finding(message(&nulls)).rows(nulls.len());
                hits.extend(wholes([finding.examples(examples)]));
            }
        }
        // A null is allowed, but NaN and infinity are not readings.
        let wrong = |i: usize| {
            let (read, limit) = (readings.power[i], readings.limit(i, rating));
            readings.measured(i)
                && (!read.is_finite()
                    || read <= 0.0
                    || limit.is_some_and(|l| read > l * (1.0 + self.error)))
        };
        let bad: Vec<usize> = (0..rows.count).filter(|&i| wrong(i)).collect();
        if bad.is_empty() {
            return Ok(hits);
        }
        let (clamped, bad) = self.clamped(rows, &readings, bad)?;
        if bad.is_empty() {
            let message = |rows: &[usize]| {
                format!(
                    "{} a power of zero and a time of zero: a difference of two times was clamped",
                    plural_verb(rows.len(), "row", ["has", "have"])
                )
            };
            let info = rows.rule.severity.at_most(Severity::Info);
            hits.extend(rows.hit(info, clamped, COLUMNS, message));
            return Ok(hits);
        }
        let percent = self.error * 100.0;
        let message = move |bad: &[usize]| {
            format!(
                "{} a power of zero or less, or more than {percent} % (the error of the meter) above the limit",
                plural_verb(bad.len(), "row", ["has", "have"])
            )
        };
        hits.extend(rows.hit(rows.rule.severity, bad, COLUMNS, message));
        Ok(hits)
    }
}

impl PowerMeter {
    /// Splits the rows with implausible power in two lists: rows whose power and time are both zero, and all other
    /// rows.
    fn clamped(
        &self,
        rows: &RowContext<'_>,
        readings: &Readings<'_>,
        bad: Vec<usize>,
    ) -> Result<(Vec<usize>, Vec<usize>), ExprError> {
        let Some(latency) = rows.spec.latency.first() else { return Ok((Vec::new(), bad)) };
        let times = latency.value.numbers(rows.scope())?;
        Ok(bad.into_iter().partition(|i| readings.power[*i] == 0.0 && times.get(*i) == 0.0))
    }
}
