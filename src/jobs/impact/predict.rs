//! Predicts the steps of models on versions, before and after a change.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rayon::prelude::*;

use super::case::{Fate, ImpactCase, PointImpact, moves};
use super::{PlannedVersion, States};
use crate::base::threads;
use crate::planner::{
    BackendPlan, ModelList, Models, OpTime, OpTimes, POINTS, Phase, PlannerSession, Provenance,
    Refusal, Resolved, RowsRead, Snapshot, StepPoint, TableName,
};

/// Planner sessions of a version before and after a change, or the reasons why it cannot be loaded.
pub(crate) struct VersionSides<'s, 'a> {
    pub version: &'s PlannedVersion,
    pub before: Option<Result<PlannerSession<'s, 'a>, Refusal>>,
    pub after: Result<PlannerSession<'s, 'a>, Refusal>,
}

impl<'s, 'a> VersionSides<'s, 'a> {
    fn of(states: &'s States<'a>, version: &'s PlannedVersion) -> Self {
        let side = |snapshot: &'s Snapshot<'a>| version.session(snapshot);
        Self { version, before: states.before.as_ref().map(side), after: side(&states.after) }
    }

    /// Iterates over the sessions that could be opened.
    fn sessions(&self) -> impl Iterator<Item = &PlannerSession<'s, 'a>> {
        let before = self.before.iter().filter_map(|side| side.as_ref().ok());
        before.chain(self.after.as_ref().ok())
    }

    /// Returns the paths of the files that either session reads.
    pub fn paths(&self) -> BTreeSet<String> {
        let origins = |session: &PlannerSession<'_, '_>| {
            let origins = TableName::ALL.into_iter().flat_map(|table| session.origins(table));
            origins.map(|origin| origin.path.clone()).collect::<Vec<_>>()
        };
        self.sessions().flat_map(origins).collect()
    }

    /// Returns true if both sessions give the same answers, so that only one must be evaluated.
    pub fn is_same(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(Ok(before)), Ok(after)) => before.answers_as(after),
            _ => false,
        }
    }
}

/// Opens the sessions of versions before and after a change.
pub(crate) fn sides<'s, 'a>(
    states: &'s States<'a>,
    versions: &'s [PlannedVersion],
) -> Vec<VersionSides<'s, 'a>> {
    versions.iter().map(|version| VersionSides::of(states, version)).collect()
}

/// Predicts every model on the given versions.
pub(crate) fn cases(
    states: &States<'_>,
    models: &Models,
    versions: &[PlannedVersion],
) -> Vec<ImpactCase> {
    cases_of(&sides(states, versions), models, &RowsRead::default())
}

/// Predicts every model on the given versions and records which of `rows` the steps read in the
/// later state.
pub(crate) fn cases_of(
    sides: &[VersionSides<'_, '_>],
    models: &Models,
    rows: &RowsRead,
) -> Vec<ImpactCase> {
    read_ahead(sides, models);
    let mut work: Vec<(&VersionSides<'_, '_>, &ModelList, &BackendPlan, usize)> = Vec::new();
    for side in sides {
        for list in &models.lists {
            let Some(plan) = list.plan(&side.version.backend) else { continue };
            work.extend((0..plan.layouts.len()).map(|layout| (side, list, plan, layout)));
        }
    }
    let work = work.par_iter();
    work.map(|(side, list, plan, layout)| case(side, list, plan, *layout, rows)).collect()
}

/// A table file that a session reads.
struct SessionFile<'x, 's, 'a> {
    session: &'x PlannerSession<'s, 'a>,
    table: TableName,
    /// Index among the files of the table.
    index: usize,
    size: u64,
}

/// Returns the files that the models' lookups read, by table, path and state.
fn session_files<'x, 's, 'a>(
    sides: &'x [VersionSides<'s, 'a>],
    models: &Models,
) -> BTreeMap<(TableName, String, bool), SessionFile<'x, 's, 'a>> {
    let mut files = BTreeMap::new();
    for side in sides {
        let mut tables = BTreeSet::new();
        models.lists.iter().for_each(|list| list.tables(&side.version.backend, &mut tables));
        for (second, session) in side.sessions().enumerate() {
            for table in tables.iter().copied() {
                for (index, file) in session.files(table).enumerate() {
                    let key = (table, file.entry.path.clone(), second > 0);
                    let size = file.entry.size;
                    files.entry(key).or_insert(SessionFile { session, table, index, size });
                }
            }
        }
    }
    files
}

/// Returns the tables and paths that the models' lookups read, in any state.
pub(crate) fn files_read(
    sides: &[VersionSides<'_, '_>],
    models: &Models,
) -> BTreeSet<(TableName, String)> {
    session_files(sides, models).into_keys().map(|(table, path, _)| (table, path)).collect()
}

