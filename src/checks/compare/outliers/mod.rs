//! Outliers: points far from their neighbours along every axis of their sweep.
//!
//! Two ways lead here. By itself, a point stands out by a factor that kernels' steps hardly reach. Beside
//! other tables ([`super::curves`]) much less is enough, since a step is in all of them; where these speak,
//! they decide. Both make one finding for each table, the worst points first.

mod evidence;
mod finding;
mod limits;
mod point;

use std::collections::BTreeSet;

use serde::Deserialize;
use tracing::debug;

use self::evidence::TableEvidence;
use self::finding::{TableOutliers, sweep};
pub use self::limits::OutlierLimits;
use self::limits::SmallSizes;
use self::point::{OutlyingPoint, StandsOutBy};
use crate::base::expr::ExprError;
use crate::base::stats::upper_median;
use crate::checks::compare::curves::{Evidence, KeyPoint, stands_out_in};
use crate::checks::compare::series::Outlier;
use crate::checks::compare::sketch::{Sketch, SketchOutlier, Sketched};
use crate::checks::context::CrossContext;
use crate::checks::inputs::{CheckInputs, CurveTerms};
use crate::checks::judge::Judge;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::findings::{Hit, Hits, Reads, RowHit, Severity};
use crate::specs::TableSpec;

/// Points that are slower (`SPIKE`) or faster than both neighbours along every axis.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Outliers<const SPIKE: bool>(OutlierLimits);

impl<const SPIKE: bool> Judge for Outliers<SPIKE> {
    fn reads(&self, spec: &TableSpec) -> Reads {
        Reads::loaded(spec)
    }

    fn needs(&self) -> CheckInputs {
        self.0.needs()
    }

    fn cross<'v>(
        &'v self,
        rule: RuleHead<'v>,
        at: &'v CrossContext<'v>,
    ) -> Result<Hits<'v>, ExprError> {
        Ok(self.0.hits(rule, at, SPIKE))
    }
}

/// What is to be said of an outlier.
#[derive(Debug, Clone, Copy, PartialEq)]
enum PointStanding {
    /// It stands out here alone.
    Alone,
    /// Other places show it, too: a kernel's step.
    Recurring,
    /// Nothing but a neighbour speaks for it.
    Unsupported,
}

/// An outlier, and what is to be said of it.
struct JudgedPoint {
    point: OutlyingPoint,
    standing: PointStanding,
}

impl SmallSizes {
    /// Counts points at small sizes of the sweep's first `axis` as steps of the kernel where most outliers there are.
    fn settle(self, points: &mut [JudgedPoint], axis: Option<&String>) {
        let Some(axis) = axis else { return };
        let is_small =
            |p: &&mut JudgedPoint| p.point.key(axis).is_some_and(|size| size <= self.most);
        let (mut alone, recurring): (Vec<_>, Vec<_>) = points
            .iter_mut()
            .filter(is_small)
            .filter(|p| p.standing != PointStanding::Unsupported)
            .partition(|p| p.standing == PointStanding::Alone);
        debug!(alone = alone.len(), recurring = recurring.len(), "outliers at small sizes");
        if recurring.len() >= self.recurring * alone.len() {
            alone.iter_mut().for_each(|p| p.standing = PointStanding::Recurring);
        }
    }
}

/// Logarithm from which on other tables confirm an outlier.
fn evidence_from(evidence: Option<&TableEvidence<'_>>) -> f64 {
    evidence.map_or(0.0, |e| e.limits.bends.ln())
}

impl OutlierLimits {
    fn needs(&self) -> CheckInputs {
        let curves = self.curves.map(|c| CurveTerms { bends: c.bends, floor_ms: self.floor_ms });
        CheckInputs {
            compares: true,
            outliers: Some(self.recurs),
            curves,
            ..CheckInputs::default()
        }
    }

