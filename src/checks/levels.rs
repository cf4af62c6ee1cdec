//! The level of a table's slices against the same slices of its siblings on the same machine:
//! slices in another unit, and slices that stand apart.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value as Json;

use super::{CrossContext, plural};
use crate::catalog::{Catalog, TableFile};
use crate::finding::Finding;
use crate::sketch::{Sketch, Sketches, Slice};
use crate::spec::Rule;

/// How far slices of siblings stand apart on the database, and when one stands out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Points that a slice and its sibling must share.
    points: usize,
    /// Ratio between backends that few pairs exceed.
    backends: f64,
    /// Ratio between versions of a backend that few pairs exceed.
    versions: f64,
    /// Independent references that a slice must stand apart from.
    references: usize,
}

/// Factors that a unit is off by.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Units {
    /// Points that a slice and its sibling must share.
    points: usize,
    /// Least and most ratio that is taken for a unit's factor; its inverse too.
    factor: [f64; 2],
    /// Independent references that must all agree.
    references: usize,
}

/// A slice's names and values, and the slice's level over each reference's: other backends are one
/// each, the versions of a table's own backend are one together.
pub type Levels = BTreeMap<Slice, BTreeMap<String, f64>>;

impl Band {
    /// One finding for each table with slices that stand apart from their siblings.
    pub fn check(&self, rule: &Rule, at: &CrossContext<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        let levels = at.levels(self.points);
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let apart = |refs: &BTreeMap<String, f64>| {
                let far = |(name, ratio): &(&String, &f64)| {
                    let band =
                        if **name == file.place.backend { self.versions } else { self.backends };
                    ratio.max(1.0 / *ratio) > band
                };
                let far: Vec<f64> = refs.iter().filter(far).map(|(_, r)| *r).collect();
                let one_way = far.iter().all(|r| *r > 1.0) || far.iter().all(|r| *r < 1.0);
                far.len() >= self.references && one_way
            };
            let slices = chosen(&levels, file, apart);
            found.extend(finding(rule, at, file, slices, "its siblings on the same system"));
        }
        found
    }
}

impl Units {
    /// One finding for each table with slices in another unit than all their siblings.
    pub fn check(&self, rule: &Rule, at: &CrossContext<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        let levels = at.levels(self.points);
        for file in at.catalog.tables.iter().filter(|f| at.judged(f)) {
            let [least, most] = self.factor;
            let shifted = |refs: &BTreeMap<String, f64>| {
                let up = refs.values().all(|r| (least..=most).contains(r));
                let down = refs.values().all(|r| (least..=most).contains(&(1.0 / r)));
                refs.len() >= self.references && (up || down)
            };
            let slices = chosen(&levels, file, shifted);
            found.extend(finding(
                rule,
                at,
                file,
                slices,
                "every sibling, which is a unit's factor",
            ));
        }
        found
    }
}

/// The slices of a table whose references `choose` picks.
fn chosen(
    levels: &BTreeMap<String, Levels>,
    file: &TableFile,
    choose: impl Fn(&BTreeMap<String, f64>) -> bool,
) -> Levels {
    let own = levels.get(&file.entry.path).into_iter().flatten();
    own.filter(|(_, refs)| choose(refs))
        .map(|(slice, refs)| (slice.clone(), refs.clone()))
        .collect()
}

