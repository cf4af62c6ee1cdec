//! The ratio of two tables on a system compared with the ratio of the same two tables on another system.

use std::collections::BTreeMap;

use crate::base::stats::upper_median;
use crate::checks::compare::sketch::{Sketch, SketchPoint, Slice};

/// Share of the points of a slice, the fastest, that are its short end; an overhead shows there.
const SHORT_END: usize = 4;
/// A key of two tables.
#[derive(Debug, Clone, Copy)]
struct KeyRatio {
    hash: u64,
    /// Logarithm of the first table's latency over the second's.
    ratio: f64,
    /// Logarithm of the product of both.
    size: f64,
    /// The slice, an index into the first sketch's slices.
    slice: u16,
}

/// The ratio of two tables on a system over the ratio of the same two on another, as a logarithm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    /// The median over the keys that all four have.
    pub all: f64,
    /// The median over the shortest quarter of these keys; `None` if they are too few.
    pub short: Option<f64>,
}

/// Gaps by slice.
pub(super) type GapsBySlice<'a> = BTreeMap<&'a Slice, Gap>;

/// Levels by slice.
pub(super) type LevelsBySlice<'a> = BTreeMap<&'a Slice, f64>;

/// A sibling pair on a system: one table over another, key by key.
pub(super) struct PairRatios<'a> {
    /// The sketch of the first.
    sketch: &'a Sketch,
    keys: Vec<KeyRatio>,
    /// The median ratio by slice.
    pub levels: LevelsBySlice<'a>,
}

impl<'a> PairRatios<'a> {
    /// The ratios at the keys that both sketches hold; the level of slices with this many points.
    pub fn new(sketch: &'a Sketch, other: &Sketch, points: usize) -> Self {
        let timed = sketch.common(other).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0);
        let key = |(a, b): (SketchPoint, SketchPoint)| KeyRatio {
            hash: a.hash,
            ratio: a.log - b.log,
            size: a.log + b.log,
            slice: a.slice,
        };
        let keys: Vec<KeyRatio> = timed.map(key).collect();
        let mut by_slice = sketch.room_by_slice::<f64>();
        keys.iter().for_each(|key| by_slice[key.slice as usize].push(key.ratio));
        let enough =
            sketch.slices.iter().zip(by_slice).filter(|(_, ratios)| ratios.len() >= points);
        let levels = enough.map(|(slice, mut ratios)| (slice, upper_median(&mut ratios))).collect();
        Self { sketch, keys, levels }
    }

    /// Returns the gaps to the ratios of the same pair on another system, by slice.
    pub fn gaps(&self, other: &PairRatios<'_>, points: usize) -> GapsBySlice<'a> {
        let mut by_slice = self.sketch.room_by_slice::<(f64, f64)>();
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
}
