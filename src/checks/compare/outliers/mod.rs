//! Outliers: points far from their neighbours along every axis of their sweep.
//!
//! They are found in two ways. In its own table, a point must deviate by a large factor, which the steps of kernels
//! hardly reach. In the ratio to other tables ([`super::curves`]), a much smaller factor is enough, since all tables
//! have the steps of the kernels. If the ratio is known, it decides. Both ways lead to one finding per table, with the
//! worst points first.

mod finding;
mod point;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use self::finding::finding;
use self::point::{OutlierComparison, OutlyingPoint, PointStanding};
use crate::base::stats::upper_median;
use crate::checks::compare::curves::{SeriesScore, TableScores, is_outlier_in};
use crate::checks::compare::peers::Kinship;
use crate::checks::compare::series::{KeyPoint, Outlier};
use crate::checks::compare::sketch::{Sketch, SketchOutlier, SketchedTable};
use crate::checks::{CheckInputs, CrossContext, CurveTerms, Input, Judge, Judged, RuleHead};
use crate::database::catalog::TableFile;
use crate::findings::{Hit, Hits, RowHit, Severity};

/// The check for points that are slower (`SPIKE` is true) or faster than both neighbours along every axis.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Outliers<const SPIKE: bool>(OutlierLimits);

/// Limits for a point compared with its neighbours in the same table.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Standout")]
pub(crate) struct OutlierLimits {
    /// A point is an outlier if it differs from every neighbour by at least this factor.
    factor: f64,
    /// An outlier's factor must be at least f to the power of `tails`, where f is the 99th percentile of the factor
    /// between two measurements of the same point.
    tails: f64,
    /// An outlier or its neighbours must take at least this time in ms. If both are shorter, the timer's resolution
    /// explains deviations.
    floor_ms: f64,
    /// An outlier recurs in another table if the same key is an outlier there by at least this factor.
    recurs: f64,
    /// Limits for the comparison with other tables; `None` if outliers are not compared with other tables.
    #[serde(default)]
    curves: Option<CurveLimits>,
}

/// Limits for outliers that are found after division by another table's latencies.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CurveLimits {
    /// A point is compared with other tables if it is off the line between its neighbours by at least this factor. If
    /// the point's ratio to other tables is off by less than this factor, these tables bend there as well. The kernel
    /// then causes the bend, and the point is not an outlier.
    bends: f64,
    /// A point is an outlier if it deviates by at least this factor after division by another table's latencies.
    factor: f64,
    /// An outlier's factor must be at least f to the power of `tails`, where f is the 99th percentile of the factor
    /// between two measurements of the same point.
    tails: f64,
    /// The minimum factor of an outlier, in place of `factor`, if its latency is below `floor_ms`, where the timer is
    /// not precise.
    short: f64,
    /// An outlier or its neighbours must take at least this time in ms. No timer resolves shorter latencies.
    least_ms: f64,
    /// At least this many independent groups of other tables must confirm an outlier.
    groups: usize,
    /// A single outlier is a warning if it deviates by at least this factor.
    warns: f64,
    /// At least this many outliers in a table are a warning, whatever their factor.
    points: usize,
    /// Limits for series that deviate as a whole.
    shapes: ShapeLimits,
}

/// Limits for series that deviate along the whole sweep from the other series of their slice.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShapeLimits {
    /// A series deviates if it differs from its slice by at least this factor, after division by another table's
    /// latencies.
    factor: f64,
    /// If more than the share `share` of a slice's series differ from the slice by at least this factor, the slice is
    /// not judged. Such a slice runs other kernels than the other tables.
    calm: f64,
    /// The maximum share of a slice's series that may differ from the slice by the factor `calm` or more.
    share: f64,
}

impl<const SPIKE: bool> Judge for Outliers<SPIKE> {
    fn needs(&self) -> CheckInputs {
        let limits = &self.0;
        let terms =
            |c: CurveLimits| CurveTerms { least_deviation: c.bends, floor_ms: limits.floor_ms };
        let inputs = CheckInputs::of(&[Input::Peers]);
        inputs.with(Some(limits.recurs), limits.curves.map(terms))
    }

    fn cross<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>) -> Judged<'v> {
        Ok(self.0.hits(rule, at, SPIKE))
    }
}

