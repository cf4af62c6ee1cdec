//! Measurements shorter than physics allows: the arithmetic at the machine's peak, the bytes at its
//! bandwidth.

mod above;
mod missing;

use schemars::JsonSchema;
use serde::Deserialize;

use self::missing::resource;
use crate::base::expr::{ExprError, Scope, Vals};
use crate::base::words::{Figure, count, plural};
use crate::checks::{Judge, Judged, RowContext};
use crate::database::table::number_json;
use crate::findings::{EXAMPLES, Example, Finding, Hit, HitPart, RowHit, Severity};
use crate::specs::Bound;
use crate::specs::system::{L2_CACHE, MEMORY_BANDWIDTH};

pub(crate) use self::above::FarAbove;

/// Limits for the check of measured times that are shorter than a bound allows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Margins")]
pub struct BoundMargins {
    /// A row is reported if its measured time divided by the bound is below this ratio. The ratio is slightly below 1,
    /// since timers have errors and a GPU may exceed its rated clock.
    reached: f64,
    /// For bounds such as memory bandwidth, a row is judged only if its data is larger than this many times the L2
    /// cache. Data that fits the cache can be read faster than the bound.
    caches: f64,
    /// A measured time is certainly wrong if it is below this share of a shorter bound, which counts only the data that
    /// does not fit the L2 cache.
    past_cache: f64,
}

#[derive(Clone, Copy)]
struct BelowRow {
    /// Measured time divided by the bound.
    ratio: f64,
    row: usize,
    /// True if only an error of the measurement can explain the time.
    certain: bool,
}

/// The rows that are faster than a bound allows, in ascending order of measured time divided by bound.
struct RowsBelowBound<'a> {
    bound: &'a Bound,
    rows: Vec<BelowRow>,
}

impl Judge for BoundMargins {
    /// Reports rows that are faster than a bound of the table allows. The severity is an error if some times can only
    /// be explained by an error of the measurement, otherwise a warning.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let mut below = Vec::new();
        for bound in &rows.spec.bounds {
            below.extend(self.below(rows, bound)?);
        }
        let graded: Vec<RowHit> = below.iter().flat_map(|below| below.hits(rows)).collect();
        let hit = Hit::graded(rows.file, graded, move |part| {
            let mut below: Vec<RowsBelowBound<'_>> =
                below.iter().filter_map(|b| b.within(part)).collect();
            // Bounds with certain rows decide the severity, so they come first in the message.
            below.sort_by_key(|b| !b.certain());
            finding(rows, &below)
        });
        Ok(hit.into_iter().chain(missing::hits(rows)?).collect())
    }
}

impl BoundMargins {
    fn below<'a>(
        &self,
        rows: &RowContext<'_>,
        bound: &'a Bound,
    ) -> Result<Option<RowsBelowBound<'a>>, ExprError> {
        let Some(latency) = rows.spec.latency.first() else { return Ok(None) };
        let cache = match &bound.working_set {
            None => 0.0,
            Some(_) => match rows.figure(L2_CACHE) {
                Some(cache) => cache,
                // Without the size of the cache it is not known which working sets exceed it.
                None => return Ok(None),
            },
        };
        let longest = rows.longest_bounds()?;
        let mut found: Vec<BelowRow> = Vec::new();
        for (start, part) in rows.scope().parts() {
            let measured = latency.value.numbers(&part)?;
            // Nearly every part ends here, since all of its rows exceed the longest bound.
            let longest = &longest[start..start + part.rows()];
            if !(0..).zip(longest).any(|(i, longest)| self.is_below(measured.get(i), *longest)) {
                continue;
            }
            let seconds = bound.seconds.numbers(&part)?;
            let set = bound.working_set.as_ref().map(|s| s.numbers(&part)).transpose()?;
            let all = rows.spec.bounds.iter().map(|bound| bound.seconds.numbers(&part));
            let all: Vec<Vals<'_, f64>> = all.collect::<Result<_, _>>()?;
            for i in 0..part.rows() {
                let (bounding, measured) = (seconds.get(i) * 1e3, measured.get(i));
                let ratio = measured / bounding;
                let least = self.caches * cache;
                // A kernel without arithmetic or data has a size of 0, which key-out-of-range reports.
                let is_empty = all.iter().any(|seconds| seconds.get(i) <= 0.0);
                if is_empty
                    || !self.is_below(measured, bounding)
                    || !set.as_ref().is_none_or(|s| s.get(i) > least)
                {
                    continue;
                }
                // All data that fits the cache may have been there already.
                let past = |set: f64| ratio < self.past_cache * (1.0 - cache / set);
                let certain = bound.strict && set.as_ref().is_none_or(|s| past(s.get(i)));
                found.push(BelowRow { ratio, row: start + i, certain });
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        found.sort_by(|a, b| a.ratio.total_cmp(&b.ratio).then(a.row.cmp(&b.row)));
        Ok(Some(RowsBelowBound { bound, rows: found }))
    }

    /// Returns true if a measured time in ms is below a bound in ms. Returns false for times of zero or less, which the
    /// rule latency-not-positive reports, and for bounds that are negative or unknown (NaN).
    fn is_below(&self, measured: f64, bounding: f64) -> bool {
        (measured > 0.0) & (bounding > 0.0) & (measured / bounding < self.reached)
    }
}

