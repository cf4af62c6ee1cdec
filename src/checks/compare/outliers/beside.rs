//! Points and series of a table that stand out in the ratio to other tables.

use super::limits::{CurveLimits, OutlierLimits};
use super::point::{OutlyingPoint, PointStanding};
use super::rerun_tail;
use crate::checks::compare::curves::{ShapeScore, TableScores};
use crate::checks::compare::sketch::Sketch;
use crate::checks::context::CrossContext;
use crate::database::catalog::TableFile;

impl OutlierLimits {
    /// Returns the bends, slow or fast ones, that enough groups of tables do not have.
    pub(super) fn bends(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        (limits, scores): (CurveLimits, &TableScores),
        spike: bool,
    ) -> Vec<OutlyingPoint> {
        let all = at.curve_scores();
        let stands_out = |number: &usize| {
            let (bend, found) = (&scores.curve.bends[*number], scores.bends[*number]);
            // The longer of the latencies that the point has and that its neighbours predict.
            let slower = f64::from(bend.point.latency) * (-found.score).exp().max(1.0);
            let least = if slower < self.floor_ms { limits.short } else { limits.factor };
            found.groups >= limits.groups
                && (found.score > 0.0) == spike
                && slower >= limits.least_ms
                && found.score.abs()
                    >= least.max(rerun_tail(at, file, slower).powf(limits.tails)).ln()
        };
        let point = |number: usize| {
            let mut point = OutlyingPoint::beside(scores, number, all.shown_by(file, number));
            let key = scores.curve.bends[number].point.hash;
            if !spike && self.at_level_of_peers(at, file, key, &point) {
                return None;
            }
            if all.recurs(at.peers, file, scores, number, self.recurs) {
                point.standing = PointStanding::Recurring;
            }
            Some(point)
        };
        (0..scores.bends.len()).filter(stands_out).filter_map(point).collect()
    }

    /// Returns the series, slow or fast ones, that are off all along their sweep in a slice whose other series are not.
    pub(super) fn shapes(
        &self,
        sketch: &Sketch,
        (CurveLimits { groups, shapes: limits, .. }, scores): (CurveLimits, &TableScores),
        spike: bool,
    ) -> Vec<OutlyingPoint> {
        let (all, found) = (&scores.curve.shapes, &scores.shapes);
        let judged = |s: &&ShapeScore| s.groups >= groups;
        let slices = sketch.slices.len();
        let (mut sizes, mut restless) = (vec![0usize; slices], vec![0usize; slices]);
        all.iter().for_each(|shape| sizes[shape.slice as usize] += 1);
        for score in found.iter().filter(judged).filter(|s| s.score.abs() >= limits.calm.ln()) {
            restless[all[score.shape].slice as usize] += 1;
        }
        let is_calm = |slice: u32| {
            let most = (limits.share * sizes[slice as usize] as f64).max(1.0);
            restless[slice as usize] as f64 <= most
        };
        let is_off = |s: &&ShapeScore| {
            let shape = &all[s.shape];
            (s.score > 0.0) == spike
                && s.score.abs() >= limits.factor.ln()
                && shape.latency() * (-s.score).exp().max(1.0) >= self.floor_ms
                && is_calm(shape.slice)
        };
        let off = found.iter().filter(judged).filter(is_off);
        off.map(|score| OutlyingPoint::of_shape(scores, score)).collect()
    }
}