impl OutlierLimits {
    /// Returns a hit on the outliers of each judged table. Outliers that other tables also have are infos.
    fn hits<'v>(&'v self, rule: RuleHead<'v>, at: &'v CrossContext<'v>, spike: bool) -> Hits<'v> {
        let mut found = Hits::new();
        for file in at.judged_tables() {
            let Some(sketch) = at.sketches.get(&file.entry.path) else { continue };
            let points = self.outliers(at, (file, sketch), spike);
            let info = rule.severity.at_most(Severity::Info);
            let hit = |p: &OutlyingPoint| {
                let is_alone = p.standing == PointStanding::Alone;
                RowHit { row: p.row as usize, grade: if is_alone { rule.severity } else { info } }
            };
            let hits: Vec<RowHit> = points.iter().map(hit).collect();
            found.extend(Hit::graded(file, hits, move |part| {
                let part = points.iter().filter(|p| part.has(p.row as usize)).collect();
                finding(rule, at, (file, sketch), part, |points| self.are_minor(points))
            }));
        }
        found
    }

    /// Returns true if the outliers are worth only an info: there are few of them, and each was found only by
    /// comparison with other tables, with a small factor.
    fn are_minor(&self, points: &[&OutlyingPoint]) -> bool {
        let is_near = |point: &&OutlyingPoint, limits: CurveLimits| {
            point.by == OutlierComparison::References && point.factor() < limits.warns
        };
        self.curves.is_some_and(|limits| {
            points.len() < limits.points && points.iter().all(|point| is_near(point, limits))
        })
    }

    /// Returns the outliers of a table: its spikes if `spike` is true, otherwise its drops.
    fn outliers(
        &self,
        at: &CrossContext<'_>,
        table: SketchedTable<'_>,
        spike: bool,
    ) -> Vec<OutlyingPoint> {
        let (file, sketch) = table;
        let beside =
            self.curves.and_then(|limits| Some((limits, at.curve_scores().of_table(file)?)));
        let mut points = Vec::new();
        if let Some((limits, scores)) = beside {
            points = self.confirmed_points(at, file, (limits, scores), spike);
        }
        let rows: BTreeSet<u32> = points.iter().map(|point| point.row).collect();
        if let Some((limits, scores)) = beside {
            points.extend(self.shapes(sketch, (limits, scores), spike));
        }
        let is_outlier = |o: &&SketchOutlier| {
            o.outlier.spike() == spike && self.is_outlier(file, &o.outlier, at)
        };
        let all = sketch.outliers.iter().filter(is_outlier);
        let others = all.filter(|o| !rows.contains(&o.outlier.row) && self.supported(at, file, o));
        for outlier in others {
            // Other tables refute an outlier if they have it, too.
            let is_acquitted = beside.is_some_and(|(limits, scores)| {
                let evidence = scores.of_outlier(outlier).filter(|evidence| evidence.groups > 0);
                evidence.is_some_and(|evidence| evidence.score.abs() < limits.bends.ln())
            });
            let mut point = OutlyingPoint::in_own_table(outlier);
            if is_acquitted || self.recurs(at, file, outlier) {
                point.standing = PointStanding::Recurring;
            }
            points.push(point);
        }
        points
    }

    /// Returns the points whose deviation enough groups of references confirm: slow points if `spike` is true,
    /// otherwise fast ones.
    fn confirmed_points(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        (limits, scores): (CurveLimits, &TableScores),
        spike: bool,
    ) -> Vec<OutlyingPoint> {
        let all = at.curve_scores();
        let stands_out = |number: &usize| {
            let (bend, found) = (&scores.curve.deviations[*number], scores.deviations[*number]);
            // The point's latency, or the one that its neighbours predict, whichever is longer.
            let slower = f64::from(bend.point.latency) * (-found.score).exp().max(1.0);
            let least = if slower < self.floor_ms { limits.short } else { limits.factor };
            found.groups >= limits.groups
                && (found.score > 0.0) == spike
                && slower >= limits.least_ms
                && found.score.abs()
                    >= least.max(rerun_tail(at, file, slower).powf(limits.tails)).ln()
        };
        let point = |number: usize| {
            let mut point =
                OutlyingPoint::in_ratio_to_others(scores, number, all.shown_by(file, number));
            let key = scores.curve.deviations[number].point.hash;
            if !spike && self.at_level_of_peers(at, file, key, &point) {
                return None;
            }
            if all.recurs(at.peers, file, scores, number, self.recurs) {
                point.standing = PointStanding::Recurring;
            }
            Some(point)
        };
        (0..scores.deviations.len()).filter(stands_out).filter_map(point).collect()
    }

