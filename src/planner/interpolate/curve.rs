//! Interpolation along one axis (axis_curve.rs): tokens of a mixture of experts, sizes of messages.

use super::super::refusal::Refusal;
use super::leaf::{How, Leaf, Weights};
use super::{fraction, no_anchor};

/// Points along one axis, sorted, with distinct coordinates.
#[derive(Debug)]
pub(crate) struct LatencyCurve {
    /// The curve's points, sorted.
    pub(super) points: Vec<Leaf>,
}

impl LatencyCurve {
    /// Creates a curve over the first coordinate of `points`, which are sorted and distinct.
    pub(crate) fn new(points: Vec<Leaf>) -> Self {
        Self { points }
    }

    /// Returns true if the curve is a single point and `at` is below it.
    pub(crate) fn is_singleton_above(&self, at: f64) -> bool {
        self.points.len() == 1 && at < self.points[0].at[0] as f64
    }

    /// The latency at `at` in ms. Exact at a point, linear between two points; beyond both ends, the end
    /// point's utilisation is kept.
    ///
    /// # Errors
    ///
    /// If `at` is beyond the ends and the end point has no positive latency or bound.
    pub(crate) fn query(
        &self,
        at: f64,
        sol: &dyn Fn(f64) -> f64,
        weights: &mut Weights,
    ) -> Result<(f64, How), Refusal> {
        if let Some(answer) = self.inside(at, weights) {
            return Ok(answer);
        }
        let first = self.points.first().filter(|first| at < first.at[0] as f64);
        let end = first.or(self.points.last()).ok_or_else(no_anchor)?;
        let ms = end.held(sol(end.at[0] as f64), sol(at), weights)?;
        Ok((ms, How::Beyond))
    }

    /// The latency in ms at a point or between two points; `None` beyond both ends.
    pub(super) fn inside(&self, at: f64, weights: &mut Weights) -> Option<(f64, How)> {
        let next = self.points.partition_point(|p| (p.at[0] as f64) < at);
        let high = self.points.get(next)?;
        if high.at[0] as f64 == at {
            weights.push(high.row, 1.0);
            return Some((high.ms, How::Exact));
        }
        let low = &self.points[next.checked_sub(1)?];
        let w = fraction(at, low.at[0] as f64, high.at[0] as f64);
        weights.push(low.row, 1.0 - w);
        weights.push(high.row, w);
        Some((low.ms + (high.ms - low.ms) * w, How::Between))
    }
}
