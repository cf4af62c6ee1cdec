//! Differences in differences: what a slice takes over its siblings here, against the same on other systems.
//!
//! Say vllm's GEMMs take 1.3 times sglang's on three systems and 2.0 times on a fourth. Neither the machine
//! nor the backend explains that: the machine is in both tables of a system, the backend in the tables of
//! all systems. So what is left is a table that is off, and far less of it shows than by its level alone.
//!
//! A sibling W' is the same table of another backend or version on the system. The residual over a sibling
//! is the level over it here less the level over it on the other systems, in logarithms. A residual that
//! most of the siblings reach is the table's own.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use tracing::debug;

use crate::base::stats::{median, upper_median};
use crate::checks::CrossContext;
use crate::checks::compare::sketch::{Sketch, Slice};
use crate::database::catalog::TableFile;

/// When a slice is off by differences in differences.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DifferenceBand {
    /// Ratio against systems of the generation that few slices exceed.
    pub(super) generation: f64,
    /// Ratio against any systems, where none of the generation has the siblings. Only a slow slice is off
    /// by it: a new generation has faster kernels.
    pub(super) any: f64,
    /// Ratio at the short end of the slice, against systems of the generation.
    pub(super) short: f64,
    /// Ratio from which on a slice is told as an info.
    pub(super) info: f64,
    /// Siblings that must agree; of more of them three of four.
    siblings: usize,
}

/// Share of the points of a slice, the fastest, that are its short end; an overhead shows there.
const SHORT_END: usize = 4;
/// Two levels that differ by less are of one measurement.
const SAME: f64 = 1e-6;

/// The level of a slice over a sibling's, in logarithms.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// The median of all points that both have.
    all: f64,
    /// That of the shortest quarter of them; none where that is too few.
    short: Option<f64>,
}

/// How far a slice is off by the differences of its siblings on other systems.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Residual {
    /// How many times slower it is than they say.
    pub ratio: f64,
    /// Whether systems of the generation say so.
    pub near: bool,
    /// Siblings that were judged by.
    pub siblings: usize,
}

/// The residuals of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Residuals {
    /// Of all of its points.
    pub all: Option<Residual>,
    /// Of its short end.
    pub short: Option<Residual>,
}

/// Residuals by the table's path and slice.
pub(super) type Differences<'a> = BTreeMap<&'a str, BTreeMap<&'a Slice, Residuals>>;

/// A backend and a version.
type Software<'a> = (&'a str, &'a str);
/// Levels of the first software over the second on a system, by slice.
type LevelsBySlice<'a> = BTreeMap<&'a Slice, Level>;

/// The tables of one name.
struct NamedTables<'a> {
    /// By system and software.
    sketches: BTreeMap<(&'a str, Software<'a>), &'a Sketch>,
    /// By software, another, and system.
    levels: BTreeMap<(Software<'a>, Software<'a>), BTreeMap<&'a str, LevelsBySlice<'a>>>,
    generations: BTreeMap<&'a str, &'a str>,
}

/// The residuals of the judged tables' slices, each from `points` points that two tables share.
pub(super) fn differences<'a>(
    at: &CrossContext<'a>,
    band: &DifferenceBand,
    points: usize,
) -> Differences<'a> {
    let mut by_name: BTreeMap<&str, Vec<&TableFile>> = BTreeMap::new();
    for file in &at.catalog.tables {
        by_name.entry(&file.table).or_default().push(file);
    }
    by_name.retain(|_, files| files.iter().any(|file| at.judged(file)));
    let named: Vec<Vec<&TableFile>> = by_name.into_values().collect();
    let order: Vec<usize> = (0..named.len()).collect();
    let found = crate::base::threads::map(&named, &order, at.threads, |files| {
        let tables = NamedTables::new(at, files, points);
        let judged = files.iter().filter(|file| at.judged(file));
        let of_file = |file: &&'a TableFile| {
            let residuals = tables.residuals(file, band);
            debug!(path = ?file.entry.path, ?residuals, "differences");
            (file.entry.path.as_str(), residuals)
        };
        judged.map(of_file).collect::<Vec<_>>()
    });
    found.into_iter().flatten().collect()
}