    /// The outliers of each table; an info where all of them are outliers elsewhere, too.
    fn hits<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>, spike: bool) -> Hits<'v> {
        let scores = self.curves.map(|limits| (limits, at.curve_scores()));
        let mut found = Hits::new();
        for file in at.judged_tables() {
            let Some(sketch) = at.sketches.by_path.get(&file.entry.path) else { continue };
            let evidence = scores.and_then(|(limits, all)| {
                let scores = all.of_table(file)?;
                Some(TableEvidence { limits, all, scores, sketch, file })
            });
            let points = self.points(at, file, sketch, evidence.as_ref(), spike);
            let info = rule.severity.at_most(Severity::Info);
            let hits: Vec<RowHit> = points
                .iter()
                .map(|p| {
                    let is_alone = p.standing == PointStanding::Alone;
                    let grade = if is_alone { rule.severity } else { info };
                    RowHit { row: p.point.row as usize, grade }
                })
                .collect();
            found.extend(Hit::graded(file, hits, move |part| {
                let part = points.iter().filter(|p| part.has(p.point.row as usize));
                let of = |standing: PointStanding| -> Vec<OutlyingPoint> {
                    let of_part = part.clone().filter(|p| p.standing == standing);
                    of_part.map(|p| p.point.clone()).collect()
                };
                let alone = of(PointStanding::Alone);
                let outliers = TableOutliers {
                    file,
                    slices: &sketch.slices,
                    recurring: of(PointStanding::Recurring),
                    unsupported: of(PointStanding::Unsupported),
                    minor: self.is_minor(&alone),
                    alone,
                };
                outliers.finding(rule, at)
            }));
        }
        found
    }

    /// Whether points beside other tables are too few and too near for a warning.
    fn is_minor(&self, points: &[OutlyingPoint]) -> bool {
        let Some(limits) = self.curves else { return false };
        let minor =
            |p: &OutlyingPoint| p.by == StandsOutBy::References && p.factor() < limits.warns;
        !points.is_empty() && points.len() < limits.points && points.iter().all(minor)
    }

    /// The outliers of a table, and what is to be said of each.
    fn points(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        sketch: &Sketch,
        evidence: Option<&TableEvidence<'_>>,
        spike: bool,
    ) -> Vec<JudgedPoint> {
        let mut points = Vec::new();
        let beside = evidence.map(|e| e.standing_out(at, spike, self.floor_ms)).unwrap_or_default();
        let mut rows = BTreeSet::new();
        for (evidence, bend) in
            evidence.into_iter().flat_map(|e| beside.iter().map(move |b| (e, *b)))
        {
            let (point, recurs) = evidence.point(at, bend, self.recurs);
            rows.insert(point.row);
            let standing = if recurs {
                PointStanding::Recurring
            } else if !spike && self.at_level_of_peers(at, file, evidence.hash(bend), &point) {
                PointStanding::Unsupported
            } else {
                PointStanding::Alone
            };
            points.push(JudgedPoint { point, standing });
        }
        for point in evidence.into_iter().flat_map(|e| e.shapes(spike, self.floor_ms)) {
            points.push(JudgedPoint { point, standing: PointStanding::Alone });
        }
        let is_outlier = |o: &&SketchOutlier| {
            o.outlier.spike() == spike && self.is_outlier(file, &o.outlier, at)
        };
        let all: Vec<&SketchOutlier> = sketch.outliers.iter().filter(is_outlier).collect();
        for outlier in all.iter().copied().filter(|o| !rows.contains(&o.outlier.row)) {
            let acquitted = |told: Evidence| told.score.abs() < evidence_from(evidence);
            let shared = evidence.and_then(|e| e.on(outlier)).is_some_and(acquitted);
            let standing = if shared || self.recurs(at, file, outlier) {
                PointStanding::Recurring
            } else if self.supported(at, file, &all, outlier) {
                PointStanding::Alone
            } else {
                PointStanding::Unsupported
            };
            points.push(JudgedPoint { point: OutlyingPoint::alone(outlier), standing });
        }
        if let Some(small) = self.small {
            small.settle(&mut points, sweep(at, file).first());
        }
        points
    }

    /// Whether an outlier of a table is one elsewhere, too, beside the same neighbours.
    fn recurs(&self, at: &CrossContext<'_>, file: &TableFile, outlier: &SketchOutlier) -> bool {
        let SketchOutlier { outlier: Outlier { latency, .. }, hash, .. } = *outlier;
        let point = KeyPoint { hash, latency: latency as f32 };
        let spike = outlier.outlier.spike();
        let mut elsewhere = at.sketched().filter(|(other, _)| other.place != file.place);
        elsewhere.any(|(_, sketch)| {
            let latencies = sketch.latencies.as_deref();
            latencies.is_some_and(|other| {
                stands_out_in(other, point, &outlier.around, spike, self.recurs)
            })
        })
    }

    /// Whether something beside its neighbours speaks for an outlier. A drop at the end of every axis has
    /// neighbours on one side only, and a cache or an idle expert makes a first point fast: it needs a
    /// second one of its slice, or a peer on the machine that is as slow as the neighbours say. Any other
    /// drop has neighbours that are slow themselves where the machine's other tables are at its level.
    fn supported(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        all: &[&SketchOutlier],
        one: &SketchOutlier,
    ) -> bool {
        if one.outlier.spike() {
            return true;
        }
        let peers = peer_latencies(at, file, one.hash);
        let Outlier { latency, inner, .. } = one.outlier;
        if inner {
            return !self.at_level_of_peers(at, file, one.hash, &OutlyingPoint::alone(one));
        }
        let is_second = |o: &&&SketchOutlier| o.slice == one.slice && o.hash != one.hash;
        let slower = |peer: &f64| *peer >= self.factor * latency;
        all.iter().any(|o| is_second(&o)) || !peers.is_empty() && peers.iter().all(slower)
    }

    /// Whether the machine's other tables are nearer to a fast point than to its neighbours, by ratio.
    fn at_level_of_peers(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        key: u64,
        point: &OutlyingPoint,
    ) -> bool {
        let mut peers = peer_latencies(at, file, key);
        !peers.is_empty() && upper_median(&mut peers) <= point.latency / point.ratio.sqrt()
    }

    fn is_outlier(&self, file: &TableFile, point: &Outlier, at: &CrossContext<'_>) -> bool {
        // What the neighbours took, where they are the slower side.
        let slower = if point.spike() { point.latency } else { point.latency / point.ratio };
        let tail = at
            .state
            .specs
            .noise
            .at(&file.table, &file.place.backend, slower)
            .map_or(1.0, |b| b.p99);
        slower >= self.floor_ms && point.factor() >= self.factor.max(tail.powf(self.tails))
    }
}

/// What other tables of the machine take at a key.
fn peer_latencies(at: &CrossContext<'_>, file: &TableFile, key: u64) -> Vec<f64> {
    let peers = at
        .sketched()
        .filter(|(peer, _)| peer.place.system == file.place.system && peer.place != file.place);
    let latency = |(_, sketch): Sketched<'_>| sketch.latencies.as_ref()?.get(key).map(f64::from);
    peers.filter_map(latency).collect()
}
