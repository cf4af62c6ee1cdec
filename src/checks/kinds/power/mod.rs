//! Power readings against their limit and against each other, the limit against the machine, and the rows without a
//! reading.

mod coverage;
mod implausible;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::words::{Figure, plural_verb};
use crate::checks::context::RowContext;
use crate::checks::judge::{Judge, Judged};
use crate::database::table::{Column, Table};
use crate::findings::{EXAMPLES, Hit, Hits, Reads, Severity};
use crate::specs::TableSpec;
use crate::specs::system::POWER;

pub use self::coverage::PartialPower;
pub use self::implausible::PowerSigns;

/// The power columns of a table, in watts, one value a row.
struct Readings<'a> {
    column: &'a Column,
    /// NaN where there is none.
    power: Cow<'a, [f64]>,
    limit: Option<Cow<'a, [f64]>>,
}

impl<'a> Readings<'a> {
    /// Returns the readings of a table; `None` without power.
    fn of(table: &'a Table) -> Option<Self> {
        let column = table.column("power")?;
        let limit = table.column("power_limit").map(|limit| limit.numbers(table.rows));
        Some(Self { column, power: column.numbers(table.rows), limit })
    }

    /// Returns true if a row has a reading. A null has none, nor has zero under a limit of zero: collectors
    /// without a meter write that pair.
    fn measured(&self, row: usize) -> bool {
        let is_unread =
            self.power[row] == 0.0 && self.limit.as_ref().is_some_and(|limit| limit[row] == 0.0);
        // What is not a number may be a reading.
        let is_null = || self.power[row].is_nan() && self.column.is_null(row);
        !is_unread && !is_null()
    }

    /// A row's limit, or the GPU's `rating` where it has none.
    fn limit(&self, row: usize, rating: Option<f64>) -> Option<f64> {
        let limit = self.limit.as_ref().map(|limit| limit[row]);
        limit.filter(|limit| limit.is_finite() && *limit > 0.0).or(rating)
    }
}

/// Bad rows, with the columns that show what is wrong with them.
fn hit<'v>(
    rows: &'v RowContext<'v>,
    severity: Severity,
    bad: Vec<usize>,
    columns: &'static [&'static str],
    message: impl Fn(&[usize]) -> String + 'v,
) -> Option<Hit<'v>> {
    Hit::rows(rows.at.file, bad, severity, move |part| {
        let examples = rows.examples(&part.rows[..part.rows.len().min(EXAMPLES)], columns);
        let finding = rows.finding_as(severity, message(part.rows)).rows(part.rows.len());
        Some(finding.examples(examples))
    })
}

/// How far a row's limit may differ from the machine's rating.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitTolerance {
    /// As a share of the rating.
    tolerance: f64,
}

impl Judge for LimitTolerance {
    fn reads(&self, _: &TableSpec) -> Reads {
        Reads::columns(["power", "power_limit"]).and_figures([POWER])
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let rating = rows.figure(POWER);
        let (Some(limit), Some(rating)) = (rows.table.column("power_limit"), rating) else {
            return Ok(Hits::new());
        };
        let readings = Readings::of(rows.table);
        let limits = limit.numbers(rows.table.rows);
        let wrong = |i: usize| {
            let away = (limits[i] / rating - 1.0).abs();
            (away > self.tolerance || away.is_nan())
                && !limit.is_null(i)
                && (limits[i] != 0.0 || readings.as_ref().is_none_or(|r| r.measured(i)))
        };
        let bad: Vec<usize> = (0..rows.table.rows).filter(|&i| wrong(i)).collect();
        let message = move |bad: &[usize]| message(bad.len(), limits[bad[0]], rating);
        Ok(hit(rows, rows.rule.severity, bad, &["power_limit"], message).into_iter().collect())
    }
}

fn message(rows: usize, limit: f64, rating: f64) -> String {
    format!(
        "{} measured under a power limit of {} W, but the limit of the system is {} W",
        plural_verb(rows, "row", ["was", "were"]),
        Figure(limit),
        Figure(rating)
    )
}

/// The columns that show what is wrong.
const COLUMNS: &[&str] = &["power", "power_limit"];

/// How far a reading may stand above its limit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Meter")]
pub struct PowerMeter {
    /// The meter's error as a share of the reading; NVML's documentation says 5 %.
    error: f64,
}

impl Judge for PowerMeter {
    fn reads(&self, spec: &TableSpec) -> Reads {
        let power = ["power", "power_limit"];
        Reads::columns(spec.loaded_columns().into_iter().chain(power)).and_figures([POWER])
    }

    /// Readings that cannot be a power, or exceed the limit; an info where they are zero because the time is.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let Some(readings) = Readings::of(rows.table) else {
            return Ok(Hits::new());
        };
        let rating = rows.figure(POWER);
        // A row without a reading is fine; NaN and infinity are none.
        let wrong = |i: usize| {
            let (read, limit) = (readings.power[i], readings.limit(i, rating));
            readings.measured(i)
                && (!read.is_finite()
                    || read <= 0.0
                    || limit.is_some_and(|l| read > l * (1.0 + self.error)))
        };
        let bad: Vec<usize> = (0..rows.table.rows).filter(|&i| wrong(i)).collect();
        if bad.is_empty() {
            return Ok(Hits::new());
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
            return Ok(hit(rows, info, clamped, COLUMNS, message).into_iter().collect());
        }
        let percent = self.error * 100.0;
        let message = move |bad: &[usize]| {
            format!(
                "{} a power of zero or less, or more than {percent} % (the error of the meter) above the limit",
                plural_verb(bad.len(), "row", ["has", "have"])
            )
        };
        Ok(hit(rows, rows.rule.severity, bad, COLUMNS, message).into_iter().collect())
    }
}

impl PowerMeter {
    /// Splits off rows whose power is zero where their time is.
    fn clamped(
        &self,
        rows: &RowContext<'_>,
        readings: &Readings<'_>,
        bad: Vec<usize>,
    ) -> Result<(Vec<usize>, Vec<usize>), ExprError> {
        let Some(latency) = rows.at.spec.latency.first() else { return Ok((Vec::new(), bad)) };
        let times = latency.value.numbers(rows.scope)?;
        let is_clamped = |i: &usize| readings.power[*i] == 0.0 && times.get(*i) == 0.0;
        Ok(bad.into_iter().partition(is_clamped))
    }
}