fn software(file: &TableFile) -> Software<'_> {
    (&file.place.backend, &file.place.version)
}

impl<'a> NamedTables<'a> {
    fn new(at: &CrossContext<'a>, files: &[&'a TableFile], points: usize) -> Self {
        let mut sketches = BTreeMap::new();
        let mut generations = BTreeMap::new();
        for file in files {
            let system = file.place.system.as_str();
            let facts = at.catalog.systems.get(system).and_then(|s| s.system.as_ref().ok());
            generations.extend(facts.and_then(|s| s.generation()).map(|g| (system, g)));
            let sketch = at.sketches.by_path.get(&file.entry.path);
            if let Some(sketch) = sketch.filter(|s| s.points.len() >= points) {
                sketches.entry((system, software(file))).or_insert(sketch);
            }
        }
        let mut levels: BTreeMap<_, BTreeMap<&str, LevelsBySlice<'_>>> = BTreeMap::new();
        for ((system, one), own) in &sketches {
            let of_system = sketches.iter().filter(|((s, other), _)| s == system && other > one);
            for ((_, other), sketch) in of_system {
                let ahead = levels_over(own, sketch, points);
                let turn = |level: &Level| Level { all: -level.all, short: level.short.map(|s| -s) };
                let back = ahead.iter().map(|(slice, level)| (*slice, turn(level))).collect();
                levels.entry((*one, *other)).or_default().insert(*system, ahead);
                levels.entry((*other, *one)).or_default().insert(*system, back);
            }
        }
        Self { sketches, levels, generations }
    }

    /// The residuals of a table's slices.
    fn residuals(&self, file: &TableFile, band: &DifferenceBand) -> BTreeMap<&'a Slice, Residuals> {
        let (own, system) = (software(file), file.place.system.as_str());
        let others: BTreeSet<Software<'_>> =
            self.levels.keys().filter(|(one, _)| *one == own).map(|(_, other)| *other).collect();
        let Some(sketch) = self.sketches.get(&(system, own)) else { return BTreeMap::new() };
        let mut found = BTreeMap::new();
        for slice in &sketch.slices {
            let siblings = || others.iter().filter_map(|other| self.levels.get(&(own, *other)));
            let residuals = Residuals {
                all: self.residual(system, slice, siblings(), band, |l| Some(l.all)),
                short: self.residual(system, slice, siblings(), band, |l| l.short),
            };
            if residuals != Residuals::default() {
                found.insert(slice, residuals);
            }
        }
        found
    }

    /// What most siblings say of a slice: those of the generation where enough of them can.
    fn residual<'s>(
        &'s self,
        system: &str,
        slice: &Slice,
        siblings: impl Iterator<Item = &'s BTreeMap<&'a str, LevelsBySlice<'a>>>,
        band: &DifferenceBand,
        level: fn(&Level) -> Option<f64>,
    ) -> Option<Residual>
    where
        'a: 's,
    {
        let (mut near, mut any, mut known) = (Vec::new(), Vec::new(), Vec::<f64>::new());
        let mut farther = Vec::new();
        for by_system in siblings {
            let of = |levels: &LevelsBySlice<'a>| levels.get(slice).and_then(level);
            let Some(own) = by_system.get(system).and_then(of) else { continue };
            // A version that has another's measurements says nothing that the other does not.
            if known.iter().any(|k| (k - own).abs() <= SAME) {
                continue;
            }
            known.push(own);
            let generation = self.generations.get(system);
            let is_near = |name: &&str| generation.is_some() && self.generations.get(*name) == generation;
            let others = by_system.iter().filter(|(name, _)| **name != system);
            let (of_generation, of_others): (Vec<_>, Vec<_>) = others.partition(|(name, _)| is_near(name));
            let values = |side: &[(&&'a str, &LevelsBySlice<'a>)]| -> Vec<f64> {
                side.iter().filter_map(|(_, levels)| of(levels)).collect()
            };
            let (of_generation, of_others) = (values(&of_generation), values(&of_others));
            if !of_generation.is_empty() {
                near.push(own - median(&of_generation));
            }
            if let [other] = of_generation[..] {
                farther.push(farther_out(own, other, &of_others));
            }
            let all: Vec<f64> = of_generation.into_iter().chain(of_others).collect();
            match all[..] {
                [] => {}
                [other] => any.push(if farther_out(own, other, &[]) > 0.0 { own - other } else { 0.0 }),
                _ => any.push(own - median(&all)),
            }
        }
        // Of two systems either may be off.
        if farther.len() == near.len() && !near.is_empty() && median(&farther) <= 0.0 {
            near.fill(0.0);
        }
        let sides = [(near, true), (any, false)];
        let (residuals, near) = sides.into_iter().find(|(r, _)| r.len() >= band.siblings)?;
        let ratio = reached(&residuals, band.siblings).exp();
        Some(Residual { ratio, near, siblings: residuals.len() })
    }
}

