//! Renders remeasurements for people and for programs.

pub(super) mod human;
pub(super) mod json;

use crate::base::words::{count, plural};
use crate::gpu::judge::percent;
use crate::gpu::outcome::{Remeasured, Sample};

/// Returns the verdicts on all tables in one line.
pub(super) fn headline(remeasured: &Remeasured) -> String {
    let tables: Vec<String> = remeasured.samples.iter().map(verdict).collect();
    let left = match remeasured.unmeasured.len() {
        0 => String::new(),
        n => format!("; {} not measured", plural(n, "table")),
    };
    format!("measured again on {}: {}{left}", remeasured.about.name, tables.join(", "))
}

/// Returns the verdict on one table, such as `PASS (+0.3 %, 60 points)`.
fn verdict(sample: &Sample) -> String {
    let v = &sample.verdict;
    let bias = if v.bias.is_finite() { percent(v.bias) } else { "nothing compared".into() };
    let left = match sample.draw.proxies {
        0 => String::new(),
        rows => format!("; {} rows left out", count(rows)),
    };
    format!("{} ({bias}, {}{left})", v.outcome.name(), plural(v.judged, "point"))
}
