//! Times that no single call of a kernel takes.

use crate::base::words::{Figure, names, plural};
use crate::checks::context::RowContext;
use crate::findings::Hits;
use crate::specs::Unit;

const HOUR_MS: f64 = 3.6e6;

/// Returns a hit on rows with a measured time above `hours`; empty without such rows. Infinite times are left to the
/// rule latency-not-finite.
pub(super) fn too_long<'v>(rows: &'v RowContext<'v>, hours: f64) -> Hits<'v> {
    let mut columns = Vec::new();
    let mut longest_ms = vec![0.0_f64; rows.count];
    for (name, unit) in rows.spec.measures() {
        let ms = match unit {
            Unit::Ms => 1.0,
            Unit::Us => 1e-3,
            Unit::GBs | Unit::Tflops | Unit::W => continue,
        };
        let Some(column) = rows.column(name) else { continue };
        let is_long = |time: f64| time.is_finite() && time * ms > hours * HOUR_MS;
        let values = column.numbers(rows.count);
        if !values.iter().fold(false, |any, time| any | is_long(*time)) {
            continue;
        }
        columns.push(name);
        for (longest, time) in longest_ms.iter_mut().zip(&values[..]) {
            if is_long(*time) {
                *longest = longest.max(time * ms);
            }
        }
    }
    let all: Vec<usize> = (0..longest_ms.len()).filter(|row| longest_ms[*row] > 0.0).collect();
    rows.hit(rows.rule.severity, all, columns.clone(), move |bad| {
        let longest = bad.iter().map(|row| longest_ms[*row]).fold(0.0, f64::max);
        format!(
            "{} above {} in {}, up to {:.1} hours: no kernel takes that long",
            names(columns.iter().copied()),
            plural_hours(hours),
            plural(bad.len(), "row"),
            Figure(longest / HOUR_MS),
        )
    })
}

/// Formats a number of hours: `an hour`, `2 hours`.
fn plural_hours(hours: f64) -> String {
    if hours == 1.0 { "an hour".to_owned() } else { format!("{} hours", Figure(hours)) }
}