/// How much farther a level is than that of another system from the rest, or, where there is no rest, from
/// that of its sibling: above 0 it is the one that is off.
fn farther_out(own: f64, other: f64, rest: &[f64]) -> f64 {
    let usual = if rest.is_empty() { 0.0 } else { median(rest) };
    (own - usual).abs() - (other - usual).abs()
}

/// What three of four residuals reach on one side, or `least` of few; 0 where so many do not.
fn reached(residuals: &[f64], least: usize) -> f64 {
    let needed = least.max((residuals.len() * 3).div_ceil(4));
    let side = |sign: f64| {
        let mut side: Vec<f64> = residuals.iter().map(|r| r * sign).filter(|r| *r > 0.0).collect();
        side.sort_by(|a, b| b.total_cmp(a));
        side.get(needed - 1).map(|r| r * sign)
    };
    side(1.0).or_else(|| side(-1.0)).unwrap_or(0.0)
}

/// The levels of a table over another at the points that both have, by slice of the first.
fn levels_over<'a>(own: &'a Sketch, other: &Sketch, points: usize) -> LevelsBySlice<'a> {
    let mut by_slice: Vec<Vec<(f64, f64)>> = vec![Vec::new(); own.slices.len()];
    for (a, b) in own.common(other).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0) {
        by_slice[a.slice as usize].push((a.latency * b.latency, (a.latency / b.latency).ln()));
    }
    let enough = own.slices.iter().zip(by_slice).filter(|(_, ratios)| ratios.len() >= points);
    let level = |(slice, mut ratios): (&'a Slice, Vec<(f64, f64)>)| {
        let all = upper_median(&mut ratios.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>());
        let short = ratios.len() / SHORT_END;
        let short = (short >= points).then(|| {
            ratios.select_nth_unstable_by(short, |a, b| a.0.total_cmp(&b.0));
            upper_median(&mut ratios[..short].iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>())
        });
        (slice, Level { all, short })
    };
    enough.map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_systems_the_one_far_from_the_rest_is_off() {
        assert!(farther_out(0.5, 0.1, &[0.1]) > 0.0);
        assert!(farther_out(0.1, 0.5, &[0.1]) < 0.0);
        assert!(farther_out(0.5, 0.1, &[0.6]) < 0.0);
        // Without a third the level itself says it.
        assert!(farther_out(0.1, 0.5, &[]) < 0.0);
    }

    #[test]
    fn most_siblings_must_agree_on_a_side() {
        assert_eq!(reached(&[0.4, 0.3], 2), 0.3);
        assert_eq!(reached(&[0.4, -0.3], 2), 0.0);
        assert_eq!(reached(&[-0.4, -0.3, -0.2, 0.1], 2), -0.2);
        assert_eq!(reached(&[0.4, 0.3, 0.0, 0.0], 2), 0.0);
    }
}
