//! Interpolation along up to three axes (perf_interp.rs 293–760): attention, MLA and its modules, scale
//! tables.

use std::ops::Range;
use std::sync::OnceLock;

use super::super::refusal::Refusal;
use super::leaf::{How, Leaf, Weights};
use super::{Sol, fraction, is_usable, log2, no_anchor};

/// Number of rows that share an answer beyond the grid.
const NEAREST: usize = 4;

/// A ragged grid: leaves sorted by distinct coordinates. A branch is a range of leaves that agree in
/// their first coordinates.
#[derive(Debug)]
pub(crate) struct LatencyGrid {
    axes: usize,
    /// The axis along which square roots are interpolated, because latency grows with its square; `None`
    /// if there is none.
    sqrt_axis: Option<usize>,
    /// The grid's leaves, sorted.
    pub(crate) leaves: Vec<Leaf>,
    /// log2 of the leaves' coordinates, computed for the first query beyond the grid.
    logs: OnceLock<Vec<[f64; 3]>>,
}

impl LatencyGrid {
    /// Creates a grid of `axes` axes from sorted, distinct leaves.
    pub(crate) fn new(axes: usize, sqrt_axis: Option<usize>, leaves: Vec<Leaf>) -> Self {
        Self { axes, sqrt_axis, leaves, logs: OnceLock::new() }
    }

    /// The latency at coordinates, in ms.
    ///
    /// # Errors
    ///
    /// If the query is beyond the grid and no row there has a positive latency and bound.
    pub(crate) fn query(
        &self,
        at: [u64; 3],
        sol: Sol<'_>,
        weights: &mut Weights,
    ) -> Result<(f64, How), Refusal> {
        if let Ok(i) = self.leaves.binary_search_by(|l| l.at.cmp(&at)) {
            weights.push(self.leaves[i].row, 1.0);
            return Ok((self.leaves[i].ms, How::Exact));
        }
        let mark = weights.mark();
        match self.inside(0..self.leaves.len(), 0, at, sol, weights) {
            Some(ms) => Ok((ms, How::Between)),
            None => {
                weights.drop_since(mark);
                self.hold(at, sol, weights).map(|ms| (ms, How::Beyond))
            }
        }
    }

    /// Answers from one branch, axis by axis. At a measured coordinate it descends; else it interpolates
    /// between the branches on both sides. Returns `None` if the coordinates are beyond all of the
    /// branch's sub-branches.
    fn inside(
        &self,
        branch: Range<usize>,
        axis: usize,
        at: [u64; 3],
        sol: Sol<'_>,
        weights: &mut Weights,
    ) -> Option<f64> {
        if axis == self.axes {
            let leaf = &self.leaves[branch.start];
            weights.push(leaf.row, 1.0);
            return Some(leaf.ms);
        }
        let next = self.first_at_least(&branch, axis, at[axis]);
        let after = (next < branch.end).then(|| self.leaves[next].at[axis]);
        if after == Some(at[axis]) {
            return self.inside(self.same_key(&branch, axis, next), axis + 1, at, sol, weights);
        }
        let high = after.filter(|_| next > branch.start)?;
        let low = self.leaves[next - 1].at[axis];
        let below = self.first_at_least(&branch, axis, low)..next;
        let above = self.same_key(&branch, axis, next);

        let start = weights.mark();
        let first = self.inside(below, axis + 1, at, sol, weights);
        if first.is_none() {
            weights.drop_since(start);
        }
        let middle = weights.mark();
        let second = self.inside(above, axis + 1, at, sol, weights);
        if second.is_none() {
            weights.drop_since(middle);
        }
        match (first, second) {
            (Some(a), Some(b)) => {
                let w = fraction(at[axis] as f64, low as f64, high as f64);
                weights.scale(start..middle, 1.0 - w);
                weights.scale(middle..weights.mark(), w);
                Some(self.blend(axis, a, b, w))
            }
            (Some(ms), None) => Some(survivor(ms, at, axis, low, sol)),
            (None, Some(ms)) => Some(survivor(ms, at, axis, high, sol)),
            (None, None) => None,
        }
    }

    fn blend(&self, axis: usize, a: f64, b: f64, w: f64) -> f64 {
        if self.sqrt_axis != Some(axis) {
            return a + (b - a) * w;
        }
        let (a, b) = (a.max(0.0).sqrt(), b.max(0.0).sqrt());
        let root = a + (b - a) * w;
        root * root
    }

    /// Index of the first leaf of a branch whose coordinate is at least `key`.
    fn first_at_least(&self, branch: &Range<usize>, axis: usize, key: u64) -> usize {
        branch.start + self.leaves[branch.clone()].partition_point(|l| l.at[axis] < key)
    }

    /// The leaves of a branch that share the coordinate of the leaf `first`, which is the first of them.
    fn same_key(&self, branch: &Range<usize>, axis: usize, first: usize) -> Range<usize> {
        let key = self.leaves[first].at[axis];
        first..first + self.leaves[first..branch.end].partition_point(|l| l.at[axis] == key)
    }

