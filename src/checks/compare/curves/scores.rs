//! The scores of the judged tables' curves, compared with other tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use tracing::debug;

use super::evidence::{ComparedDeviation, ReferenceEvidence, by_reference, evidence, shown_by};
use super::recurrence::evidence_in;
use super::references::{ReferenceGroups, comparable, reference_groups};
use super::shapes::{Roughness, SeriesScore, rougher, roughness, shape_scores};
use crate::checks::compare::peers::Peers;
use crate::checks::compare::series::{DeviatingPoint, FivePoints, KeyLatencies, TableCurve};
use crate::checks::compare::sketch::{SketchOutlier, SketchedTable};
use crate::database::catalog::TableFile;

/// The minimum number of deviating points that a thread scores as one unit of work.
const DEVIATIONS: usize = 512;

/// How far the series of the judged tables deviate from the series of other tables of the same name.
#[derive(Default)]
pub struct CurveScores {
    /// The latencies and references of all tables, by path.
    tables: BTreeMap<String, TableReferences>,
    /// The scores of the judged tables, by path.
    scores: BTreeMap<String, TableScores>,
}

/// A table's latencies with its references.
struct TableReferences {
    latencies: Arc<KeyLatencies>,
    /// The table's references, chosen on first use, since they are rarely needed for tables that are not judged.
    groups: OnceLock<ReferenceGroups>,
}

/// The scores of one table's curves.
pub(crate) struct TableScores {
    /// The table's curves.
    pub curve: Arc<TableCurve>,
    /// For each deviating point of the curve, in the same order, the result of comparing the point with other tables.
    pub deviations: Vec<ReferenceEvidence>,
    /// Scores of the series that deviate along their whole sweep.
    pub shapes: Vec<SeriesScore>,
    /// The roughness of the table's rough slices. A slice is not rough if it is smooth after division by the latencies
    /// of at least one other table.
    pub roughness: Vec<Roughness>,
    /// The roughness of each slice that a pull request makes rougher. It is computed from the latencies in the head
    /// divided by the latencies in the base.
    pub rougher: Vec<Roughness>,
}

/// How many points of a slice were compared with their neighbours, and how many of these points deviate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DeviatingPoints {
    /// The number of points that deviate.
    pub count_deviating: u32,
    /// The number of points that were compared with their neighbours.
    pub scored: u32,
}

impl DeviatingPoints {
    /// Returns the share of scored points that deviate.
    pub(crate) fn share(self) -> f64 {
        f64::from(self.count_deviating) / f64::from(self.scored.max(1))
    }
}

impl TableScores {
    /// Returns the result of comparing an outlier with other tables; `None` if the outlier is not among the curve's
    /// deviating points.
    pub(crate) fn of_outlier(&self, outlier: &SketchOutlier) -> Option<ReferenceEvidence> {
        let mut deviations = self.curve.deviations_at(outlier.hash);
        deviations
            .find(|(_, deviation)| deviation.row == outlier.outlier.row)
            .map(|(number, _)| self.deviations[number])
    }

    /// Counts a slice's deviating points that have a latency of at least `floor_ms` and for which `stands_out` returns
    /// true. `stands_out` gets the point's index in the curve's deviating points.
    pub(crate) fn spiked(
        &self,
        slice: u32,
        floor_ms: f64,
        stands_out: impl Fn(usize) -> bool,
    ) -> DeviatingPoints {
        let is_slow = |point: &DeviatingPoint| point.point.latency >= floor_ms as f32;
        let deviations = self.curve.deviations.iter().enumerate();
        let of_slice = deviations.filter(|(_, point)| point.slice == slice && is_slow(point));
        let spiked = of_slice.filter(|(number, _)| stands_out(*number)).count() as u32;
        DeviatingPoints { count_deviating: spiked, scored: self.curve.slow(slice) }
    }

    /// Divides a slice's latencies by those of the table `other`, and counts the points that then deviate from their
    /// neighbours by a factor of at least `least`. Points with a latency below `floor_ms` are left out. The number of
    /// compared points is estimated from a sample.
    pub(crate) fn count_deviating_from(
        &self,
        other: &KeyLatencies,
        slice: u32,
        least: f64,
        floor_ms: f64,
    ) -> DeviatingPoints {
        let of_slice = || self.curve.segments.iter().filter(|segment| segment.slice == slice);
        let is_there =
            |segment: &&FivePoints| segment.points.iter().all(|p| other.get(p.hash).is_some());
        let shared = of_slice().filter(is_there).count() as f64 / of_slice().count().max(1) as f64;
        let points = self.spiked(slice, floor_ms, |number| {
            let deviation = ComparedDeviation::of(&self.curve, &self.curve.deviations[number]);
            by_reference(&deviation, other).is_some_and(|ratio| ratio.abs() >= least.ln())
        });
        DeviatingPoints { scored: (f64::from(points.scored) * shared) as u32, ..points }
    }
}

