//! Power limits that are not the system's.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Readings, hit};
use crate::base::words::{Figure, plural_verb};
use crate::checks::{Judge, Judged, RowContext};
use crate::findings::Hits;
use crate::specs::system::POWER;

/// The largest difference between a row's power limit and the GPU's rating.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitTolerance {
    /// As a share of the rating.
    tolerance: f64,
}

impl Judge for LimitTolerance {
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let rating = rows.figure(POWER);
        let (Some(limit), Some(rating)) = (rows.column("power_limit"), rating) else {
            return Ok(Hits::new());
        };
        let readings = Readings::of(rows);
        // power-out-of-range reports every row of a table that states milliwatts.
        if readings.as_ref().is_some_and(|readings| readings.are_in_milliwatts(Some(rating))) {
            return Ok(Hits::new());
        }
        let limits = limit.numbers(rows.count);
        let wrong = |i: usize| {
            let away = (limits[i] / rating - 1.0).abs();
            (away > self.tolerance || away.is_nan())
                && !limit.is_null(i)
                && (limits[i] != 0.0 || readings.as_ref().is_none_or(|r| r.measured(i)))
        };
        let bad: Vec<usize> = (0..rows.count).filter(|&i| wrong(i)).collect();
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