    /// Answers beyond the grid with the mean utilisation of the nearest leaves, by distance in log2 of
    /// the coordinates. The weights fall to 0 at the distance of the fifth leaf (perf_interp.rs 580).
    fn hold(&self, at: [u64; 3], sol: Sol<'_>, weights: &mut Weights) -> Result<f64, Refusal> {
        let floats = at.map(|c| c as f64);
        if self.axes == 1 {
            let last = self.leaves.last().filter(|l| at[0] > l.at[0]);
            let end = last.or(self.leaves.first()).ok_or_else(no_anchor)?;
            return end.held(sol([end.at[0] as f64, 0.0, 0.0]), sol(floats), weights);
        }
        let nearest = self.nearest(floats, sol);
        let picked = &nearest[..nearest.len().min(NEAREST)];
        if picked.is_empty() {
            return Err(no_anchor());
        }
        let radius = nearest.get(NEAREST).map(|fifth| fifth.distance);
        let mut shares: Vec<f64> = picked.iter().map(|n| n.share(radius)).collect();
        if shares.iter().sum::<f64>() <= 0.0 {
            shares.fill(1.0);
        }
        let total: f64 = shares.iter().sum();
        let mut utilisation = 0.0;
        for (share, near) in shares.iter().zip(picked) {
            utilisation += share * (near.bound / self.leaves[near.leaf].ms);
            weights.push(self.leaves[near.leaf].row, share / total);
        }
        let bound = sol(floats);
        if !is_usable(bound) {
            return Err(no_anchor());
        }
        Ok(bound / (utilisation / total))
    }

    /// The five nearest leaves with a usable latency and bound, nearest first.
    fn nearest(&self, at: [f64; 3], sol: Sol<'_>) -> Vec<NearLeaf> {
        let own = at.map(log2);
        let of_leaf = |leaf: &Leaf| leaf.at.map(|c| log2(c as f64));
        let logs = self.logs.get_or_init(|| self.leaves.iter().map(of_leaf).collect());
        let mut found: Vec<NearLeaf> = Vec::with_capacity(NEAREST + 2);
        for (number, (leaf, logs)) in self.leaves.iter().zip(logs).enumerate() {
            let apart = logs.iter().zip(&own).take(self.axes).map(|(log, own)| log - own);
            let distance = apart.map(|d| d * d).sum::<f64>().sqrt();
            let is_far = found.get(NEAREST).is_some_and(|fifth| fifth.distance <= distance);
            if is_far || !is_usable(leaf.ms) {
                continue;
            }
            let bound = sol(leaf.at.map(|c| c as f64));
            if is_usable(bound) {
                // Leaves come in order, so a leaf goes after earlier ones at the same distance.
                let place = found.partition_point(|near| near.distance <= distance);
                found.insert(place, NearLeaf { distance, leaf: number, bound });
                found.truncate(NEAREST + 1);
            }
        }
        found
    }
}

/// The latency of the only branch that answered, moved along the axis by the ratio of bounds.
fn survivor(ms: f64, at: [u64; 3], axis: usize, key: u64, sol: Sol<'_>) -> f64 {
    let here = at.map(|c| c as f64);
    let mut there = here;
    there[axis] = key as f64;
    let (here, there) = (sol(here), sol(there));
    if is_usable(here) && is_usable(there) { ms * (here / there) } else { ms }
}

/// A leaf near a query's coordinates.
struct NearLeaf {
    distance: f64,
    leaf: usize,
    bound: f64,
}

impl NearLeaf {
    /// The weight before normalisation; `radius` is the distance of the first leaf that is left out.
    fn share(&self, radius: Option<f64>) -> f64 {
        let d = self.distance;
        match radius {
            None => 1.0 / (d * d + 1e-12),
            Some(r) => {
                let share = (r - d).max(0.0) / (r * d + 1e-12);
                share * share
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;
    use crate::planner::interpolate::RowRef;

    /// Few synthetic sizes along each axis, so that distances are often equal; some rows have no
    /// latency.
    #[test]
    fn the_nearest_leaves_are_those_of_a_look_at_all() {
        let mut random = Random::new(17);
        for _ in 0..200 {
            let mut at = || [4, 5, 6].map(|most| random.below(most) as u64 * 3);
            let mut places: Vec<[u64; 3]> = (0..60).map(|_| at()).collect();
            let own = at().map(|size| size as f64 + 1.0);
            places.sort_unstable();
            places.dedup();
            let leaf = |(row, at): (u32, &[u64; 3])| {
                let ms = if random.below(4) == 0 { 0.0 } else { 0.5 };
                Leaf { at: *at, ms, row: RowRef { source: 0, row, powered: false } }
            };
            let leaves: Vec<Leaf> = (0..).zip(&places).map(leaf).collect();
            let axes = 2 + random.below(2);
            let distance = |leaf: &Leaf| {
                let apart = |axis: usize| log2(leaf.at[axis] as f64) - log2(own[axis]);
                (0..axes).map(|axis| apart(axis) * apart(axis)).sum::<f64>().sqrt()
            };
            let usable = leaves.iter().enumerate().filter(|(_, leaf)| leaf.ms > 0.0);
            let mut expected: Vec<(f64, usize)> =
                usable.map(|(number, leaf)| (distance(leaf), number)).collect();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            expected.truncate(NEAREST + 1);
            let grid = LatencyGrid::new(axes, None, leaves);
            let found = grid.nearest(own, &|_| 1.0);
            let found: Vec<(f64, usize)> = found.iter().map(|n| (n.distance, n.leaf)).collect();
            assert_eq!(found, expected);
        }
        assert!(LatencyGrid::new(2, None, Vec::new()).nearest([1.0; 3], &|_| 1.0).is_empty());
    }
}
