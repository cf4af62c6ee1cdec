//! Interpolation between scattered shapes (perf_interp.rs 827–1093, gemm.rs 591), for GEMM. A site is a
//! measured shape (n, k) with a curve over m.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::HashMap;

use super::super::refusal::Refusal;
use super::curve::LatencyCurve;
use super::leaf::{How, Leaf, Weights};
use super::shapes::{FirstMet, FirstPlaces, ShapeRows};
use super::{Sol, is_usable, log2, no_anchor};

/// Number of sites that share an answer.
const NEAREST: usize = 4;
/// Distance of the farthest site that is used, in octaves.
const REACH: f64 = 2.0;
/// Number of points at a curve's end whose median utilisation is kept.
const TAIL: usize = 3;

/// A measured shape (n, k).
#[derive(Debug)]
struct ShapeSite {
    shape: [u64; 2],
    logs: [f64; 2],
    /// Lowest and highest m of the shape's rows.
    span: [u64; 2],
    /// The first place in the reading order, computed when it is needed.
    first: OnceLock<FirstMet>,
}

/// All measured shapes of a dtype.
#[derive(Debug)]
pub(crate) struct Sites {
    sites: Vec<ShapeSite>,
    /// The first places of sizes, computed when two shapes are equally far away.
    first: OnceLock<FirstPlaces>,
    transfers: Mutex<Transfers>,
}

/// Answers for shapes that were not measured, by (m, n, k). They are kept because layouts, models and
/// both states of a comparison repeat the same queries.
type Transfers = HashMap<[u64; 3], Result<Arc<Transfer>, Refusal>>;

/// A latency in ms, with the rows that it is computed from.
#[derive(Debug)]
struct Transfer {
    ms: f64,
    rows: Weights,
}

/// The latency of a GEMM of (m, n, k) in ms. `sites` is called if the shape was not measured. Sites keep
/// their answers, so `rows` and `sol` must be the same in every call.
///
/// # Errors
///
/// If no site is near enough, or none of the nearest sites has a usable row.
pub(crate) fn query(
    [m, n, k]: [u64; 3],
    rows: &dyn ShapeRows,
    sites: impl FnOnce() -> Arc<Sites>,
    sol: Sol<'_>,
    weights: &mut Weights,
) -> Result<(f64, How), Refusal> {
    let curve = rows.curve([n, k]);
    if curve.points.is_empty() {
        sites().answer([m, n, k], rows, sol, weights)
    } else {
        at_shape([n, k], &curve, m as f64, sol, weights)
    }
}

impl Sites {
    /// Creates the sites of all shapes in `rows`.
    pub(crate) fn new(rows: &dyn ShapeRows) -> Self {
        let site = |(shape, span): ([u64; 2], [u64; 2])| {
            let logs = shape.map(|c| log2(c as f64));
            ShapeSite { shape, logs, span, first: OnceLock::new() }
        };
        Self {
            sites: rows.spans().into_iter().map(site).collect(),
            first: OnceLock::new(),
            transfers: Mutex::default(),
        }
    }

    /// The latency at a shape that was not measured, from the kept answers if possible.
    fn answer(
        &self,
        at: [u64; 3],
        rows: &dyn ShapeRows,
        sol: Sol<'_>,
        weights: &mut Weights,
    ) -> Result<(f64, How), Refusal> {
        let known = || self.transfers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = known().get(&at).cloned();
        // The answer is computed without the lock; two threads may compute the same.
        let answer = answer.unwrap_or_else(|| {
            let answer = self.transfer(at, rows, sol).map(Arc::new);
            known().insert(at, answer.clone());
            answer
        })?;
        weights.extend(&answer.rows);
        Ok((answer.ms, How::Transfer))
    }

    /// Computes the latency at a shape that was not measured from the nearest shapes.
    fn transfer(
        &self,
        [m, n, k]: [u64; 3],
        rows: &dyn ShapeRows,
        sol: Sol<'_>,
    ) -> Result<Transfer, Refusal> {
        let (m, shape) = (m as f64, [n as f64, k as f64]);
        let (mut total, mut utilisation) = (0.0, 0.0);
        let mut weights = Weights::new(true);
        for (distance, site) in self.nearest(m, shape, rows)? {
            let site = self.sites[site].shape;
            let mark = weights.mark();
            let bound = sol([m, site[0] as f64, site[1] as f64]);
            let answer = at_shape(site, &rows.curve(site), m, sol, &mut weights).ok();
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
            return Err(Refusal::missing("no nearby shape has a usable row"));
        }
        weights.scale(0..weights.mark(), 1.0 / total);
        let ms = sol([m, shape[0], shape[1]]) / (utilisation / total);
        Ok(Transfer { ms, rows: weights })
    }

