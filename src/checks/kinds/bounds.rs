//! Measurements shorter than physics allows: the arithmetic at the machine's peak, the bytes at its
//! bandwidth.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::{Expr, ExprError, Scope};
use crate::base::words::plural;
use crate::checks::RowContext;
use crate::checks::judge::{Found, Judge};
use crate::database::table::number_json;
use crate::findings::{EXAMPLES, Finding, Half, Reads, Severity};
use crate::specs::TableSpec;
use crate::specs::system::L2_CACHE;

/// How far below a bound a measurement must be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Margins")]
pub struct BoundMargins {
    /// Measured over bound; a little under 1, for clocks above the rated ones and timer error.
    reached: f64,
    /// Caches a working set must exceed, for bounds that a cache can beat.
    caches: f64,
}

/// Rows below a bound.
struct Below {
    name: String,
    strict: bool,
    /// Measured over bound, lowest first, and the row.
    points: Vec<(f64, usize)>,
}

impl Judge for BoundMargins {
    fn reads(&self, spec: &TableSpec) -> Reads {
        let bounds = spec.bounds.iter().flat_map(|b| b.working_set.iter().chain([&b.seconds]));
        let bounds = bounds.flat_map(Expr::columns);
        Reads::columns(spec.loaded_columns().into_iter().chain(bounds))
    }

    /// Rows below one of the table's bounds; an error where the bound is certain.
    fn table(&self, rows: &RowContext<'_>) -> Result<Found, ExprError> {
        let mut below = Vec::new();
        for bound in &rows.at.spec.bounds {
            below.extend(self.below(rows, bound)?);
        }
        // The certain bound speaks first; the others are told beside it.
        below.sort_by_key(|b| !b.strict);
        let mut findings = Found::new();
        for half in rows.halves() {
            let part: Vec<Below> = below.iter().filter_map(|b| b.half(&half)).collect();
            let Some(first) = part.first() else { continue };
            let all = below.iter().find(|b| b.name == first.name).map_or(0, |b| b.points.len());
            findings.extend(finding(rows, &part).map(|finding| finding.half(&half, all)));
        }
        Ok(findings)
    }
}

impl BoundMargins {
    fn below(
        &self,
        rows: &RowContext<'_>,
        bound: &crate::specs::Bound,
    ) -> Result<Option<Below>, ExprError> {
        let Some(latency) = rows.at.spec.latency.first() else { return Ok(None) };
        let cache = rows.at.system.and_then(|s| s.figure(L2_CACHE));
        let least = match (&bound.working_set, cache) {
            (None, _) => 0.0,
            (Some(_), Some(cache)) => self.caches * cache,
            // Without the cache's size nothing is known to be beyond it.
            (Some(_), None) => return Ok(None),
        };
        let mut found: Vec<(f64, usize)> = Vec::new();
        for (start, part) in rows.scope().parts() {
            let seconds = bound.seconds.numbers(&part)?;
            let measured = latency.value.numbers(&part)?;
            let set = bound.working_set.as_ref().map(|s| s.numbers(&part)).transpose()?;
            found.extend((0..part.rows()).filter_map(|i| {
                let (bound, measured) = (seconds.get(i) * 1e3, measured.get(i));
                // Zero and less are latency-not-positive's; a bound that is not known is NaN.
                let ratio = measured / bound;
                let short = measured > 0.0 && ratio < self.reached;
                let counts = short && set.as_ref().is_none_or(|s| s.get(i) > least);
                counts.then_some((ratio, start + i))
            }));
        }
        if found.is_empty() {
            return Ok(None);
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Ok(Some(Below { name: bound.name.clone(), strict: bound.strict, points: found }))
    }
}

/// One finding with the rows below each bound, the first of which decides.
fn finding(rows: &RowContext<'_>, below: &[Below]) -> Option<Finding> {
    let first = below.first()?;
    let severity = if first.strict {
        rows.rule.severity
    } else {
        rows.rule.severity.at_most(Severity::Warning)
    };
    let told: Vec<String> = below.iter().map(Below::say).collect();
    let shown: Vec<usize> = first.points.iter().map(|p| p.1).take(EXAMPLES).collect();
    let mut examples = rows.examples(&shown, &["latency", "kernel_source"]);
    for (example, (ratio, _)) in examples.iter_mut().zip(&first.points) {
        example.values.push(("reached".into(), number_json(*ratio)));
    }
    let finding = rows.finding_as(severity, told.join("; ")).rows(first.points.len());
    let evidence = |b: &Below| {
        (b.name.clone(), serde_json::json!({"rows": b.points.len(), "lowest": b.points[0].0}))
    };
    let by_bound: serde_json::Map<_, _> = below.iter().map(evidence).collect();
    let named = first.points.iter().map(|(_, row)| *row);
    Some(finding.examples(examples).evidence("bounds", by_bound).naming(named))
}

impl Below {
    /// What of it is of a half, if anything is.
    fn half(&self, half: &Half<'_>) -> Option<Self> {
        let points: Vec<_> = self.points.iter().copied().filter(|p| half.has(p.1)).collect();
        if points.is_empty() {
            return None;
        }
        Some(Self { name: self.name.clone(), strict: self.strict, points })
    }

    fn say(&self) -> String {
        let sure = if self.strict { "" } else { ", a bound that holds beyond caches" };
        let what = match self.name.as_str() {
            "math" => "the arithmetic alone takes at the peak rate",
            "memory" => "reading its data takes at the memory bandwidth",
            "link" => "moving its data takes at the link's bandwidth",
            other => other,
        };
        let (n, lowest) = (plural(self.points.len(), "row"), self.points[0].0 * 100.0);
        format!("{n} take less time than {what}{sure}, down to {lowest:.1} % of it")
    }
}