    /// Returns the series that deviate along their whole sweep: slow series if `spike` is true, otherwise fast ones.
    /// Slices in which many series deviate are left out. Each series is represented by its middle point.
    fn shapes(
        &self,
        sketch: &Sketch,
        (CurveLimits { groups, shapes: limits, .. }, scores): (CurveLimits, &TableScores),
        spike: bool,
    ) -> Vec<OutlyingPoint> {
        let (all, found) = (&scores.curve.shapes, &scores.shapes);
        let judged = |s: &&SeriesScore| s.groups >= groups;
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
        let is_off = |s: &&SeriesScore| {
            let shape = &all[s.shape];
            (s.score > 0.0) == spike
                && s.score.abs() >= limits.factor.ln()
                && shape.latency() * (-s.score).exp().max(1.0) >= self.floor_ms
                && is_calm(shape.slice)
        };
        let off = found.iter().filter(judged).filter(is_off);
        off.map(|score| OutlyingPoint::of_shape(scores, score)).collect()
    }

    /// Returns true if the same point is also an outlier in another table, compared with the same neighbours.
    fn recurs(&self, at: &CrossContext<'_>, file: &TableFile, outlier: &SketchOutlier) -> bool {
        let SketchOutlier { outlier: Outlier { latency, .. }, hash, .. } = *outlier;
        let point = KeyPoint { hash, latency: latency as f32 };
        let spike = outlier.outlier.spike();
        at.peers.elsewhere(file).any(|(_, (_, sketch))| {
            let latencies = sketch.latencies.as_deref();
            latencies.is_some_and(|other| {
                is_outlier_in(other, point, &outlier.around, spike, self.recurs)
            })
        })
    }

    /// Returns true if an outlier is probably a wrong measurement. Returns true for every spike (a slow point). Returns
    /// false for a drop (a fast point) in two cases:
    /// - It is at the end of every axis, where a cache or an idle expert may make it fast.
    /// - The machine's other tables are about as fast at the same key.
    fn supported(&self, at: &CrossContext<'_>, file: &TableFile, one: &SketchOutlier) -> bool {
        let Outlier { inner, .. } = one.outlier;
        let at_level =
            || self.at_level_of_peers(at, file, one.hash, &OutlyingPoint::in_own_table(one));
        one.outlier.spike() || (inner && !at_level())
    }

    /// Returns true if the machine's other tables confirm a fast point: their median latency at the same key is nearer
    /// to the point's latency than to the latency expected from the neighbours, on a logarithmic scale.
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
        // The longer of the point's latency and its neighbours' latency.
        let slower = if point.spike() { point.latency } else { point.latency / point.ratio };
        slower >= self.floor_ms
            && point.factor() >= self.factor.max(rerun_tail(at, file, slower).powf(self.tails))
    }
}

/// Returns the 99th percentile of the factor between two measurements of the same point, at a latency in ms; 1 if it is
/// not known.
fn rerun_tail(at: &CrossContext<'_>, file: &TableFile, latency: f64) -> f64 {
    let noise = at.state.specs.noise.at(&file.table, &file.place.backend, latency);
    noise.map_or(1.0, |band| band.p99)
}

/// Returns the latencies of the machine's other tables at a key.
fn peer_latencies(at: &CrossContext<'_>, file: &TableFile, key: u64) -> Vec<f64> {
    let is_peer = |kinship| matches!(kinship, Kinship::Version | Kinship::Backend);
    let peers = at.peers.elsewhere(file).filter(|(kinship, _)| is_peer(*kinship));
    let latency = |(_, (_, sketch)): (_, SketchedTable<'_>)| sketch.latencies.as_ref()?.get(key);
    peers.filter_map(latency).map(f64::from).collect()
}
