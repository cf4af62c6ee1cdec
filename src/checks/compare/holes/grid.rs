//! A search for blocks of missing keys that few conditions describe: `num_heads 8`, or `fp8 with isl from 16384 up`.
//!
//! Conditions are added one at a time, always the one that gains most information about what is missing, until
//! nearly all keys that meet them are missing: these are a block. Each condition is then widened to all values for
//! which that holds. The block's keys are put aside, and the search goes on with the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::database::coverage::{CoveredPart, CoveredPoints, Kind};

/// The state of a reference's key in the judged table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// The table would serve the key.
    Served,
    /// The key is missing.
    Missing,
    /// The key is missing for a known reason: it neither makes a block nor breaks one.
    Explained,
}

/// The references' keys by the values of their parts, and the state of each.
pub struct KeyGrid {
    /// The keys.
    pub points: CoveredPoints,
    /// The state of each key.
    pub states: Vec<KeyState>,
}

/// The size and purity that make a block.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// The minimal number of missing keys.
    pub least: usize,
    /// The minimal share of a block's keys that are missing.
    pub purity: f64,
    /// The maximal number of blocks.
    pub most: usize,
}

/// Values of key parts: the index of a part, and the indices of its values.
pub type Conditions = BTreeMap<usize, BTreeSet<u32>>;

/// Keys that are missing together.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingBlock {
    /// The conditions that the block's keys meet.
    pub conditions: Conditions,
    /// The missing keys, by index.
    pub missing: Vec<usize>,
}

/// A number of keys, and how many of them are missing.
#[derive(Debug, Clone, Copy, Default)]
struct KeyCount {
    all: usize,
    missing: usize,
}

impl KeyCount {
    fn add(&mut self, state: KeyState) {
        self.all += usize::from(state != KeyState::Explained);
        self.missing += usize::from(state == KeyState::Missing);
    }

    fn sum(counts: &[Self]) -> Self {
        let all = counts.iter().map(|count| count.all).sum();
        Self { all, missing: counts.iter().map(|count| count.missing).sum() }
    }

    fn share(self) -> f64 {
        self.missing as f64 / self.all.max(1) as f64
    }

    /// Returns true if all but a few keys are missing. In a small sample one key may be served.
    fn is_pure(self, purity: f64) -> bool {
        let few = ((1.0 - purity) * self.all as f64).max(1.0);
        (self.all - self.missing) as f64 <= few
    }
}

impl KeyGrid {
    /// Counts the keys that are missing and that nothing explains.
    pub fn missing(&self) -> usize {
        self.states.iter().filter(|state| **state == KeyState::Missing).count()
    }

    /// The indices of the keys in a state.
    pub fn in_state(&self, state: KeyState) -> impl Iterator<Item = usize> {
        (0..self.states.len()).filter(move |key| self.states[*key] == state)
    }

    /// Returns true if a key meets the conditions.
    pub fn meets(&self, conditions: &Conditions, key: usize) -> bool {
        conditions
            .iter()
            .all(|(part, values)| values.contains(&self.points.parts[*part].codes[key]))
    }

    /// Returns true if a key is at least as large as `other` along every axis of the sweep.
    pub fn is_as_large(&self, key: usize, other: usize) -> bool {
        let mut axes = self.points.parts.iter().filter(|part| part.kind == Kind::Grid);
        axes.all(|axis| axis.codes[key] >= axis.codes[other])
    }

    /// The values that some keys have in a part.
    pub fn values(&self, part: usize, keys: &[usize]) -> BTreeSet<u32> {
        keys.iter().map(|key| self.points.parts[part].codes[*key]).collect()
    }

    /// Finds the blocks of missing keys, the most informative first.
    pub fn blocks(&self, search: Search) -> Vec<MissingBlock> {
        let mut left: Vec<usize> = (0..self.states.len()).collect();
        let mut blocks = Vec::new();
        while blocks.len() < search.most {
            let Some(core) = self.core(&left, search) else { break };
            let conditions = self.widened(core, &left, search.purity);
            let (mut missing, rest): (Vec<usize>, Vec<usize>) =
                left.into_iter().partition(|key| self.meets(&conditions, *key));
            missing.retain(|key| self.states[*key] == KeyState::Missing);
            left = rest;
            blocks.push(MissingBlock { conditions, missing });
        }
        blocks
    }

    /// Adds conditions until nearly all keys that meet them are missing; `None` if too few of them are.
    fn core(&self, left: &[usize], search: Search) -> Option<Conditions> {
        let mut within: Vec<usize> = left.to_vec();
        within.retain(|key| self.states[*key] != KeyState::Explained);
        let mut parts = BTreeSet::new();
        loop {
            let mut all = KeyCount::default();
            within.iter().for_each(|key| all.add(self.states[*key]));
            if all.missing < search.least {
                return None;
            }
            if all.is_pure(search.purity) {
                return Some(parts.into_iter().map(|p| (p, self.values(p, &within))).collect());
            }
            let (part, values) = self.best_condition(&within, all, search.least)?;
            within.retain(|key| values.contains(&self.points.parts[part].codes[*key]));
            parts.insert(part);
        }
    }

