//! Axes whose sizes are wrong as a whole: off by one, or exchanged with another axis.
//!
//! A decode with a cache of 3 tokens computes the fourth token. A collector that writes 4 puts each measurement one
//! step from where the loader looks for it. If two axes are exchanged, each row is at a key that nobody asks for, or
//! at the key of another measurement.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::upper_median;
use crate::base::words::{count, names, plural, plural_verb};
use crate::checks::compare::sketch::{Sketch, Sketched};
use crate::checks::context::CrossContext;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::findings::Finding;

/// Conditions for an axis to be shifted by one.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisShift {
    /// Minimal number of distinct values of the axis.
    values: usize,
    /// Minimal share of the values that every other backend has when they are shifted.
    matched: f64,
    /// Minimal difference between the share of shifted values that a backend has and its share of the values without
    /// a shift.
    gain: f64,
    /// Minimal number of other backends.
    backends: usize,
}

impl AxisShift {
    /// Makes a finding for each axis of a table that is shifted against every other backend.
    pub fn findings(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Vec<Finding> {
        let Some(own) = at.sketches.get(&file.entry.path) else { return Vec::new() };
        let of_others = at.peers.by_backend.iter();
        let others = || of_others.clone().filter(|(name, _)| **name != file.place.backend);
        let count_others = others().count();
        let has = if count_others == 1 { "has" } else { "have" };
        let mut findings = Vec::new();
        for (axis, values) in own.axes.iter().filter(|(_, values)| values.len() >= self.values) {
            let is_shifted = |by: &i64| {
                count_others >= self.backends
                    && others().all(|(_, tables)| self.is_shifted(axis, values, *by, tables))
            };
            let Some(by) = [1, -1].into_iter().find(is_shifted) else { continue };
            let side = if by > 0 { "above" } else { "below" };
            let theirs = others()
                .flat_map(|(_, tables)| tables)
                .filter_map(|(_, sketch)| sketch.axes.get(axis));
            let alike = |theirs: &&BTreeSet<i64>| (shared(values, by, theirs) * 1e6) as u64;
            let Some(theirs) = theirs.max_by_key(alike) else { continue };
            let shifted = values.iter().filter(|v| theirs.contains(&v.saturating_sub(by))).count();
            let message = format!(
                "column '{axis}' is {}, …, where {} {has} {}, …: {} of {} {side} theirs by one",
                first(values),
                names(others().map(|(name, _)| *name)),
                first(theirs),
                count(shifted),
                plural_verb(values.len(), "value", ["is", "are"]),
            );
            let mut finding = rule.on_table(file, message).evidence("shift", by);
            finding.slice.insert("axis".into(), axis.as_str().into());
            findings.push(finding);
        }
        findings
    }

    /// Returns true if the values less `by` agree with a backend's tables better than the values as they are.
    fn is_shifted(
        &self,
        axis: &str,
        values: &BTreeSet<i64>,
        by: i64,
        tables: &[Sketched<'_>],
    ) -> bool {
        let share = |by| {
            let others = tables.iter().filter_map(|(_, sketch)| sketch.axes.get(axis));
            others.map(|other| shared(values, by, other)).fold(0.0, f64::max)
        };
        share(by) >= self.matched && share(by) >= share(0) + self.gain
    }
}

/// The share of some values, less `by`, that another axis has.
fn shared(values: &BTreeSet<i64>, by: i64, other: &BTreeSet<i64>) -> f64 {
    let shared = values.iter().filter(|v| other.contains(&v.saturating_sub(by))).count();
    shared as f64 / values.len().max(1) as f64
}

/// The first values of an axis, as text.
fn first(values: &BTreeSet<i64>) -> String {
    let first: Vec<String> = values.iter().take(5).map(i64::to_string).collect();
    first.join(", ")
}

/// Conditions for two axes to be exchanged.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisExchange {
    /// Minimal difference between the share of sizes that agree with the axes exchanged and the share that agrees
    /// without exchange, in the median of the references.
    gain: f64,
    /// Share of the sizes that agree as they are with one reference, from which on nothing is exchanged.
    agrees: f64,
    /// Minimal number of other tables of the name.
    references: usize,
}

impl AxisExchange {
    /// Makes a finding on a table with two exchanged axes.
    pub fn finding(
        &self,
        rule: RuleHead<'_>,
        at: &CrossContext<'_>,
        file: &TableFile,
    ) -> Option<Finding> {
        let own = at.sketches.get(&file.entry.path)?;
        let others = || at.peers.elsewhere(file).map(|(_, (_, sketch))| sketch);
        for (a, own_a) in &own.axes {
            for (b, own_b) in own.axes.iter().filter(|(b, _)| *b > a) {
                let Some(count) = self.exchanged((a, b), own, others()) else {
                    continue;
                };
                let message = format!(
                    "columns '{a}' and '{b}' seem to be exchanged: '{a}' is {}, … and '{b}' is {}, …, the other way round than in {}",
                    first(own_a),
                    first(own_b),
                    plural(count, "other table"),
                );
                let mut finding = rule.on_table(file, message).rows(own.rows);
                finding.slice.insert("axis".into(), format!("{a}, {b}").into());
                return Some(finding);
            }
        }
        None
    }

