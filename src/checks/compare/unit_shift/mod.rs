//! Slices in another unit than the same keys have everywhere else.
//!
//! No machine, backend or version makes a kernel a hundred times slower at the same sizes, so the table
//! is held against every other of its name. A slice that shares its keys with none is held to what one
//! run of a kernel takes at all, and so is every row.

mod alone;
mod over_bound;
mod too_long;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use self::over_bound::least_over_bound;
use self::too_long::too_long;
use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::base::words::{Figure, plural, plural_verb};
use crate::checks::compare::sketch::{Sketch, SketchPoint, Sketched, Slice, slice_id, slice_words};
use crate::checks::context::{CrossContext, RowContext};
use crate::checks::inputs::CheckInputs;
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;
use crate::database::table::number_json;
use crate::findings::{Finding, Hits, Reads, Severity, SliceEvidence, wholes};
use crate::specs::TableSpec;

/// Factors that a unit is off by.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Units")]
pub struct UnitFactors {
    /// Keys that a slice and a reference must share.
    points: usize,
    /// Ratio, or its inverse, from which on a slice is a warning.
    from: f64,
    /// Least and most ratio that is certainly a unit's factor; its inverse too.
    factor: [f64; 2],
    /// Least and greatest latency in ms at which the fastest hundredth of a slice without a reference
    /// ends.
    alone_ms: [f64; 2],
    /// Points of such a slice, at least.
    alone_points: usize,
    /// Tables that are not compared with others.
    except: Vec<String>,
    /// Hours that no measured time exceeds.
    hours: f64,
}

/// How many times nearer than [`UnitFactors::from`] two slices' mean levels may be, by the sizes that only
/// one of them has, without a look at the keys that they share.
const SCREEN: f64 = 5.0;

/// A slice of a table, with the mean of its latencies' logarithms.
#[derive(Clone, Copy)]
struct SliceLevel {
    table: usize,
    /// Its index in the table's sketch.
    slice: u16,
    level: f64,
}

/// A slice that is off.
struct Shifted<'a> {
    slice: &'a Slice,
    index: u16,
    /// Its latency over the references', the middle of them.
    ratio: f64,
    references: usize,
    /// The smallest of the ratios to references that are not too fast themselves; 0 where all are.
    least: f64,
    /// The slice's smallest latency divided by its bound; `None` if nothing bounds it.
    over_bound: Option<f64>,
}

/// The tables of a name.
struct SlicesByName<'a> {
    tables: Vec<Sketched<'a>>,
    slices: BTreeMap<&'a Slice, Vec<SliceLevel>>,
}

impl Judge for UnitFactors {
    fn needs(&self) -> CheckInputs {
        CheckInputs { compares: true, ..CheckInputs::default() }
    }

    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn reads(&self, spec: &TableSpec) -> Reads {
        let measures = spec.measures().map(|(name, _)| name);
        let bounds = spec.bounds.iter().map(|bound| &bound.seconds);
        Reads::columns(measures.chain(spec.loaded_columns()))
            .and_formulas(spec.loaded())
            .and_formulas(bounds)
    }

    /// Rows with a time that no kernel takes.
    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Result<Hits<'v>, ExprError> {
        Ok(too_long(rows, self.hours).into_iter().collect())
    }

    /// One finding for each table with slices in another unit than the others of its name.
    fn cross<'v>(
        &'v self,
        rule: RuleHead<'v>,
        at: &'v CrossContext<'v>,
    ) -> Result<Hits<'v>, ExprError> {
        let tables = at.sketched().filter(|(file, sketch)| {
            !self.except.contains(&file.table) && sketch.points.len() >= self.points
        });
        let namesakes = SlicesByName::new(tables.collect());
        let mut found = Found::new();
        for (number, (file, _)) in namesakes.tables.iter().enumerate() {
            if at.judged(file) {
                found.extend(self.finding(rule, at, &namesakes, number));
            }
        }
        Ok(wholes(found))
    }
}