/// The level of each table's slices over those of its references, by the table's path.
pub fn levels(catalog: &Catalog, sketches: &Sketches, points: usize) -> BTreeMap<String, Levels> {
    // Ratios by table, slice and the reference's backend, before their median.
    let mut all: BTreeMap<&str, BTreeMap<&Slice, BTreeMap<&str, Vec<f64>>>> = BTreeMap::new();
    let mut siblings: BTreeMap<(&str, &str), Vec<(&TableFile, &Sketch)>> = BTreeMap::new();
    for file in &catalog.tables {
        if let Some(sketch) = sketches.by_path.get(&file.entry.path) {
            siblings.entry((&file.place.system, &file.table)).or_default().push((file, sketch));
        }
    }
    for files in siblings.values() {
        for (i, (a, of_a)) in files.iter().enumerate() {
            for (b, of_b) in &files[i + 1..] {
                for (slice, ratio) in medians(of_a, of_b, points) {
                    for (of, over, ratio) in [(a, b, ratio), (b, a, 1.0 / ratio)] {
                        let slices = all.entry(&of.entry.path).or_default();
                        let references = slices.entry(slice).or_default();
                        references.entry(&over.place.backend).or_default().push(ratio);
                    }
                }
            }
        }
    }
    let middle = |(name, mut ratios): (&str, Vec<f64>)| (name.to_owned(), median(&mut ratios));
    let slices = |(slice, refs): (&Slice, BTreeMap<&str, Vec<f64>>)| {
        (slice.clone(), refs.into_iter().map(middle).collect())
    };
    all.into_iter()
        .map(|(path, own)| (path.to_owned(), own.into_iter().map(slices).collect()))
        .collect()
}

/// The median of `a` over `b` at the points that both have, by slice of `a`.
fn medians<'a>(a: &'a Sketch, b: &Sketch, points: usize) -> Vec<(&'a Slice, f64)> {
    let mut by_slice: Vec<Vec<f64>> = vec![Vec::new(); a.slices.len()];
    for (a, b) in a.common(b).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0) {
        by_slice[a.slice as usize].push(a.latency / b.latency);
    }
    let enough = a.slices.iter().zip(&mut by_slice).filter(|(_, ratios)| ratios.len() >= points);
    enough.map(|(slice, ratios)| (slice, median(ratios))).collect()
}

/// The middle value (the upper one of two); `values` is not empty.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn finding(
    rule: &Rule,
    at: &CrossContext<'_>,
    file: &TableFile,
    slices: Levels,
    apart: &str,
) -> Option<Finding> {
    let far =
        |refs: &BTreeMap<String, f64>| refs.values().map(|r| r.ln().abs()).fold(0.0, f64::max);
    let (worst, refs) = slices.iter().max_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    let sketch = at.sketches.by_path.get(&file.entry.path)?;
    // Of a large table the sketch holds a part; the share of its points stands for all rows.
    let chosen: BTreeSet<&Slice> = slices.keys().collect();
    let within =
        sketch.points.iter().filter(|p| chosen.contains(&sketch.slices[p.slice as usize])).count();
    let rows =
        (within as f64 / sketch.points.len().max(1) as f64 * sketch.rows as f64).round() as usize;
    let ratios: Vec<String> = refs.iter().map(|(name, r)| format!("{r:.2}× {name}")).collect();
    let names: Vec<String> = worst.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let message = format!(
        "{} apart from {apart}: {} stands at {} (median)",
        plural(slices.len(), "slice"),
        if names.is_empty() { "the table".to_owned() } else { names.join(" ") },
        ratios.join(", ")
    );
    let told: Vec<Json> = slices
        .iter()
        .map(|(slice, refs)| serde_json::json!({"slice": slice, "ratio_over": refs}))
        .collect();
    Some(
        Finding::on_table(&rule.id, rule.severity, file, message)
            .rows(rows)
            .evidence("slices", told),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::Point;

    #[test]
    fn levels_are_medians_over_shared_points() {
        let sketch = |factor: f64, slices: u32| Sketch {
            rows: 60,
            keys: 60,
            points: (0..60)
                .map(|i| Point {
                    hash: i,
                    latency: factor * (1 + i) as f64,
                    slice: i as u32 % slices,
                })
                .collect(),
            slices: (0..slices).map(|s| [("dtype".to_owned(), s.to_string())].into()).collect(),
            end: u64::MAX,
            apart: Vec::new(),
        };
        let levels = medians(&sketch(1000.0, 2), &sketch(1.0, 1), 20)
            .into_iter()
            .map(|(_, ratio)| ratio)
            .collect::<Vec<_>>();
        assert_eq!(levels, [1000.0, 1000.0]);
        assert!(
            medians(&sketch(1.0, 60), &sketch(1.0, 1), 20).is_empty(),
            "one point a slice is too few"
        );
    }
}