impl CurveScores {
    /// Compares the series of the tables at the paths `judged` with all tables of the same name. `before` contains the
    /// latencies before a pull request, by table path.
    pub(crate) fn of(
        peers: &Peers<'_>,
        judged: &BTreeSet<&str>,
        before: Option<&BTreeMap<String, Arc<KeyLatencies>>>,
    ) -> Self {
        let is_judged = |(file, _): &SketchedTable<'_>| judged.contains(file.entry.path.as_str());
        let judged: Vec<SketchedTable<'_>> =
            peers.tables.iter().copied().filter(is_judged).collect();
        let tables = peers.tables.iter().filter_map(|(file, sketch)| {
            let latencies = sketch.latencies.clone()?;
            Some((file.entry.path.clone(), TableReferences { latencies, groups: OnceLock::new() }))
        });
        let tables: BTreeMap<String, TableReferences> = tables.collect();
        let scores = judged.par_iter().map(|(file, sketch)| {
            let path = &file.entry.path;
            let groups = tables.get(path)?.groups(peers, (file, sketch));
            let others = comparable(peers, (file, sketch));
            let before = before.and_then(|before| before.get(path));
            let scores = TableScores::of(sketch.curve.clone()?, groups, others, before);
            let TableScores { deviations, shapes, roughness, rougher, .. } = &scores;
            // These figures are the basis for the choice of thresholds.
            let points = deviations.len();
            debug!(?path, points, ?shapes, ?roughness, ?rougher, "scored curves");
            Some((path.clone(), scores))
        });
        Self { scores: scores.flatten().collect(), tables }
    }

    /// The scores of a judged table; `None` for other tables.
    pub(crate) fn of_table(&self, file: &TableFile) -> Option<&TableScores> {
        self.scores.get(&file.entry.path)
    }

    /// Returns the path of a reference that confirms a deviating point of a judged table; `None` if no reference
    /// confirms it. `index` is that of the deviating point.
    pub(crate) fn shown_by(&self, file: &TableFile, index: usize) -> Option<&str> {
        let groups = self.tables.get(&file.entry.path)?.groups.get()?;
        let TableScores { curve, deviations, .. } = self.of_table(file)?;
        let own = ComparedDeviation::of(curve, &curve.deviations[index]);
        shown_by(&own, groups, *deviations.get(index)?)
    }

    /// Returns true if the deviating point with the index `index` also deviates in another table, by a factor of at
    /// least `least` and with another latency. Then the deviation is a step of the kernel and not a disturbed
    /// measurement.
    pub(crate) fn recurs(
        &self,
        peers: &Peers<'_>,
        file: &TableFile,
        scores: &TableScores,
        index: usize,
        least: f64,
    ) -> bool {
        let own = ComparedDeviation::of(&scores.curve, &scores.curve.deviations[index]);
        peers.elsewhere(file).any(|(_, one)| {
            let Some(other) = self.tables.get(&one.0.entry.path) else { return false };
            let told = evidence_in(&other.latencies, || other.groups(peers, one), &own);
            told.is_some_and(|told| told.score.abs() >= least.ln())
        })
    }
}

impl TableReferences {
    fn groups(&self, peers: &Peers<'_>, own: SketchedTable<'_>) -> &ReferenceGroups {
        self.groups.get_or_init(|| reference_groups(peers, own))
    }
}

impl TableScores {
    /// Compares a table's series with its references, with all tables in `others`, and with its own latencies `before`
    /// a pull request.
    fn of<'k>(
        curve: Arc<TableCurve>,
        groups: &ReferenceGroups,
        others: impl Iterator<Item = &'k KeyLatencies>,
        before: Option<&Arc<KeyLatencies>>,
    ) -> Self {
        // Bends are scored in parallel, because a pull request may change a single large table.
        let deviations = curve.deviations.par_iter().with_min_len(DEVIATIONS);
        Self {
            deviations: deviations
                .map(|deviation| evidence(&ComparedDeviation::of(&curve, deviation), groups))
                .collect(),
            shapes: shape_scores(&curve, groups),
            roughness: roughness(&curve, others),
            rougher: before.map(|before| rougher(&curve, before)).unwrap_or_default(),
            curve,
        }
    }
}