/// Decodes the tables that predictions need, in parallel, largest first. A file that two states
/// share is decoded once: a second thread would only wait for the first.
pub(crate) fn read_ahead(sides: &[VersionSides<'_, '_>], models: &Models) {
    let mut files: Vec<SessionFile<'_, '_, '_>> =
        session_files(sides, models).into_values().collect();
    let mut known = HashSet::new();
    files.retain(|file| known.insert(file.session.content(file.table, file.index)));
    let read = |file: &SessionFile<'_, '_, '_>| file.session.read(file.table, file.index);
    threads::map_largest_first(&files, |file| file.size, read);
}

/// A model's operations as a state plans them, or the reason why a planner cannot load the version.
type PlannedState<'x, 's, 'a> = Result<(&'x PlannerSession<'s, 'a>, Resolved), &'x Refusal>;

/// The operations of a model in one layout before and after a change.
struct CaseSides<'x, 's, 'a> {
    before: Option<PlannedState<'x, 's, 'a>>,
    after: PlannedState<'x, 's, 'a>,
    is_same: bool,
    /// Flags per operation of prefill and of decode: true if its time is the same before and after.
    alike: [Vec<bool>; 2],
}

fn case(
    side: &VersionSides<'_, '_>,
    list: &ModelList,
    plan: &BackendPlan,
    layout: usize,
    rows: &RowsRead,
) -> ImpactCase {
    let planned = &plan.layouts[layout];
    let resolve = |session: &PlannerSession<'_, '_>| list.resolve(plan, planned, session);
    let after = side.after.as_ref().map(|session| (session, resolve(session)));
    let is_same = side.is_same();
    let before = match &side.before {
        None => None,
        Some(_) if is_same => Some(after.clone()),
        Some(before) => Some(before.as_ref().map(|session| (session, resolve(session)))),
    };
    let alike = match (&before, &after) {
        (Some(Ok(before)), Ok(after)) if !is_same => {
            [Phase::Prefill, Phase::Decode].map(|phase| alike(before, after, phase))
        }
        _ => [Vec::new(), Vec::new()],
    };
    let sides = CaseSides { before, after, is_same, alike };
    let mut evidence = [Provenance::power(), Provenance::power_and_rows(rows.clone())];
    let points = POINTS.into_iter().map(|point| sides.point(point, &mut evidence)).collect();
    let quants = [sides.before.as_ref().and_then(|b| b.as_ref().ok()), sides.after.as_ref().ok()];
    let [quant_before, quant] = quants.map(|side| side.map(|(_, list)| list.quant.clone()));
    let differs = quant.is_some() && quant_before != quant;
    let [_, rows_read] = evidence.map(Provenance::into_rows);
    ImpactCase {
        version: side.version.clone(),
        model: list.model.clone(),
        parallel: planned.parallel,
        quant: quant.or(quant_before.clone()).unwrap_or_else(|| list.stated(plan)),
        quant_before: quant_before.filter(|_| differs),
        points,
        rows_read,
    }
}

impl CaseSides<'_, '_, '_> {
    /// Predicts a step before and after a change and collects the provenance of both times.
    fn point(&self, point: StepPoint, [then, now]: &mut [Provenance; 2]) -> PointImpact {
        let times = times(&self.after, point, now, |_| None);
        let after = times.clone().and_then(OpTimes::step);
        let before = match &self.before {
            Some(_) if self.is_same => Some(after.clone()),
            Some(before) => {
                let alike = &self.alike[point.phase as usize];
                let is_alike = |place: usize| alike.get(place).copied().unwrap_or(false);
                let known = |place| times.as_ref().ok().filter(|_| is_alike(place))?.get(place);
                Some(self::times(before, point, then, known).and_then(OpTimes::step))
            }
            None => None,
        };
        let mut impact = PointImpact { point, before, after, ops: Vec::new() };
        if let (Fate::Moved, Some(Ok(before)), Ok(after)) =
            (impact.fate(), &self.before, &self.after)
        {
            let [before, after] =
                [before, after].map(|(session, list)| list.ops.parts(session, point));
            impact.ops = moves(before, after);
        }
        impact
    }
}

/// Returns one flag per operation of a phase: true if its time is the same before and after.
fn alike(
    (before, then): &(&PlannerSession<'_, '_>, Resolved),
    (after, now): &(&PlannerSession<'_, '_>, Resolved),
    phase: Phase,
) -> Vec<bool> {
    let pairs = then.ops.ops(phase).iter().zip(now.ops.ops(phase));
    pairs.map(|(then, now)| then == now && now.answers_alike(before, after)).collect()
}

fn times(
    state: &PlannedState<'_, '_, '_>,
    point: StepPoint,
    evidence: &mut Provenance,
    known: impl Fn(usize) -> Option<OpTime>,
) -> Result<OpTimes, Refusal> {
    match state {
        Ok((session, list)) => Ok(list.ops.times(session, point, evidence, known)),
        Err(why) => Err((*why).clone()),
    }
}
