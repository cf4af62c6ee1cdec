//! What other tables say of a table's points and series.

use crate::checks::compare::curves::{CurveScores, Evidence, ShapeScore, TableScores};
use crate::checks::compare::sketch::{Sketch, SketchOutlier};
use crate::checks::context::CrossContext;
use crate::database::catalog::TableFile;

use super::limits::CurveLimits;
use super::point::OutlyingPoint;

/// What other tables say of a table's points.
pub(super) struct TableEvidence<'a> {
    pub limits: CurveLimits,
    pub all: &'a CurveScores,
    pub scores: &'a TableScores,
    pub sketch: &'a Sketch,
    pub file: &'a TableFile,
}

impl TableEvidence<'_> {
    /// What they say of an outlier; none where they say nothing.
    pub fn on(&self, outlier: &SketchOutlier) -> Option<Evidence> {
        let bends = self.scores.curve.bends_at(outlier.hash);
        let number = bends.filter(|(_, b)| b.row == outlier.outlier.row).map(|(n, _)| n).next()?;
        Some(self.scores.bends[number]).filter(|evidence| evidence.groups > 0)
    }

    /// Bends, slow or fast ones, that enough groups of tables do not have, by number.
    pub fn standing_out(&self, at: &CrossContext<'_>, spike: bool, floor_ms: f64) -> Vec<usize> {
        let stands_out = |number: &usize| {
            let (bend, found) = (&self.scores.curve.bends[*number], self.scores.bends[*number]);
            if found.groups < self.limits.groups || (found.score > 0.0) != spike {
                return false;
            }
            let latency = f64::from(bend.point.latency);
            // What it should take, where that is the slower side.
            let slower = latency * (-found.score).exp().max(1.0);
            let (table, backend) = (&self.file.table, &self.file.place.backend);
            let tail = at.state.specs.noise.at(table, backend, slower).map_or(1.0, |b| b.p99);
            if slower < self.limits.least_ms {
                return false;
            }
            let least = if slower < floor_ms { self.limits.short } else { self.limits.factor };
            found.score.abs() >= least.max(tail.powf(self.limits.tails)).ln()
        };
        (0..self.scores.bends.len()).filter(stands_out).collect()
    }

    /// The hash of a bend's key.
    pub fn hash(&self, bend: usize) -> u64 {
        self.scores.curve.bends[bend].point.hash
    }

    /// Series, slow or fast ones, that are off all along their sweep in a slice whose others are not.
    pub fn shapes(&self, spike: bool, floor_ms: f64) -> Vec<OutlyingPoint> {
        let limits = self.limits.shapes;
        let (all, found) = (&self.scores.curve.shapes, &self.scores.shapes);
        let judged = |s: &&ShapeScore| s.groups >= self.limits.groups;
        let slices = self.sketch.slices.len();
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
                && shape.latency() * (-s.score).exp().max(1.0) >= floor_ms
                && is_calm(shape.slice)
        };
        let off = found.iter().filter(judged).filter(is_off);
        off.map(|score| OutlyingPoint::of_shape(self.scores, score)).collect()
    }

    /// A bend as findings show it, and whether it recurs elsewhere.
    pub fn point(&self, at: &CrossContext<'_>, bend: usize, recurs: f64) -> (OutlyingPoint, bool) {
        let evidence = self.scores.bends[bend];
        let recurs = self.all.recurs(at.kin, self.file, self.scores, bend, recurs);
        let reference = self.all.shown_by(self.file, bend).map(str::to_owned);
        (OutlyingPoint::beside(self.scores, bend, evidence, reference), recurs)
    }
}
