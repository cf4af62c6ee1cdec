//! The scores of the judged tables' curves beside other tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use tracing::debug;

use super::curve::{BendPoint, Stretch, TableCurve};
use super::evidence::{Bent, Evidence, by_reference, evidence, shown_by};
use super::latencies::KeyLatencies;
use super::recurrence::evidence_in;
use super::references::{ReferenceGroups, comparable, reference_groups};
use super::shapes::{Roughness, ShapeScore, rougher, roughness, shape_scores};
use crate::checks::compare::kin::Kin;
use crate::checks::compare::sketch::Sketched;
use crate::database::catalog::TableFile;

/// The number of bends that a thread scores at once.
const STRETCH: usize = 512;

/// The scores of all judged tables, and the latencies of all tables of their name.
#[derive(Default)]
pub struct CurveScores {
    /// The latencies and references of all tables, by path.
    tables: BTreeMap<String, Referenced>,
    /// The scores of the judged tables, by path.
    scores: BTreeMap<String, TableScores>,
}

/// A table's latencies with its references.
struct Referenced {
    latencies: Arc<KeyLatencies>,
    /// The table's references, computed on first use: those of tables that are not judged are rarely needed.
    groups: OnceLock<ReferenceGroups>,
}

/// The scores of one table's curves.
pub struct TableScores {
    /// The table's curves.
    pub curve: Arc<TableCurve>,
    /// The evidence of other tables on each bend, in the order of the curve's bends.
    pub bends: Vec<Evidence>,
    /// Series that deviate as a whole, by their number.
    pub shapes: Vec<ShapeScore>,
    /// The roughness of the slices that are not smooth beside other tables.
    pub roughness: Vec<Roughness>,
    /// The roughness of the slices that were smoother before a pull request.
    pub rougher: Vec<Roughness>,
}

/// Counts of the points of a slice that stand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpikedPoints {
    /// The number of points that stand out.
    pub spiked: u32,
    /// The number of points that were scored.
    pub scored: u32,
}

impl SpikedPoints {
    /// Returns the share of scored points that stand out.
    pub fn share(self) -> f64 {
        f64::from(self.spiked) / f64::from(self.scored.max(1))
    }

    /// Counts the points of a slice of `curve` whose bends satisfy `stands_out`.
    fn of(
        curve: &TableCurve,
        slice: u32,
        floor_ms: f64,
        stands_out: impl Fn(usize, &BendPoint) -> bool,
    ) -> Self {
        let slow = |bend: &BendPoint| bend.slice == slice && bend.point.latency >= floor_ms as f32;
        let bends = curve.bends.iter().enumerate();
        let spiked = bends.filter(|(number, bend)| slow(bend) && stands_out(*number, bend)).count();
        Self { spiked: spiked as u32, scored: curve.slow(slice) }
    }
}

impl TableScores {
    /// Logs the figures from which thresholds are chosen.
    fn log(&self, file: &TableFile) {
        let path = &file.entry.path;
        debug!(?path, bends = self.bends.len(), shapes = self.shapes.len(), "scored curves");
        for rough in &self.roughness {
            debug!(
                ?path,
                slice = rough.slice,
                median = rough.median,
                references = rough.references,
                "roughness"
            );
        }
        for rough in &self.rougher {
            debug!(?path, slice = rough.slice, median = rough.median, "rougher than before");
        }
    }

    /// Counts the points of a slice that stand out by a factor of `least` beside at least `groups` groups of tables.
    pub fn spiked(&self, slice: u32, least: f64, groups: usize, floor_ms: f64) -> SpikedPoints {
        SpikedPoints::of(&self.curve, slice, floor_ms, |number, _| {
            self.bends[number].is(least, groups)
        })
    }

    /// Counts as [`TableScores::spiked`] does, without points that stand out in other places, too.
    pub fn spiked_alone(
        &self,
        all: &CurveScores,
        kin: &Kin<'_>,
        file: &TableFile,
        slice: u32,
        (least, groups): (f64, usize),
        floor_ms: f64,
    ) -> SpikedPoints {
        SpikedPoints::of(&self.curve, slice, floor_ms, |number, _| {
            self.bends[number].is(least, groups) && !all.recurs(kin, file, self, number, least)
        })
    }

    /// Counts the points of a slice that stand out by a factor of `least` in the ratio to one other table. The points
    /// that both have are estimated from the slice's stretches.
    pub fn spiked_beside(
        &self,
        other: &KeyLatencies,
        slice: u32,
        least: f64,
        floor_ms: f64,
    ) -> SpikedPoints {
        let of_slice = || self.curve.stretches.iter().filter(|stretch| stretch.slice == slice);
        let is_there =
            |stretch: &&Stretch| stretch.points.iter().all(|p| other.get(p.hash).is_some());
        let shared = of_slice().filter(is_there).count() as f64 / of_slice().count().max(1) as f64;
        let points = SpikedPoints::of(&self.curve, slice, floor_ms, |_, bend| {
            let told = by_reference(&Bent::of(&self.curve, bend), other);
            told.is_some_and(|told| told.abs() >= least.ln())
        });
        SpikedPoints { scored: (f64::from(points.scored) * shared) as u32, ..points }
    }
}

