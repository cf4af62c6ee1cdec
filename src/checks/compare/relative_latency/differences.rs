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

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::debug;

use super::gaps::{Gap, GapsBySlice, LevelsBySlice, PairRatios};
use super::kept::{Differences, Residual, Residuals};
use crate::base::stats::median;
use crate::checks::compare::peers::Peers;
use crate::checks::compare::sketch::{Sketch, Slice};
use crate::checks::context::CrossContext;
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

/// Two levels that differ by less are of one measurement.
const SAME: f64 = 1e-6;

/// A backend and a version.
type Software<'a> = (&'a str, &'a str);
/// Two softwares on the systems that both have.
struct SoftwarePair<'a> {
    /// The median ratio by system and slice.
    levels: BTreeMap<&'a str, LevelsBySlice<'a>>,
    /// The gaps by two systems, the lesser first.
    gaps: BTreeMap<(&'a str, &'a str), GapsBySlice<'a>>,
}

/// The tables of one name.
struct SiblingTables<'a> {
    /// The sketches by system and software.
    sketches: BTreeMap<(&'a str, Software<'a>), &'a Sketch>,
    /// The pairs of softwares with a judged one, the lesser first.
    pairs: BTreeMap<(Software<'a>, Software<'a>), SoftwarePair<'a>>,
    peers: &'a Peers<'a>,
}

/// The residuals of the judged tables of a name by slice, each from `points` points that two tables share.
pub(super) fn differences(
    at: &CrossContext<'_>,
    band: &DifferenceBand,
    points: usize,
) -> Differences {
    let tables = SiblingTables::new(at, points);
    let judged: Vec<&TableFile> = at.judged_tables().collect();
    let of_file = |file: &&TableFile| {
        let residuals = tables.residuals(file, band);
        debug!(path = ?file.entry.path, ?residuals, "differences");
        (file.entry.path.clone(), residuals)
    };
    judged.par_iter().map(of_file).collect()
}

fn software(file: &TableFile) -> Software<'_> {
    (&file.place.backend, &file.place.version)
}

impl<'a> SiblingTables<'a> {
    fn new(at: &CrossContext<'a>, points: usize) -> Self {
        let mut sketches = BTreeMap::new();
        for (file, sketch) in at.sketched().filter(|(_, s)| s.points.len() >= points) {
            sketches.entry((file.place.system.as_str(), software(file))).or_insert(sketch);
        }
        let mut own = Self { sketches, pairs: BTreeMap::new(), peers: at.peers };
        let judged: BTreeSet<Software<'a>> = at.judged_tables().map(software).collect();
        let softwares: BTreeSet<Software<'a>> = own.sketches.keys().map(|(_, one)| *one).collect();
        let mut pairs = Vec::new();
        for one in &softwares {
            let others = softwares.range(*one..).skip(1);
            let others = others.filter(|other| judged.contains(one) || judged.contains(*other));
            pairs.extend(others.map(|other| (*one, *other)));
        }
        // Each thread keeps the ratios of one pair at a time: those of all pairs take many times the memory of the sketches.
        let found = pairs.par_iter().map(|pair| (*pair, own.pair(*pair, points)));
        let found = found.filter(|(_, pair)| !pair.levels.is_empty());
        let found: Vec<_> = found.collect();
        own.pairs.extend(found);
        own
    }

    /// Compares two softwares on the systems that both have.
    fn pair(&self, (one, other): (Software<'a>, Software<'a>), points: usize) -> SoftwarePair<'a> {
        let mut by_system: BTreeMap<&'a str, PairRatios<'a>> = BTreeMap::new();
        for ((system, _), sketch) in self.sketches.iter().filter(|((_, own), _)| *own == one) {
            if let Some(theirs) = self.sketches.get(&(*system, other)) {
                by_system.insert(system, PairRatios::new(sketch, theirs, points));
            }
        }
        let mut gaps = BTreeMap::new();
        for (system, pair) in &by_system {
            for (with, theirs) in by_system.range(*system..).skip(1) {
                gaps.insert((*system, *with), pair.gaps(theirs, points));
            }
        }
        let levels = by_system.into_iter().map(|(system, pair)| (system, pair.levels)).collect();
        SoftwarePair { levels, gaps }
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
        let gap = *self.pairs.get(&softwares)?.gaps.get(&systems)?.get(slice)?;
        let turned = (own < sibling) != (system < other);
        let turn = |v: f64| if turned { -v } else { v };
        Some(Gap { all: turn(gap.all), short: gap.short.map(turn) })
    }

    /// The residuals of a table's slices.
    fn residuals(&self, file: &TableFile, band: &DifferenceBand) -> BTreeMap<Slice, Residuals> {
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
                found.insert(slice.clone(), residuals);
            }
        }
        found
    }

    /// The siblings of a slice on its system, and how far it is from them. A version that has another's
    /// measurements says nothing that the other does not.
    fn siblings(&self, own: Software<'a>, system: &str, slice: &Slice) -> Vec<(Software<'a>, f64)> {
        let mut found: Vec<(Software<'a>, f64)> = Vec::new();
        for ((one, other), pair) in &self.pairs {
            let (sibling, sign) = match (*one == own, *other == own) {
                (true, _) => (*other, 1.0),
                (_, true) => (*one, -1.0),
                _ => continue,
            };
            let level = pair.levels.get(system).and_then(|levels| levels.get(slice));
            let Some(level) = level.map(|level| level * sign) else { continue };
            if found.iter().all(|(_, known)| (known - level).abs() > SAME) {
                found.push((sibling, level));
            }
        }
        found
    }

    /// Returns the residual that most siblings of a slice agree on: siblings of the generation if there are enough.
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
        let generation = self.peers.generation(system);
        for (sibling, level) in siblings {
            let gap = |a: &'a str, b: &'a str| part(&self.gap((own, *sibling), (a, b), slice)?);
            let others: Vec<(&'a str, f64)> =
                systems.iter().filter_map(|other| Some((*other, gap(system, other)?))).collect();
            let is_near = |(name, _): &(&'a str, f64)| {
                generation.is_some() && self.peers.generation(name) == generation
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

/// Returns the value that three of four residuals reach on one side, or `least` of few; 0 if they do not.
fn reached(residuals: &[f64], least: usize) -> f64 {
    let needed = least.max((residuals.len() * 3).div_ceil(4));
    let side = |sign: f64| {
        let mut side: Vec<f64> = residuals.iter().map(|r| r * sign).filter(|r| *r > 0.0).collect();
        side.sort_by(|a, b| b.total_cmp(a));
        side.get(needed - 1).map(|r| r * sign)
    };
    side(1.0).or_else(|| side(-1.0)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_siblings_must_agree_on_a_side() {
        assert_eq!(reached(&[0.4, 0.3], 2), 0.3);
        assert_eq!(reached(&[0.4, -0.3], 2), 0.0);
        assert_eq!(reached(&[-0.4, -0.3, -0.2, 0.1], 2), -0.2);
        assert_eq!(reached(&[0.4, 0.3, 0.0, 0.0], 2), 0.0);
    }
}
