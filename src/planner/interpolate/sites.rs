//! Scattered shapes (perf_interp.rs 827–1093, gemm.rs 591): GEMM. A site is a measured (n, k), with a
//! curve over m.

use std::collections::HashMap;

use super::super::Refusal;
use super::super::evidence::{How, Weights};
use super::super::slices::Leaf;
use super::{Sol, fraction, is_usable, log2, no_anchor};

/// Sites that share an answer.
const NEAREST: usize = 4;
/// The farthest site that counts, in octaves.
const REACH: f64 = 2.0;
/// Points of a curve's end whose median utilisation is held.
const TAIL: usize = 3;

/// A measured shape.
#[derive(Debug)]
struct ShapeSite {
    shape: [f64; 2],
    logs: [f64; 2],
    /// By m, each once.
    curve: Vec<Leaf>,
}

/// All shapes of a dtype, in the order in which the planner meets them: it breaks ties of distance.
#[derive(Debug)]
pub struct Sites {
    sites: Vec<ShapeSite>,
    by_shape: HashMap<[u64; 2], usize>,
}

impl Sites {
    /// Sites of leaves at (m, n, k), sorted and distinct; `seq` of a leaf is its place in the order of
    /// reading. The planner reads into maps nested m → n → k that remember the first insertion at each
    /// level, and walks them.
    pub fn new(leaves: Vec<Leaf>) -> Self {
        let mut order: Vec<(u32, u32, u32, usize)> = Vec::with_capacity(leaves.len());
        for rows in leaves.chunk_by(|a, b| a.at[0] == b.at[0]) {
            let first = rows.iter().map(|l| l.seq).min().unwrap_or(0);
            for columns in rows.chunk_by(|a, b| a.at[1] == b.at[1]) {
                let second = columns.iter().map(|l| l.seq).min().unwrap_or(0);
                let at = order.len();
                order.extend(
                    columns.iter().enumerate().map(|(i, l)| (first, second, l.seq, at + i)),
                );
            }
        }
        order.sort_unstable();
        let mut this = Self { sites: Vec::new(), by_shape: HashMap::new() };
        for (.., i) in order {
            let leaf = leaves[i];
            let shape = [leaf.at[1], leaf.at[2]];
            let site = *this.by_shape.entry(shape).or_insert_with(|| {
                let shape = shape.map(|c| c as f64);
                this.sites.push(ShapeSite { shape, logs: shape.map(log2), curve: Vec::new() });
                this.sites.len() - 1
            });
            this.sites[site].curve.push(leaf);
        }
        for site in &mut this.sites {
            site.curve.sort_unstable_by_key(|l| l.at[0]);
        }
        this
    }

    /// The latency of a GEMM of (m, n, k), ms.
    ///
    /// # Errors
    ///
    /// Where no site is near enough, or none of the nearest has a usable row.
    pub fn query(
        &self,
        [m, n, k]: [u64; 3],
        sol: Sol<'_>,
        weights: &mut Weights,
    ) -> Result<(f64, How), Refusal> {
        if let Some(site) = self.by_shape.get(&[n, k]) {
            return self.sites[*site].query(m as f64, sol, weights);
        }
        let (m, shape) = (m as f64, [n as f64, k as f64]);
        let (mut total, mut utilisation) = (0.0, 0.0);
        let start = weights.mark();
        for (distance, site) in self.nearest(m, shape)? {
            let site = &self.sites[site];
            let mark = weights.mark();
            let bound = sol([m, site.shape[0], site.shape[1]]);
            let answer = site.query(m, sol, weights).ok();
            let usable = answer.filter(|(ms, _)| is_usable(*ms) && is_usable(bound));
            let Some((ms, _)) = usable else {
                weights.drop_since(mark);
                continue;
            };
            let share = 1.0 / (distance * distance + 1e-12);
            utilisation += share * (bound / ms);
            total += share;
            weights.scale(mark..weights.mark(), share);
        }
        if total <= 0.0 {
            return Err(Refusal::missing("no shape near it has a usable row"));
        }
        weights.scale(start..weights.mark(), 1.0 / total);
        Ok((sol([m, shape[0], shape[1]]) / (utilisation / total), How::Transfer))
    }