    /// Distances and indices of the sites that answer for a shape, nearest first.
    fn nearest(
        &self,
        m: f64,
        shape: [f64; 2],
        rows: &dyn ShapeRows,
    ) -> Result<Vec<(f64, usize)>, Refusal> {
        let logs = shape.map(log2);
        let covers = |site: &ShapeSite| site.covers(m);
        // If no curve covers m, all curves may answer.
        let is_covered = self.sites.iter().any(covers);
        let counts = |site: &ShapeSite| !is_covered || covers(site);
        let counted = self.sites.iter().enumerate().filter(|(_, site)| counts(site));
        let all: Vec<_> = counted.map(|(i, site)| (site.distance(logs), i)).collect();
        let within_reach = |(distance, _): &&(f64, usize)| *distance <= REACH;
        let mut near: Vec<_> = all.iter().filter(within_reach).copied().collect();
        if near.is_empty() {
            near = all;
            let kept = self.inside_axis(&near, shape)?;
            near.retain(|(_, i)| (self.sites[*i].logs[kept] - logs[kept]).abs() <= REACH);
        }
        if near.is_empty() {
            return Err(too_far());
        }
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if let Some((fifth, _)) = near.get(NEAREST).copied() {
            near.retain(|(distance, _)| *distance <= fifth);
        }
        // The planner decides which of equally distant sites answer. Their order is not reproduced,
        // because it changes only the last bits of a sum.
        if near.len() > NEAREST && near[NEAREST - 1].0 == near[NEAREST].0 {
            let first = self.first.get_or_init(|| FirstPlaces::of(rows));
            let met = |i: usize| {
                let ShapeSite { shape, first: known, .. } = &self.sites[i];
                *known.get_or_init(|| first.of_shape(*shape, rows))
            };
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| met(a.1).cmp(&met(b.1))));
        }
        near.truncate(NEAREST);
        Ok(near)
    }

    /// Checks a shape that is far from all sites: it may exceed the largest site along one axis only,
    /// and may not be below the smallest along any. Returns the other axis, along which sites must be
    /// near (perf_interp.rs 1044).
    fn inside_axis(&self, near: &[(f64, usize)], shape: [f64; 2]) -> Result<usize, Refusal> {
        let mut over = Vec::new();
        for (axis, size) in shape.into_iter().enumerate() {
            let values = near.iter().map(|(_, i)| self.sites[*i].shape[axis] as f64);
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
    Refusal::missing(format!("no measured shape is within a factor of 2^{REACH}"))
}

impl ShapeSite {
    /// The distance to another shape in octaves, given its log2 sizes.
    fn distance(&self, logs: [f64; 2]) -> f64 {
        let (n, k) = (self.logs[0] - logs[0], self.logs[1] - logs[1]);
        (n * n + k * k).sqrt()
    }

    /// Returns true if the site's curve spans m.
    fn covers(&self, m: f64) -> bool {
        self.span[0] as f64 <= m && m <= self.span[1] as f64
    }
}

/// The latency of a measured shape at m. Exact at a row, linear between two rows; beyond both ends, the
/// median utilisation of the end's points is kept (perf_interp.rs 1093).
fn at_shape(
    shape: [u64; 2],
    curve: &LatencyCurve,
    m: f64,
    sol: Sol<'_>,
    weights: &mut Weights,
) -> Result<(f64, How), Refusal> {
    if let Some(answer) = curve.inside(m, weights) {
        return Ok(answer);
    }
    let points = &curve.points;
    let is_below = points.first().is_some_and(|first| m < first.at[0] as f64);
    let tail = if is_below {
        &points[..points.len().min(TAIL)]
    } else {
        &points[points.len().saturating_sub(TAIL)..]
    };
    let [n, k] = shape.map(|c| c as f64);
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

/// The median; for an even number of values, the mean of the middle two.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let high = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    Some((values[middle - 1] + high) / 2.0)
}
