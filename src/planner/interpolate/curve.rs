//! One axis (axis_curve.rs): tokens of a mixture of experts, sizes of messages.

use super::super::Refusal;
use super::super::evidence::{How, Weights};
use super::super::leaves::Leaf;
use super::{fraction, no_anchor};

/// Points of one axis, sorted, each coordinate once.
#[derive(Debug)]
pub struct LatencyCurve {
    points: Vec<Leaf>,
}

impl LatencyCurve {
    /// A curve over the first coordinate of `points`, which are sorted and distinct.
    pub fn new(points: Vec<Leaf>) -> Self {
        Self { points }
    }

    /// Whether it is one point, and `at` lies below it.
    pub fn is_singleton_above(&self, at: f64) -> bool {
        self.points.len() == 1 && at < self.points[0].at[0] as f64
    }

    /// The latency at `at`, ms: exact, linear between neighbours, beyond both ends the end point's
    /// utilisation held.
    ///
    /// # Errors
    ///
    /// Beyond the ends, where the end point has no positive latency or bound.
    pub fn query(
        &self,
        at: f64,
        sol: &dyn Fn(f64) -> f64,
        weights: &mut Weights,
    ) -> Result<(f64, How), Refusal> {
        let next = self.points.partition_point(|p| (p.at[0] as f64) < at);
        let after = self.points.get(next);
        if let Some(point) = after.filter(|p| p.at[0] as f64 == at) {
            weights.push(point.row, 1.0);
            return Ok((point.ms, How::Exact));
        }
        let before = next.checked_sub(1).and_then(|i| self.points.get(i));
        match (before, after) {
            (Some(low), Some(high)) => {
                let w = fraction(at, low.at[0] as f64, high.at[0] as f64);
                weights.push(low.row, 1.0 - w);
                weights.push(high.row, w);
                Ok((low.ms + (high.ms - low.ms) * w, How::Between))
            }
            (Some(end), None) | (None, Some(end)) => {
                let bound = sol(end.at[0] as f64);
                if !(end.ms > 0.0 && bound > 0.0) {
                    return Err(no_anchor());
                }
                weights.push(end.row, 1.0);
                Ok((sol(at) / (bound / end.ms), How::Beyond))
            }
            (None, None) => Err(no_anchor()),
        }
    }
}
