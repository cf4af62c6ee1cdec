//! What other tables say of the curves of all judged tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracing::debug;

use super::curve::{BendPoint, TableCurve};
use super::evidence::{Evidence, evidence, shown_by};
use super::references::{ReferenceGroups, SAME, reference_groups};
use super::shapes::{Roughness, ShapeScore, rougher, roughness, shape_scores};
use crate::base::threads;
use crate::checks::CrossContext;
use crate::checks::compare::sketch::Sketched;
use crate::database::catalog::TableFile;

/// What other tables say of the curves of the judged tables.
#[derive(Default)]
pub struct CurveScores {
    /// By path: all tables.
    tables: BTreeMap<String, Referenced>,
    /// By path: the judged tables.
    scores: BTreeMap<String, TableScores>,
}

/// A table's curves with their references.
struct Referenced {
    curve: Arc<TableCurve>,
    groups: ReferenceGroups,
}

/// What other tables say of the curves of one.
pub struct TableScores {
    /// Its curves.
    pub curve: Arc<TableCurve>,
    /// What they say of each bend, in the order of the curve's bends.
    pub bends: Vec<Evidence>,
    /// Series that are off as a whole, by their number.
    pub shapes: Vec<ShapeScore>,
    /// How rough its slices are, of those that are not smooth.
    pub roughness: Vec<Roughness>,
    /// The same beside what a pull request made them of, where they were smoother before.
    pub rougher: Vec<Roughness>,
}

/// Points of a slice that stand out a little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpikedPoints {
    /// How many.
    pub spiked: u32,
    /// Points that could.
    pub scored: u32,
}

impl SpikedPoints {
    /// Their share.
    pub fn share(self) -> f64 {
        f64::from(self.spiked) / f64::from(self.scored.max(1))
    }

    /// Those of a slice of `curve` by what is said of its bends.
    fn of(
        curve: &TableCurve,
        slice: u32,
        floor_ms: f64,
        stands_out: impl Fn(usize, &BendPoint) -> bool,
    ) -> Self {
        let slow =
            |bend: &BendPoint| bend.slice == slice && f64::from(bend.point.latency) >= floor_ms;
        let bends = curve.bends.iter().enumerate();
        let spiked = bends.filter(|(number, bend)| slow(bend) && stands_out(*number, bend)).count();
        Self { spiked: spiked as u32, scored: curve.slow(slice) }
    }
}

impl TableScores {
    /// Logs what thresholds are chosen by.
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

    /// The points of a slice that stand out by a factor of `least` beside `groups` of tables.
    pub fn spiked(&self, slice: u32, least: f64, groups: usize, floor_ms: f64) -> SpikedPoints {
        SpikedPoints::of(&self.curve, slice, floor_ms, |number, _| {
            self.bends[number].is(least, groups)
        })
    }

    /// As [`TableScores::spiked`], without the points that stand out in other places, too.
    pub fn spiked_alone(
        &self,
        all: &CurveScores,
        at: &CrossContext<'_>,
        file: &TableFile,
        slice: u32,
        (least, groups): (f64, usize),
        floor_ms: f64,
    ) -> SpikedPoints {
        SpikedPoints::of(&self.curve, slice, floor_ms, |number, _| {
            self.bends[number].is(least, groups) && !all.recurs(at, file, self, number, least)
        })
    }
}

impl CurveScores {
    /// As [`TableScores::spiked`], of a table that need not be judged.
    pub fn spiked_in(
        &self,
        file: &TableFile,
        slice: u32,
        least: f64,
        groups: usize,
        floor_ms: f64,
    ) -> Option<SpikedPoints> {
        if let Some(scores) = self.of_table(file) {
            return Some(scores.spiked(slice, least, groups, floor_ms));
        }
        let other = self.tables.get(&file.entry.path)?;
        Some(SpikedPoints::of(&other.curve, slice, floor_ms, |_, bend| {
            evidence(&other.curve, bend, &other.groups).is(least, groups)
        }))
    }

    /// Scores the judged tables.
    pub fn of(at: &CrossContext<'_>) -> Self {
        let judged: Vec<&TableFile> = at.judged_tables().collect();
        let sketched: Vec<Sketched<'_>> = at.sketched().collect();
        let tables = threads::map(&sketched, at.threads, |(file, sketch)| {
            let curve = sketch.curve.clone()?;
            let groups = reference_groups(&sketched, (file, sketch));
            Some((file.entry.path.clone(), Referenced { curve, groups }))
        });
        let tables: BTreeMap<String, Referenced> = tables.into_iter().flatten().collect();
        let scores = threads::map(&judged, at.threads, |file| {
            let before = at.pr.and_then(|pr| pr.curves.get(&file.entry.path));
            let scores = tables.get(&file.entry.path)?.scores(before.map(Arc::as_ref));
            scores.log(file);
            Some((file.entry.path.clone(), scores))
        });
        Self { scores: scores.into_iter().flatten().collect(), tables }
    }

    /// What other tables say of a judged table.
    pub fn of_table(&self, file: &TableFile) -> Option<&TableScores> {
        self.scores.get(&file.entry.path)
    }

    /// The path of a table beside which a bend of a judged table stands out.
    pub fn shown_by(&self, file: &TableFile, bend: usize) -> Option<&str> {
        let Referenced { curve, groups } = self.tables.get(&file.entry.path)?;
        let found = *self.of_table(file)?.bends.get(bend)?;
        shown_by(curve, &curve.bends[bend], groups, found)
    }

    /// Whether a bend of a table stands out in another place, too, by a factor of `least` and with another
    /// figure: a kernel's step.
    pub fn recurs(
        &self,
        at: &CrossContext<'_>,
        file: &TableFile,
        scores: &TableScores,
        bend: usize,
        least: f64,
    ) -> bool {
        let own = &scores.curve.bends[bend];
        let slow = own.log_ratio > 0.0;
        let elsewhere = at.tables.iter().filter(|t| t.place != file.place);
        elsewhere.filter_map(|t| self.tables.get(&t.entry.path)).any(|other| {
            let mut bends = other.curve.bends_at(own.point.hash);
            bends.any(|(_, bend)| {
                let (a, b) = (f64::from(own.point.latency), f64::from(bend.point.latency));
                (bend.log_ratio > 0.0) == slow
                    && (a / b).ln().abs() > SAME
                    && evidence(&other.curve, bend, &other.groups).score.abs() >= least.ln()
            })
        })
    }
}

impl Referenced {
    fn scores(&self, before: Option<&TableCurve>) -> TableScores {
        let bends = self.curve.bends.iter();
        TableScores {
            bends: bends.map(|bend| evidence(&self.curve, bend, &self.groups)).collect(),
            shapes: shape_scores(&self.curve, &self.groups),
            roughness: roughness(&self.curve, &self.groups),
            rougher: before.map(|before| rougher(&self.curve, before)).unwrap_or_default(),
            curve: self.curve.clone(),
        }
    }
}