impl UnitFactors {
    fn finding(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        all: &SlicesByName<'_>,
        number: usize,
    ) -> Option<Finding> {
        let (file, sketch) = all.tables[number];
        let mut shifted = self.shifted(all, number);
        // Hardly any table is read again for its bounds.
        if shifted.iter().any(|s| s.least > self.from) {
            let over_bound = at.reread.over_bound(file);
            shifted.iter_mut().for_each(|s| s.over_bound = over_bound.get(s.slice).copied());
        }
        let Some(worst) = shifted.iter().max_by(|a, b| off(a.ratio).total_cmp(&off(b.ratio)))
        else {
            return self.alone(rule, all, number);
        };
        let [least, most] = self.factor;
        let is_unit = |s: &Shifted<'_>| (least..=most).contains(&off(s.ratio));
        // One reference that is as unlikely may be what is wrong.
        let is_supported =
            |s: &Shifted<'_>| s.references > 1 || self.implausible_end(sketch, s.index).is_some();
        let is_certain = |s: &Shifted<'_>| match s.over_bound.filter(|_| s.least > self.from) {
            Some(over) if over > self.from => true,
            Some(_) => is_unit(s) && is_supported(s),
            None => (is_unit(s) || s.least > self.from) && is_supported(s),
        };
        let certain = shifted.iter().any(is_certain);
        let severity =
            if certain { rule.severity } else { rule.severity.at_most(Severity::Warning) };
        let within = sketch.points.iter();
        let within = within.filter(|p| shifted.iter().any(|s| s.index == p.slice)).count();
        let rows = within as f64 / sketch.points.len().max(1) as f64 * sketch.rows as f64;
        let of = if worst.slice.is_empty() { "the table".into() } else { slice_words(worst.slice) };
        let side = if worst.ratio > 1.0 { "higher" } else { "lower" };
        let over = worst.over_bound.filter(|over| *over > self.from).map(|over| {
            format!(", and at least {:.0} times as long as the machine needs", Figure(over))
        });
        let message = format!(
            "{} probably in another unit: at {of}, latencies are {:.0} times {side} than the median of {} at the same keys{}",
            plural_verb(shifted.len(), "slice", ["is", "are"]),
            Figure(off(worst.ratio)),
            plural(worst.references, "other table"),
            over.unwrap_or_default(),
        );
        let evidence = shifted.iter().map(|s| SliceEvidence {
            slice: s.slice.clone(),
            figure: ("ratio".into(), number_json(s.ratio)),
        });
        let finding = Finding::on_table(rule.id, severity, file, message)
            .rows(rows.round() as usize)
            .parts(shifted.iter().map(|s| slice_id(s.slice)))
            .slices(evidence);
        Some(finding)
    }

    /// The slices of a table that are off by a unit's factor, or more.
    fn shifted<'a>(&self, all: &SlicesByName<'a>, number: usize) -> Vec<Shifted<'a>> {
        let sketch = all.tables[number].1;
        let mut found = Vec::new();
        for (slice, levels) in &all.slices {
            let Some(own) = levels.iter().find(|l| l.table == number) else { continue };
            let others = levels.iter().filter(|l| l.table != number);
            let mut away: Vec<f64> = others.clone().map(|l| (l.level - own.level).abs()).collect();
            if away.is_empty() || upper_median(&mut away) < (self.from / SCREEN).ln() {
                continue;
            }
            let references = others.filter_map(|other| {
                Some((self.log_ratio(sketch, own.slice, all.tables[other.table].1)?, other))
            });
            let references: Vec<(f64, &SliceLevel)> = references.collect();
            let mut ratios: Vec<f64> = references.iter().map(|(ratio, _)| *ratio).collect();
            if let Some(middle) = middle(&mut ratios)
                && middle.abs() >= self.from.ln()
            {
                let [fastest, _] = self.alone_ms;
                let is_too_fast = |other: &SliceLevel| {
                    let end = self.implausible_end(all.tables[other.table].1, other.slice);
                    end.is_some_and(|end| end < fastest)
                };
                let sound = references.iter().filter(|(_, other)| !is_too_fast(other));
                let least = sound.map(|(ratio, _)| *ratio).reduce(f64::min);
                found.push(Shifted {
                    slice,
                    index: own.slice,
                    ratio: middle.exp(),
                    references: ratios.len(),
                    least: least.map_or(0.0, f64::exp),
                    over_bound: None,
                });
            }
        }
        found
    }

    /// The logarithm of a slice's latency over another table's at the keys that both have; none of too few.
    fn log_ratio(&self, own: &Sketch, slice: u16, other: &Sketch) -> Option<f64> {
        let shared =
            own.common(other).filter(|(a, b)| a.slice == slice && is_time(a) && is_time(b));
        let mut ratios: Vec<f64> = shared.map(|(a, b)| a.latency / b.latency).collect();
        (ratios.len() >= self.points).then(|| upper_median(&mut ratios).ln())
    }
}

impl<'a> SlicesByName<'a> {
    fn new(tables: Vec<Sketched<'a>>) -> Self {
        let mut slices: BTreeMap<&Slice, Vec<SliceLevel>> = BTreeMap::new();
        for (table, (_, sketch)) in tables.iter().enumerate() {
            let mut sums = vec![(0_usize, 0.0); sketch.slices.len()];
            for point in sketch.points.iter().filter(|p| is_time(p)) {
                let (points, sum) = &mut sums[point.slice as usize];
                *points += 1;
                *sum += point.log;
            }
            for (slice, (points, sum)) in sums.into_iter().enumerate().filter(|(_, s)| s.0 > 0) {
                let level = SliceLevel { table, slice: slice as u16, level: sum / points as f64 };
                slices.entry(&sketch.slices[slice]).or_default().push(level);
            }
        }
        Self { tables, slices }
    }
}

/// Returns true for a point with a positive, finite latency. Other rules report the rest.
fn is_time(point: &SketchPoint) -> bool {
    point.latency > 0.0 && point.latency.is_finite()
}

/// How many times a ratio is off, up or down.
fn off(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio)
}

/// The middle of some logarithms; of an even number the one that is nearer to nothing, so that of two
/// references both must be off.
fn middle(logs: &mut [f64]) -> Option<f64> {
    logs.sort_by(f64::total_cmp);
    let (below, above) = (*logs.get(logs.len().checked_sub(1)? / 2)?, logs[logs.len() / 2]);
    if below * above <= 0.0 && below != above {
        return Some(0.0);
    }
    Some(if below.abs() < above.abs() { below } else { above })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_references_both_must_be_off() {
        assert_eq!(middle(&mut [6.9]), Some(6.9));
        assert_eq!(middle(&mut [6.9, 0.1]), Some(0.1));
        assert_eq!(middle(&mut [6.9, -6.9]), Some(0.0));
        assert_eq!(middle(&mut [-6.8, -6.9]), Some(-6.8));
        assert_eq!(middle(&mut [6.9, 0.1, 7.0]), Some(6.9));
        assert_eq!(middle(&mut []), None);
    }
}