/// Returns the severity for rows below a bound: the rule's severity if `certain` is true, otherwise at most a warning.
/// `certain` means that only an error of the measurement can explain some of the times.
fn grade(rows: &RowContext<'_>, certain: bool) -> Severity {
    if certain { rows.rule.severity } else { rows.rule.severity.at_most(Severity::Warning) }
}

/// Returns one finding on the rows below the given bounds. The rows of the first bound decide its severity.
fn finding(rows: &RowContext<'_>, below: &[RowsBelowBound<'_>]) -> Option<Finding> {
    let certain = below.first()?.certain();
    let severity = grade(rows, certain);
    let told: Vec<String> = below.iter().map(|b| b.say(rows)).collect();
    let deciding: Vec<&RowsBelowBound<'_>> =
        below.iter().filter(|b| b.certain() == certain).collect();
    let each = EXAMPLES.div_ceil(deciding.len().max(1));
    let examples = deciding.iter().flat_map(|b| b.examples(rows, each)).take(EXAMPLES).collect();
    let mut decisive: Vec<usize> = deciding.iter().flat_map(|b| &b.rows).map(|r| r.row).collect();
    decisive.sort_unstable();
    decisive.dedup();
    let finding = rows.finding_as(severity, told.join("; ")).rows(decisive.len());
    let by_bound: serde_json::Map<_, _> = below.iter().map(RowsBelowBound::evidence).collect();
    Some(finding.examples(examples).evidence("bounds", by_bound))
}

impl<'a> RowsBelowBound<'a> {
    /// Returns the rows below the bound, each with its severity.
    fn hits(&self, rows: &RowContext<'_>) -> impl Iterator<Item = RowHit> {
        let grade = grade(rows, self.certain());
        self.rows.iter().map(move |below| RowHit { row: below.row, grade })
    }

    /// Returns a copy that has only the rows in `part`; `None` if no rows remain.
    fn within(&self, part: &HitPart<'_>) -> Option<Self> {
        let rows: Vec<_> = self.rows.iter().copied().filter(|r| part.has(r.row)).collect();
        if rows.is_empty() {
            return None;
        }
        Some(Self { bound: self.bound, rows })
    }

    fn certain(&self) -> bool {
        self.rows.iter().any(|r| r.certain)
    }

    fn lowest(&self) -> f64 {
        self.rows.first().map_or(1.0, |r| r.ratio)
    }

    fn examples(&self, rows: &RowContext<'_>, most: usize) -> Vec<Example> {
        let shown: Vec<usize> = self.rows.iter().map(|r| r.row).take(most).collect();
        let mut examples = rows.examples(&shown, &["latency", "kernel_source"]);
        for (example, row) in examples.iter_mut().zip(&self.rows) {
            example.values.push(("reached".into(), number_json(row.ratio)));
        }
        examples
    }

    fn evidence(&self) -> (String, serde_json::Value) {
        let certain = self.rows.iter().filter(|r| r.certain).count();
        let figures = serde_json::json!({
            "rows": self.rows.len(), "certain": certain, "lowest": self.lowest(),
        });
        (self.bound.name.clone(), figures)
    }

    fn say(&self, rows: &RowContext<'_>) -> String {
        let cache = self.bound.working_set.is_some();
        let certain = self.rows.iter().filter(|r| r.certain).count();
        let sure = match certain {
            _ if !cache => String::new(),
            0 => "; this bound assumes that caches do not help".to_owned(),
            all if all == self.rows.len() => "; no cache explains this".to_owned(),
            some => format!("; no cache explains {} of them", count(some)),
        };
        let what = resource(self.bound);
        let (n, lowest) = (plural(self.rows.len(), "row"), self.lowest());
        let takes = if self.rows.len() == 1 { "takes" } else { "take" };
        let mut said = format!(
            "{n} {takes} less time than {what}, down to {:.1} % of it",
            Figure(lowest * 100.0)
        );
        if cache
            && self.bound.name == "memory"
            && let Some(rated) = rows.figure(MEMORY_BANDWIDTH)
        {
            // Data sheets give bandwidths in terabytes per second.
            let (needed, rated) = (rated / lowest / 1e12, rated / 1e12);
            said += &format!(" ({:.1} TB/s on a GPU of {rated:.1} TB/s)", Figure(needed));
        }
        said + &sure
    }
}