    /// Distances and indices of the sites that answer for a shape, nearest first.
    fn nearest(&self, m: f64, shape: [f64; 2]) -> Result<Vec<(f64, usize)>, Refusal> {
        let logs = shape.map(log2);
        let distance = |i: usize| {
            let [n, k] = self.sites[i].logs;
            let (n, k) = (n - logs[0], k - logs[1]);
            (n * n + k * k).sqrt()
        };
        let covering = |i: &usize| self.sites[*i].covers(m);
        let mut near: Vec<(f64, usize)> =
            (0..self.sites.len()).filter(covering).map(|i| (distance(i), i)).collect();
        if near.is_empty() {
            near = (0..self.sites.len()).map(|i| (distance(i), i)).collect();
        }
        if near.iter().any(|(d, _)| *d <= REACH) {
            near.retain(|(d, _)| *d <= REACH);
        } else {
            let kept = self.inside_axis(&near, shape)?;
            near.retain(|(_, i)| (self.sites[*i].logs[kept] - logs[kept]).abs() <= REACH);
        }
        if near.is_empty() {
            return Err(too_far());
        }
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.truncate(NEAREST);
        Ok(near)
    }

    /// Far from all sites: allowed only beyond the largest of one axis, below none. Returns the other
    /// axis, on which the sites must still be near (perf_interp.rs 1044).
    fn inside_axis(&self, near: &[(f64, usize)], shape: [f64; 2]) -> Result<usize, Refusal> {
        let mut over = Vec::new();
        for (axis, size) in shape.into_iter().enumerate() {
            let values = near.iter().map(|(_, i)| self.sites[*i].shape[axis]);
            let (low, high) =
                values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            if size < low {
                return Err(too_far());
            }
            if size > high {
                over.push(axis);
            }
        }
        match over[..] {
            [axis] => Ok(1 - axis),
            _ => Err(too_far()),
        }
    }
}

fn too_far() -> Refusal {
    Refusal::missing(format!("no measured shape is within {REACH} octaves"))
}

impl ShapeSite {
    /// Whether its curve spans m.
    fn covers(&self, m: f64) -> bool {
        let ends = self.curve.first().zip(self.curve.last());
        ends.is_some_and(|(a, b)| a.at[0] as f64 <= m && m <= b.at[0] as f64)
    }

    /// The latency at m of this very shape: exact, linear, beyond both ends the median utilisation of
    /// the end's points (perf_interp.rs 1093).
    fn query(&self, m: f64, sol: Sol<'_>, weights: &mut Weights) -> Result<(f64, How), Refusal> {
        let curve = &self.curve;
        let next = curve.partition_point(|l| (l.at[0] as f64) < m);
        let after = curve.get(next);
        if let Some(leaf) = after.filter(|l| l.at[0] as f64 == m) {
            weights.push(leaf.row, 1.0);
            return Ok((leaf.ms, How::Exact));
        }
        let before = next.checked_sub(1).and_then(|i| curve.get(i));
        if let (Some(low), Some(high)) = (before, after) {
            let w = fraction(m, low.at[0] as f64, high.at[0] as f64);
            weights.push(low.row, 1.0 - w);
            weights.push(high.row, w);
            return Ok((low.ms + (high.ms - low.ms) * w, How::Between));
        }
        let tail = if next == 0 {
            &curve[..curve.len().min(TAIL)]
        } else {
            &curve[curve.len().saturating_sub(TAIL)..]
        };
        let [n, k] = self.shape;
        let mut held: Vec<(f64, &Leaf)> = Vec::with_capacity(TAIL);
        for leaf in tail {
            let bound = sol([leaf.at[0] as f64, n, k]);
            if leaf.ms > 0.0 && bound > 0.0 {
                held.push((bound / leaf.ms, leaf));
            }
        }
        let mut values: Vec<f64> = held.iter().map(|(u, _)| *u).collect();
        let utilisation = median(&mut values).ok_or_else(no_anchor)?;
        for (_, leaf) in &held {
            weights.push(leaf.row, 1.0 / held.len() as f64);
        }
        Ok((sol([m, n, k]) / utilisation, How::Beyond))
    }
}

/// The median; the mean of the middle two where their number is even.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let high = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    Some((values[middle - 1] + high) / 2.0)
}
