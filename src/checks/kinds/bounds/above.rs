//! Measurements that no machine of the system can need: a counter that wrapped, a hang, another unit.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::Scope;
use crate::base::words::{count, plural_verb};
use crate::checks::{Judge, Judged, RowContext};
use crate::findings::Hits;

/// Limits for the check of latencies that are far longer than any machine of the system needs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FarAbove {
    /// A row is reported if its latency is at least this many times its longest bound.
    times: f64,
    /// The shortest bound in ms with which a latency is compared. A shorter bound is replaced by this value, since
    /// every launch takes some time.
    floor_ms: f64,
}

impl Judge for FarAbove {
    /// Reports rows whose latency is many times the longest of their bounds.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let spec = rows.spec;
        let Some(latency) = spec.latency.first().filter(|_| !spec.bounds.is_empty()) else {
            return Ok(Hits::new());
        };
        let mut far: Vec<(usize, f64)> = Vec::new();
        for (start, part) in rows.scope().parts() {
            let measured = latency.value.numbers(&part)?;
            let least = self.times * self.floor_ms;
            if (0..part.rows()).all(|i| measured.get(i) < least || measured.get(i).is_nan()) {
                continue;
            }
            let bounds = &rows.longest_bounds()?[start..start + part.rows()];
            for (i, bound) in bounds.iter().enumerate() {
                let times = measured.get(i) / bound.max(self.floor_ms);
                if *bound > 0.0 && times >= self.times && times.is_finite() {
                    far.push((start + i, times));
                }
            }
        }
        let all: Vec<usize> = far.iter().map(|(row, _)| *row).collect();
        let columns = ["latency", "kernel_source"];
        Ok(rows.hit(rows.rule.severity, all, columns, move |bad| {
            let own = far.iter().filter(|(row, _)| bad.binary_search(row).is_ok());
            let most = own.map(|(_, times)| *times).fold(0.0, f64::max);
            format!(
                "{} up to {} times as long as the machine needs at least",
                plural_verb(bad.len(), "row", ["takes", "take"]),
                count(most.round() as usize)
            )
        }))
    }
}
