//! Differences in differences: what a slice takes over its siblings here, against the same on other systems.
//!
//! Say vllm's GEMMs take 1.3 times sglang's on three systems and 2.0 times on a fourth. Neither the machine
//! nor the backend explains that: the machine is in both tables of a system, the backend in the tables of
//! all systems. So what is left is a table that is off, and far less of it shows than by its level alone.
//!
//! A sibling is the same table of another backend or version on the system. Of the keys that the two have
//! here and on another system, the ratio here over the ratio there is taken ([`Gap`]); its median over the
//! keys and over the systems is the residual over that sibling. A residual that most of the siblings reach
//! is the table's own.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use tracing::debug;

use crate::base::stats::{median, upper_median};
use crate::checks::CrossContext;
use crate::checks::compare::sketch::{Sketch, SketchPoint, Slice};
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
    /// Ratio from which on a slice is reported as an info.
    pub(super) info: f64,
    /// Siblings that must agree; of more of them three of four.
    siblings: usize,
}

/// Share of the points of a slice, the fastest, that are its short end; an overhead shows there.
const SHORT_END: usize = 4;
/// Two levels that differ by less are of one measurement.
const SAME: f64 = 1e-6;

/// A key of two tables.
#[derive(Debug, Clone, Copy)]
struct KeyRatio {
    hash: u64,
    /// Logarithm of the first table's latency over the second's.
    ratio: f64,
    /// Logarithm of the product of both.
    size: f64,
    /// Its slice, an index into the first sketch's slices.
    slice: u16,
}

/// How far the ratio of two tables on a system is from that of the same two on another, in logarithms.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// The median over the keys that all four have.
    all: f64,
    /// That over the shortest quarter of them; none where that is too few.
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
/// Gaps by slice.
type GapsBySlice<'a> = BTreeMap<&'a Slice, Gap>;

/// Gaps by two systems, the lesser first.
type GapsBySystems<'a> = BTreeMap<(&'a str, &'a str), GapsBySlice<'a>>;

/// A sibling pair on a system: one table over another, key by key.
struct PairRatios<'a> {
    /// The sketch of the first.
    sketch: &'a Sketch,
    keys: Vec<KeyRatio>,
    /// The median ratio by slice.
    levels: BTreeMap<&'a Slice, f64>,
}

/// The tables of one name.
struct NamedTables<'a> {
    /// By system and software.
    sketches: BTreeMap<(&'a str, Software<'a>), &'a Sketch>,
    /// By two softwares, the lesser first, and system.
    pairs: BTreeMap<(Software<'a>, Software<'a>), BTreeMap<&'a str, PairRatios<'a>>>,
    /// By two softwares, the lesser first.
    gaps: BTreeMap<(Software<'a>, Software<'a>), GapsBySystems<'a>>,
    generations: BTreeMap<&'a str, &'a str>,
}

