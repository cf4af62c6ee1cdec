//! What is missing among many points, said in few conditions: `num_heads 8`, or `fp8 with isl from
//! 16384 up`.
//!
//! The search separates and conquers. Conditions are added one at a time, each the one that gains
//! most information about what is missing, until nearly all that is left is missing; that is a
//! block. Each condition is then widened to all values for which that holds, the block's points are
//! put aside, and the search goes on with the rest.

use std::collections::BTreeSet;

use crate::database::coverage::{CoveredPoints, Kind};

/// What is known of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointState {
    /// The table would serve it.
    Served,
    /// It is missing.
    Missing,
    /// It is missing for a known reason: it neither makes a block nor breaks one.
    Explained,
}

/// How large and how pure a block has to be.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// Missing points that make one.
    pub least: usize,
    /// Share of a block's points that are missing.
    pub purity: f64,
    /// Blocks to look for.
    pub most: usize,
}

/// CoveredPoints that are missing together.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingBlock {
    /// Parts of the key by index, each with the values (by index) that the block holds of it.
    pub conditions: Vec<(usize, BTreeSet<u32>)>,
    /// Its missing points.
    pub missing: Vec<usize>,
}

/// A part of the points, by the values of one key part.
#[derive(Clone, Copy)]
enum CodeRange {
    At(u32),
    From(u32),
    UpTo(u32),
}

impl CodeRange {
    fn has(self, code: u32) -> bool {
        match self {
            Self::At(v) => code == v,
            Self::From(v) => code >= v,
            Self::UpTo(v) => code <= v,
        }
    }
}

/// How many points there are, and how many of them are missing.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: usize,
    missing: usize,
}

impl Count {
    fn add(&mut self, state: PointState) {
        self.all += usize::from(state != PointState::Explained);
        self.missing += usize::from(state == PointState::Missing);
    }

    fn plus(self, other: Self) -> Self {
        Self { all: self.all + other.all, missing: self.missing + other.missing }
    }

    fn share(self) -> f64 {
        self.missing as f64 / self.all.max(1) as f64
    }

    /// Whether all but a few are missing; of a small sample one may be there.
    fn pure(self, purity: f64) -> bool {
        let few = ((1.0 - purity) * self.all as f64).max(1.0);
        (self.all - self.missing) as f64 <= few
    }
}

impl MissingBlock {
    fn holds(&self, points: &CoveredPoints, point: usize) -> bool {
        holds(points, &self.conditions, point)
    }

    /// The values that its missing points have of a part, by index.
    pub fn values(&self, points: &CoveredPoints, part: usize) -> BTreeSet<u32> {
        self.missing.iter().map(|p| points.parts[part].codes[*p]).collect()
    }
}

/// Whether a point meets the conditions.
pub fn holds(points: &CoveredPoints, conditions: &[(usize, BTreeSet<u32>)], point: usize) -> bool {
    conditions.iter().all(|(part, values)| values.contains(&points.parts[*part].codes[point]))
}

/// The blocks of missing points, the most telling first.
pub fn find(points: &CoveredPoints, states: &[PointState], search: Search) -> Vec<MissingBlock> {
    let mut left: Vec<usize> = (0..points.len).collect();
    let mut blocks = Vec::new();
    while blocks.len() < search.most {
        let Some(core) = core(points, states, &left, search) else { break };
        let conditions = widen(points, states, &left, core, search.purity);
        let mut block = MissingBlock { conditions, missing: Vec::new() };
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            left.into_iter().partition(|p| block.holds(points, *p));
        let missing = inside.into_iter().filter(|p| states[*p] == PointState::Missing);
        block.missing = missing.collect();
        left = outside;
        blocks.push(block);
    }
    blocks
}

/// CoveredPoints that nearly all are missing, and the conditions that single them out.
fn core(
    points: &CoveredPoints,
    states: &[PointState],
    left: &[usize],
    search: Search,
) -> Option<Vec<(usize, BTreeSet<u32>)>> {
    let mut within: Vec<usize> =
        left.iter().copied().filter(|p| states[*p] != PointState::Explained).collect();
    let mut used = BTreeSet::new();
    loop {
        let mut all = Count::default();
        within.iter().for_each(|p| all.add(states[*p]));
        if all.missing < search.least {
            return None;
        }
        if all.pure(search.purity) {
            break;
        }
        let (part, range) = best(points, states, &within, all, search.least)?;
        let codes = &points.parts[part].codes;
        within.retain(|p| range.has(codes[*p]));
        used.insert(part);
    }
    let values = |part: usize| within.iter().map(|p| points.parts[part].codes[*p]).collect();
    Some(used.into_iter().map(|part| (part, values(part))).collect())
}