    /// The number of references if two axes are exchanged in the median of them.
    fn exchanged<'s>(
        &self,
        (a, b): (&str, &str),
        own: &Sketch,
        references: impl Iterator<Item = &'s Sketch>,
    ) -> Option<usize> {
        let (own_a, own_b) = (&own.axes[a], &own.axes[b]);
        if own_a == own_b {
            return None;
        }
        let mut gains = Vec::new();
        for reference in references {
            let (Some(a), Some(b)) = (reference.axes.get(a), reference.axes.get(b)) else {
                continue;
            };
            let straight = (common(own_a, a) + common(own_b, b)) / 2.0;
            if straight >= self.agrees {
                return None;
            }
            gains.push((common(own_a, b) + common(own_b, a)) / 2.0 - straight);
        }
        let enough = gains.len() >= self.references && upper_median(&mut gains) >= self.gain;
        enough.then_some(gains.len())
    }
}

/// The share of the values of two axes that both have.
fn common(a: &BTreeSet<i64>, b: &BTreeSet<i64>) -> f64 {
    let both = a.intersection(b).count();
    both as f64 / (a.len() + b.len() - both).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_values_beside_others() {
        let set = |values: &[i64]| values.iter().copied().collect::<BTreeSet<i64>>();
        let (own, other) = (set(&[1, 4, 8, 16, 32]), set(&[0, 3, 7, 15, 31, 63]));
        assert_eq!((shared(&own, 1, &other), shared(&own, 0, &other)), (1.0, 0.0));
        assert_eq!(shared(&other, -1, &own), 5.0 / 6.0);
    }

    /// Synthetic: a table with some sizes.
    fn sketch(isl: &[i64], batch: &[i64]) -> Sketch {
        let axis = |name: &str, sizes: &[i64]| (name.to_owned(), sizes.iter().copied().collect());
        Sketch { axes: [axis("isl", isl), axis("batch", batch)].into(), ..Sketch::default() }
    }

    #[test]
    fn axes_are_exchanged_where_every_reference_has_them_the_other_way_round() {
        let (long, short) = (&[1024, 2048, 4096, 8192][..], &[1, 2, 4, 8, 16][..]);
        let rule = AxisExchange { gain: 0.1, agrees: 0.8, references: 2 };
        let (right, wrong) = (sketch(long, short), sketch(short, long));
        let verdict = |own: &Sketch, references: &[&Sketch]| {
            rule.exchanged(("batch", "isl"), own, references.iter().copied())
        };
        assert_eq!(verdict(&wrong, &[&right, &right]), Some(2));
        assert_eq!(verdict(&right, &[&right, &right]), None);
        assert_eq!(verdict(&wrong, &[&right, &wrong]), None, "one is alike");
        assert_eq!(verdict(&wrong, &[&right]), None, "one reference");
    }
}
