//! Measurements shorter than physics allows: the arithmetic at the machine's peak, the bytes at its
//! bandwidth.

use serde::Deserialize;

use super::{RowContext, plural};
use crate::expr::{ExprError, Scope};
use crate::finding::{EXAMPLES, Finding, Severity};
use crate::system::L2_CACHE;
use crate::table::number_json;

/// How far below a bound a measurement must be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Margins {
    /// Measured over bound; a little under 1, for clocks above the rated ones and timer error.
    reached: f64,
    /// Caches a working set must exceed, for bounds that a cache can beat.
    caches: f64,
}

/// Rows below a bound.
struct Below {
    name: String,
    strict: bool,
    rows: Vec<usize>,
    /// Measured over bound, lowest first, of the rows.
    ratios: Vec<f64>,
}

impl Margins {
    /// Rows below one of the table's bounds; an error where the bound is certain.
    pub fn check(&self, rows: &RowContext<'_>) -> Result<Vec<Finding>, ExprError> {
        let mut below = Vec::new();
        for bound in &rows.at.spec.bounds {
            below.extend(self.below(rows, bound)?);
        }
        // The certain bound speaks first; the others are told beside it.
        below.sort_by_key(|b| !b.strict);
        let Some(first) = below.first() else { return Ok(Vec::new()) };
        let severity = if first.strict {
            rows.rule.severity
        } else {
            rows.rule.severity.at_most(Severity::Warning)
        };
        let told: Vec<String> = below.iter().map(Below::say).collect();
        let shown = &first.rows[..first.rows.len().min(EXAMPLES)];
        let mut examples = rows.examples(shown, &["latency", "kernel_source"]);
        for (example, ratio) in examples.iter_mut().zip(&first.ratios) {
            example.values.push(("reached".into(), number_json(*ratio)));
        }
        let finding = rows.finding_as(severity, told.join("; ")).rows(first.rows.len());
        let evidence = |b: &Below| {
            (b.name.clone(), serde_json::json!({"rows": b.rows.len(), "lowest": b.ratios[0]}))
        };
        let by_bound: serde_json::Map<_, _> = below.iter().map(evidence).collect();
        Ok(vec![finding.examples(examples).evidence("bounds", by_bound)])
    }

    fn below(
        &self,
        rows: &RowContext<'_>,
        bound: &crate::spec::Bound,
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
        let (ratios, rows) = found.into_iter().unzip();
        Ok(Some(Below { name: bound.name.clone(), strict: bound.strict, rows, ratios }))
    }
}

impl Below {
    fn say(&self) -> String {
        let sure = if self.strict { "" } else { ", a bound that holds beyond caches" };
        let what = match self.name.as_str() {
            "math" => "the arithmetic alone takes at the peak rate",
            "memory" => "reading its data takes at the memory bandwidth",
            "link" => "moving its data takes at the link's bandwidth",
            other => other,
        };
        let (n, lowest) = (plural(self.rows.len(), "row"), self.ratios[0]);
        format!("{n} take less time than {what}{sure}, down to {lowest:.2} of it")
    }
}