/// The condition that explains most of what is missing.
fn best(
    points: &CoveredPoints,
    states: &[PointState],
    within: &[usize],
    all: Count,
    least: usize,
) -> Option<(usize, CodeRange)> {
    let mut best = Best { least, all, found: None };
    for (index, part) in points.parts.iter().enumerate() {
        let mut counts = vec![Count::default(); part.values.len()];
        within.iter().for_each(|p| counts[part.codes[*p] as usize].add(states[*p]));
        for (code, count) in (0..).zip(&counts) {
            best.consider(*count, index, CodeRange::At(code));
        }
        if part.kind == Kind::Grid {
            // Ends of an axis: a sweep that stopped early, or that began late.
            let mut sum = Count::default();
            for (code, count) in (0..).zip(&counts) {
                sum = sum.plus(*count);
                best.consider(sum, index, CodeRange::UpTo(code));
            }
            let mut sum = Count::default();
            for (code, count) in (0..counts.len() as u32).zip(&counts).rev() {
                sum = sum.plus(*count);
                best.consider(sum, index, CodeRange::From(code));
            }
        }
    }
    best.found.map(|(_, part, range)| (part, range))
}

/// The condition that explains most so far: its gain, the part of the key, its values.
struct Best {
    /// Missing points that a condition must hold.
    least: usize,
    /// What is looked among.
    all: Count,
    found: Option<(f64, usize, CodeRange)>,
}

impl Best {
    /// Takes a condition that explains more. Its gain is the information that it has of what is missing.
    fn consider(&mut self, count: Count, part: usize, range: CodeRange) {
        if count.missing < self.least || count.all == self.all.all {
            return;
        }
        let gain = count.missing as f64 * (count.share() / self.all.share()).ln();
        if self.found.is_none_or(|(most, ..)| gain > most + 1e-9) && gain > 1e-9 {
            self.found = Some((gain, part, range));
        }
    }
}

/// Widens each condition to all values for which nearly all is missing; drops one that all meet.
fn widen(
    points: &CoveredPoints,
    states: &[PointState],
    left: &[usize],
    mut conditions: Vec<(usize, BTreeSet<u32>)>,
    purity: f64,
) -> Vec<(usize, BTreeSet<u32>)> {
    let mut at = 0;
    while at < conditions.len() {
        let (part, mut values) = conditions.remove(at);
        let codes = &points.parts[part].codes;
        let mut counts = vec![Count::default(); points.parts[part].values.len()];
        for p in left.iter().filter(|p| holds(points, &conditions, **p)) {
            counts[codes[*p] as usize].add(states[*p]);
        }
        let all = counts.iter().copied().fold(Count::default(), Count::plus);
        if all.pure(purity) && !conditions.is_empty() {
            continue;
        }
        for (code, count) in (0..).zip(&counts) {
            if count.missing > 0 && count.share() >= purity {
                values.insert(code);
            }
        }
        conditions.insert(at, (part, values));
        at += 1;
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::coverage::{Cell, CoveredPart};

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
        let state = |p| if missing(&code(p)) { PointState::Missing } else { PointState::Served };
        let states: Vec<PointState> = (0..512).map(state).collect();
        let plain = |b: MissingBlock| {
            b.conditions.into_iter().map(|(part, v)| (part, v.into_iter().collect())).collect()
        };
        find(&points, &states, SEARCH).into_iter().map(plain).collect()
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
            (2, 7) => PointState::Explained,
            (2, _) => PointState::Missing,
            (0, _) => PointState::Explained,
            _ => PointState::Served,
        };
        let states: Vec<PointState> = (0..512).map(state).collect();
        let blocks = find(&points, &states, SEARCH);
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].conditions, [(1, BTreeSet::from([2]))]);
        assert_eq!(blocks[0].missing.len(), 112);
    }
}