impl CurveScores {
    /// Scores the tables at the paths `judged` beside all tables of their name. `before` has the latencies before a pull
    /// request, by path.
    pub fn of(
        kin: &Kin<'_>,
        judged: &BTreeSet<&str>,
        before: Option<&BTreeMap<String, Arc<KeyLatencies>>>,
    ) -> Self {
        let is_judged = |(file, _): &Sketched<'_>| judged.contains(file.entry.path.as_str());
        let judged: Vec<Sketched<'_>> = kin.tables.iter().copied().filter(is_judged).collect();
        let tables = kin.tables.iter().filter_map(|(file, sketch)| {
            let latencies = sketch.latencies.clone()?;
            Some((file.entry.path.clone(), Referenced { latencies, groups: OnceLock::new() }))
        });
        let tables: BTreeMap<String, Referenced> = tables.collect();
        let scores = judged.par_iter().map(|(file, sketch)| {
            let path = &file.entry.path;
            let groups = tables.get(path)?.groups(kin, (file, sketch));
            let before = before.and_then(|before| before.get(path));
            let (curve, before) = (sketch.curve.clone()?, before.map(Arc::as_ref));
            let others = || comparable(kin, (file, sketch));
            let scores = TableScores::of(curve, groups, others, before);
            scores.log(file);
            Some((path.clone(), scores))
        });
        Self { scores: scores.flatten().collect(), tables }
    }

    /// Returns the scores of a judged table.
    pub fn of_table(&self, file: &TableFile) -> Option<&TableScores> {
        self.scores.get(&file.entry.path)
    }

    /// Returns the path of a table beside which a bend of a judged table stands out.
    pub fn shown_by(&self, file: &TableFile, bend: usize) -> Option<&str> {
        let groups = self.tables.get(&file.entry.path)?.groups.get()?;
        let TableScores { curve, bends, .. } = self.of_table(file)?;
        shown_by(&Bent::of(curve, &curve.bends[bend]), groups, *bends.get(bend)?)
    }

    /// Returns true if a bend of a table also stands out in another place, by a factor of `least` and with another latency.
    /// Such a bend is a step of the kernel.
    pub fn recurs(
        &self,
        kin: &Kin<'_>,
        file: &TableFile,
        scores: &TableScores,
        bend: usize,
        least: f64,
    ) -> bool {
        let own = Bent::of(&scores.curve, &scores.curve.bends[bend]);
        let mut elsewhere = kin.tables.iter().filter(|(table, _)| table.place != file.place);
        elsewhere.any(|one| {
            let Some(other) = self.tables.get(&one.0.entry.path) else { return false };
            let told = evidence_in(&other.latencies, || other.groups(kin, *one), &own);
            told.is_some_and(|told| told.score.abs() >= least.ln())
        })
    }
}

impl Referenced {
    /// Returns the references of the table.
    fn groups(&self, kin: &Kin<'_>, own: Sketched<'_>) -> &ReferenceGroups {
        self.groups.get_or_init(|| reference_groups(kin, own))
    }
}

impl TableScores {
    /// Scores a table's curves beside its references and beside its latencies before a pull request. Its roughness is
    /// also measured beside the `others`, all the tables that it can be compared with.
    fn of<'k, I: Iterator<Item = &'k KeyLatencies>>(
        curve: Arc<TableCurve>,
        groups: &'k ReferenceGroups,
        others: impl Fn() -> I,
        before: Option<&KeyLatencies>,
    ) -> Self {
        // Bends are scored in parallel, because a pull request may change a single large table.
        let stretches: Vec<&[BendPoint]> = curve.bends.chunks(STRETCH).collect();
        let bends: Vec<Vec<Evidence>> = stretches
            .par_iter()
            .map(|stretch| {
                let of_bend = |bend: &BendPoint| evidence(&Bent::of(&curve, bend), groups);
                stretch.iter().map(of_bend).collect::<Vec<Evidence>>()
            })
            .collect();
        let bends = bends.concat();
        let references = || groups.iter().flat_map(|(_, group)| group).map(|r| &*r.latencies);
        let is_new = |other: &&KeyLatencies| !references().any(|known| std::ptr::eq(known, *other));
        Self {
            bends,
            shapes: shape_scores(&curve, groups),
            roughness: roughness(&curve, || references().chain(others().filter(is_new))),
            rougher: before.map(|before| rougher(&curve, before)).unwrap_or_default(),
            curve,
        }
    }
}