    /// The condition that gains most information about what is missing, if it leaves `least` missing keys.
    fn best_condition(
        &self,
        within: &[usize],
        all: KeyCount,
        least: usize,
    ) -> Option<(usize, RangeInclusive<u32>)> {
        let (mut best, mut most) = (None, 0.0);
        for (index, part) in self.points.parts.iter().enumerate() {
            let counts = self.counts(part, within);
            for values in ranges(part) {
                let count =
                    KeyCount::sum(&counts[*values.start() as usize..=*values.end() as usize]);
                if count.missing < least || count.all == all.all {
                    continue;
                }
                let gain = count.missing as f64 * (count.share() / all.share()).ln();
                if gain > most + 1e-9 {
                    (best, most) = (Some((index, values)), gain);
                }
            }
        }
        best
    }

    /// Counts some keys by their value in a part.
    fn counts(&self, part: &CoveredPart, keys: &[usize]) -> Vec<KeyCount> {
        let mut counts = vec![KeyCount::default(); part.values.len()];
        for key in keys {
            counts[part.codes[*key] as usize].add(self.states[*key]);
        }
        counts
    }

    /// Widens each condition to all values for which nearly all is missing, and drops a condition that is not needed.
    fn widened(&self, mut conditions: Conditions, left: &[usize], purity: f64) -> Conditions {
        let parts: Vec<usize> = conditions.keys().copied().collect();
        for part in parts {
            let mut values = conditions.remove(&part).unwrap_or_default();
            let mut meeting = left.to_vec();
            meeting.retain(|key| self.meets(&conditions, *key));
            let counts = self.counts(&self.points.parts[part], &meeting);
            if !conditions.is_empty() && KeyCount::sum(&counts).is_pure(purity) {
                continue;
            }
            let missing = (0..).zip(&counts).filter(|(_, c)| c.missing > 0 && c.share() >= purity);
            values.extend(missing.map(|(value, _)| value));
            conditions.insert(part, values);
        }
        conditions
    }
}

/// The conditions that a part offers: each value, and the ends of an axis, since a sweep may start late or stop early.
fn ranges(part: &CoveredPart) -> Vec<RangeInclusive<u32>> {
    let count = part.values.len() as u32;
    let mut ranges: Vec<RangeInclusive<u32>> = (0..count).map(|value| value..=value).collect();
    if part.kind == Kind::Grid {
        ranges.extend((0..count).map(|value| 0..=value));
        ranges.extend((0..count).rev().map(|value| value..=count - 1));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::coverage::Cell;

    const SEARCH: Search = Search { least: 4, purity: 0.95, most: 5 };

    /// Two dtypes, four shapes, and a grid of eight by eight.
    fn points() -> CoveredPoints {
        let part = |name: &str, kind, values: u32, each: u32| CoveredPart {
            name: name.into(),
            kind,
            values: (0..values).map(|v| Cell::Number(f64::from(1 << v))).collect(),
            codes: (0..512).map(|p| p / each % values).collect(),
        };
        CoveredPoints {
            parts: vec![
                part("dtype", Kind::Name, 2, 256),
                part("shape", Kind::Shape, 4, 64),
                part("isl", Kind::Grid, 8, 8),
                part("batch", Kind::Grid, 8, 1),
            ],
            len: 512,
        }
    }

    fn search(missing: impl Fn(&[u32; 4]) -> bool) -> Vec<Vec<(usize, Vec<u32>)>> {
        let points = points();
        let code = |p: usize| [0, 1, 2, 3].map(|i: usize| points.parts[i].codes[p]);
        let state = |p| if missing(&code(p)) { KeyState::Missing } else { KeyState::Served };
        let states = (0..512).map(state).collect();
        let plain = |b: MissingBlock| {
            b.conditions.into_iter().map(|(part, v)| (part, v.into_iter().collect())).collect()
        };
        KeyGrid { points, states }.blocks(SEARCH).into_iter().map(plain).collect()
    }

    #[test]
    fn a_slice_is_named_by_its_values() {
        assert_eq!(search(|p| p[0] == 1), [vec![(0, vec![1])]]);
        assert_eq!(search(|p| p[1] == 1 || p[1] == 3), [vec![(1, vec![1, 3])]]);
        assert_eq!(search(|p| p[0] == 1 && p[1] == 2), [vec![(0, vec![1]), (1, vec![2])]]);
    }

    #[test]
    fn a_sweep_that_stopped_early_is_a_range() {
        assert_eq!(search(|p| p[0] == 0 && p[2] >= 5), [vec![(0, vec![0]), (2, vec![5, 6, 7])]]);
    }

    #[test]
    fn two_causes_are_two_blocks_and_scatter_is_none() {
        assert_eq!(search(|p| p[1] == 0 || p[3] == 7).len(), 2);
        assert!(search(|p| (p[1] * 37 + p[2] * 11 + p[3] * 5) % 23 == 0).is_empty());
        assert!(search(|_| false).is_empty());
    }

    #[test]
    fn explained_points_neither_make_a_block_nor_break_one() {
        let points = points();
        let codes = &points.parts;
        let state = |p: usize| match (codes[1].codes[p], codes[2].codes[p]) {
            (2, 7) => KeyState::Explained,
            (2, _) => KeyState::Missing,
            (0, _) => KeyState::Explained,
            _ => KeyState::Served,
        };
        let states = (0..512).map(state).collect();
        let blocks = KeyGrid { points, states }.blocks(SEARCH);
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].conditions, BTreeMap::from([(1, BTreeSet::from([2]))]));
        assert_eq!(blocks[0].missing.len(), 112);
    }
}