/// The residuals of the judged tables' slices, each from `points` points that two tables share.
pub(super) fn differences<'a>(
    at: &CrossContext<'a>,
    band: &DifferenceBand,
    points: usize,
) -> Differences<'a> {
    let mut by_name: BTreeMap<&str, Vec<&TableFile>> = BTreeMap::new();
    for file in at.tables.iter().copied() {
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
        let mut own = Self { sketches, pairs: BTreeMap::new(), gaps: BTreeMap::new(), generations };
        own.pair_up(points);
        own
    }

    /// Takes the ratios of siblings on each system, and their gaps between systems.
    fn pair_up(&mut self, points: usize) {
        for ((system, one), sketch) in &self.sketches {
            let others = self.sketches.iter().filter(|((s, other), _)| s == system && other > one);
            for ((_, other), theirs) in others {
                let pair = PairRatios::new(sketch, theirs, points);
                self.pairs.entry((*one, *other)).or_default().insert(*system, pair);
            }
        }
        for (softwares, by_system) in &self.pairs {
            let gaps = self.gaps.entry(*softwares).or_default();
            for (system, pair) in by_system {
                for (other, theirs) in by_system.range(*system..).skip(1) {
                    gaps.insert((*system, *other), pair.gaps(theirs, points));
                }
            }
        }
    }

    /// A slice's gap between two systems of `own` over `sibling`.
    fn gap(
        &self,
        (own, sibling): (Software<'a>, Software<'a>),
        (system, other): (&'a str, &'a str),
        slice: &Slice,
    ) -> Option<Gap> {
        let softwares = if own < sibling { (own, sibling) } else { (sibling, own) };
        let systems = if system < other { (system, other) } else { (other, system) };
        let gap = *self.gaps.get(&softwares)?.get(&systems)?.get(slice)?;
        let turned = (own < sibling) != (system < other);
        let turn = |v: f64| if turned { -v } else { v };
        Some(Gap { all: turn(gap.all), short: gap.short.map(turn) })
    }

    /// The residuals of a table's slices.
    fn residuals(
        &self,
        file: &'a TableFile,
        band: &DifferenceBand,
    ) -> BTreeMap<&'a Slice, Residuals> {
        let (own, system) = (software(file), file.place.system.as_str());
        let Some(sketch) = self.sketches.get(&(system, own)) else { return BTreeMap::new() };
        let mut found = BTreeMap::new();
        for slice in &sketch.slices {
            let siblings = self.siblings(own, system, slice);
            let residuals = Residuals {
                all: self.residual(own, system, slice, &siblings, band, |gap| Some(gap.all)),
                short: self.residual(own, system, slice, &siblings, band, |gap| gap.short),
            };
            if residuals != Residuals::default() {
                found.insert(slice, residuals);
            }
        }
        found
    }

    /// The siblings of a slice on its system, and how far it is from them. A version that has another's
    /// measurements says nothing that the other does not.
    fn siblings(&self, own: Software<'a>, system: &str, slice: &Slice) -> Vec<(Software<'a>, f64)> {
        let mut found: Vec<(Software<'a>, f64)> = Vec::new();
        for ((one, other), by_system) in &self.pairs {
            let (sibling, sign) = match (*one == own, *other == own) {
                (true, _) => (*other, 1.0),
                (_, true) => (*one, -1.0),
                _ => continue,
            };
            let level = by_system.get(system).and_then(|pair| pair.levels.get(slice));
            let Some(level) = level.map(|level| level * sign) else { continue };
            if found.iter().all(|(_, known)| (known - level).abs() > SAME) {
                found.push((sibling, level));
            }
        }
        found
    }

    /// What most siblings say of a slice: those of the generation where enough of them can.
    fn residual(
        &self,
        own: Software<'a>,
        system: &'a str,
        slice: &Slice,
        siblings: &[(Software<'a>, f64)],
        band: &DifferenceBand,
        part: fn(&Gap) -> Option<f64>,
    ) -> Option<Residual> {
        let (mut near, mut any, mut farther) = (Vec::new(), Vec::new(), Vec::new());
        let systems: BTreeSet<&'a str> = self.sketches.keys().map(|(system, _)| *system).collect();
        let generation = self.generations.get(system);
        for (sibling, level) in siblings {
            let gap = |a: &'a str, b: &'a str| part(&self.gap((own, *sibling), (a, b), slice)?);
            let others: Vec<(&'a str, f64)> =
                systems.iter().filter_map(|other| Some((*other, gap(system, other)?))).collect();
            let is_near = |(name, _): &(&'a str, f64)| {
                generation.is_some() && self.generations.get(*name) == generation
            };
            let (kin, rest): (Vec<_>, Vec<_>) = others.iter().copied().partition(is_near);
            let values = |side: &[(&'a str, f64)]| -> Vec<f64> {
                side.iter().map(|(_, gap)| *gap).collect()
            };
            // Of two systems either may be off: the one that is farther from the rest, or, where there is
            // no rest, from its sibling.
            let is_farther = |other: &'a str, apart: f64| {
                let from_rest =
                    rest.iter().filter_map(|(name, own)| Some((own, gap(other, name)?)));
                let (own, theirs): (Vec<f64>, Vec<f64>) = from_rest.unzip();
                match own[..] {
                    [] => level.abs() - (level - apart).abs(),
                    _ => median(&own).abs() - median(&theirs).abs(),
                }
            };
            if !kin.is_empty() {
                near.push(median(&values(&kin)));
            }
            if let [(other, apart)] = kin[..] {
                farther.push(is_farther(other, apart));
            }
            let all: Vec<f64> = others.iter().map(|(_, gap)| *gap).collect();
            match all[..] {
                [] => {}
                [apart] => any.push(if level.abs() > (level - apart).abs() { apart } else { 0.0 }),
                _ => any.push(median(&all)),
            }
        }
        if farther.len() == near.len() && !near.is_empty() && median(&farther) <= 0.0 {
            near.fill(0.0);
        }
        let sides = [(near, true), (any, false)];
        let (residuals, near) = sides.into_iter().find(|(r, _)| r.len() >= band.siblings)?;
        let ratio = reached(&residuals, band.siblings).exp();
        Some(Residual { ratio, near, siblings: residuals.len() })
    }
}

/// What three of four residuals reach on one side, or `least` of few; 0 where this many do not.
fn reached(residuals: &[f64], least: usize) -> f64 {
    let needed = least.max((residuals.len() * 3).div_ceil(4));
    let side = |sign: f64| {
        let mut side: Vec<f64> = residuals.iter().map(|r| r * sign).filter(|r| *r > 0.0).collect();
        side.sort_by(|a, b| b.total_cmp(a));
        side.get(needed - 1).map(|r| r * sign)
    };
    side(1.0).or_else(|| side(-1.0)).unwrap_or(0.0)
}

impl<'a> PairRatios<'a> {
    /// The ratios at the keys that both sketches hold; the level of slices with this many points.
    fn new(sketch: &'a Sketch, other: &Sketch, points: usize) -> Self {
        let timed = sketch.common(other).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0);
        let key = |(a, b): (SketchPoint, SketchPoint)| KeyRatio {
            hash: a.hash,
            ratio: (a.latency / b.latency).ln(),
            size: (a.latency * b.latency).ln(),
            slice: a.slice,
        };
        let keys: Vec<KeyRatio> = timed.map(key).collect();
        let mut by_slice: Vec<Vec<f64>> = vec![Vec::new(); sketch.slices.len()];
        keys.iter().for_each(|key| by_slice[key.slice as usize].push(key.ratio));
        let enough =
            sketch.slices.iter().zip(by_slice).filter(|(_, ratios)| ratios.len() >= points);
        let levels = enough.map(|(slice, mut ratios)| (slice, upper_median(&mut ratios))).collect();
        Self { sketch, keys, levels }
    }

    /// How far the ratios are from those of the same pair on another system, by slice.
    fn gaps(&self, other: &PairRatios<'_>, points: usize) -> GapsBySlice<'a> {
        let mut by_slice: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.sketch.slices.len()];
        let mut theirs = other.keys.iter().peekable();
        for own in &self.keys {
            while theirs.next_if(|key| key.hash < own.hash).is_some() {}
            if let Some(key) = theirs.next_if(|key| key.hash == own.hash) {
                by_slice[own.slice as usize].push((own.size + key.size, own.ratio - key.ratio));
            }
        }
        let enough =
            self.sketch.slices.iter().zip(by_slice).filter(|(_, gaps)| gaps.len() >= points);
        enough.map(|(slice, gaps)| (slice, Gap::of(gaps, points))).collect()
    }
}

impl Gap {
    /// The gap of some keys, each with its size.
    fn of(mut gaps: Vec<(f64, f64)>, points: usize) -> Self {
        let middle = |gaps: &[(f64, f64)]| {
            upper_median(&mut gaps.iter().map(|(_, gap)| *gap).collect::<Vec<_>>())
        };
        let all = middle(&gaps);
        let short = gaps.len() / SHORT_END;
        let short = (short >= points).then(|| {
            gaps.select_nth_unstable_by(short, |a, b| a.0.total_cmp(&b.0));
            middle(&gaps[..short])
        });
        Self { all, short }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_of_the_keys_that_both_pairs_have() {
        let slices = vec![Slice::new()];
        let sketch = Sketch { slices, ..Sketch::default() };
        let key = |(hash, ratio): (u64, f64)| KeyRatio { hash, ratio, size: hash as f64, slice: 0 };
        let pair = |keys: &[(u64, f64)]| PairRatios {
            sketch: &sketch,
            keys: keys.iter().copied().map(key).collect(),
            levels: BTreeMap::new(),
        };
        // Two keys of the first are no part of the other, and far off.
        let own = pair(&[(1, 0.5), (2, 0.5), (3, 0.2), (4, 9.0), (5, 9.0), (6, 0.2)]);
        let other = pair(&[(1, 0.1), (2, 0.1), (3, 0.1), (6, 0.1), (7, 0.1)]);
        let gap = own.gaps(&other, 1)[&Slice::new()];
        assert!((gap.all - 0.4).abs() < 1e-9 && (gap.short.unwrap() - 0.4).abs() < 1e-9, "{gap:?}");
        assert!(own.gaps(&other, 5).is_empty());
    }

    #[test]
    fn most_siblings_must_agree_on_a_side() {
        assert_eq!(reached(&[0.4, 0.3], 2), 0.3);
        assert_eq!(reached(&[0.4, -0.3], 2), 0.0);
        assert_eq!(reached(&[-0.4, -0.3, -0.2, 0.1], 2), -0.2);
        assert_eq!(reached(&[0.4, 0.3, 0.0, 0.0], 2), 0.0);
    }
}
