//! Predictions of a pull request: the section of the report, its findings, and the effect of every
//! other finding on predictions.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;

use super::case::{Fate, Impact, ImpactCase, PointImpact};
use super::cause::ComparedTables;
use super::choose::Choice;
use super::options::ImpactOptions;
use super::predict::VersionSides;
use super::{PlannedVersion, States, predict, summary};
use crate::base::error::{Error, Result};
use crate::database::catalog::Role;
use crate::database::diff::{Class, Diff};
use crate::database::served::ServedFormats;
use crate::database::source::Entry;
use crate::database::state::State;
use crate::findings::{Finding, ModelReach};
use crate::planner::{RowsRead, SharedModels, Step, Store, TableName};
use crate::report::Predictions;
use crate::report::predictions::percent;

/// The maximum number of changed steps in a report.
const MOVERS: usize = 8;

/// Predictions of a pull request.
pub(crate) struct PredictedChange {
    /// The summary; `None` if no step has an answer on either side.
    pub predictions: Option<Predictions>,
    pub(super) impact: Impact,
    /// Versions that the planner uses by default.
    pub(super) current: BTreeSet<PlannedVersion>,
    /// The class of change of the tables that a version reads.
    pub(super) classes: BTreeMap<PlannedVersion, Class>,
    /// The compared tables, which explain why a step moved.
    pub(super) tables: ComparedTables,
    rows: RowsRead,
    weights: PathWeights,
}

/// The smallest relative change of a step that a finding mentions.
const MENTIONED: f64 = 0.005;

/// The largest relative changes of steps that files and their rows cause, by path.
#[derive(Default)]
struct PathWeights(HashMap<String, FileWeights>);

/// The largest changes of a step that a file and its rows cause.
#[derive(Default)]
struct FileWeights {
    whole: StepChange,
    rows: HashMap<u32, StepChange>,
}

/// The part of a step's change that a row or a file causes.
#[derive(Debug, Default, Clone, Copy)]
struct StepChange {
    /// The change in ms.
    ms: f64,
    /// The change as a part of the step's time before.
    relative: f64,
    /// The number of the case among all cases, and of the step among the steps of the case.
    step: (usize, usize),
}

/// Predicts both states of a pull request on the versions that read a changed file.
///
/// # Errors
///
/// Returns an error if a list of operations, a manifest or `query_versions.yaml` cannot be read.
pub(crate) fn predict_change(
    base: State<'_>,
    head: State<'_>,
    diff: &Diff,
    models: &SharedModels<'_>,
) -> Result<PredictedChange> {
    let mut found = PredictedChange {
        predictions: None,
        impact: Impact { compared: true, ..Impact::default() },
        current: BTreeSet::new(),
        classes: BTreeMap::new(),
        tables: ComparedTables::of(diff),
        rows: RowsRead::default(),
        weights: PathWeights::default(),
    };
    if !may_move(base, head, diff) {
        found.predictions = (!diff.tables.is_empty()).then(Predictions::default);
        return Ok(found);
    }
    let models = models.get()?;
    let store = Store::default();
    let states = both_states(base, head, &store)?;
    let options = ImpactOptions::default();
    let choice = Choice { options: &options, models: &models, states: &states };
    let chosen = choice.versions()?;
    found.current = chosen.iter().filter(|(_, is)| *is).map(|(v, _)| v.clone()).collect();
    let versions: Vec<PlannedVersion> = chosen.into_iter().map(|(version, _)| version).collect();
    let changed = RowsRead::of(diff.tables.iter().map(|table| table.path.as_str()));
    for of_system in versions.chunk_by(|a, b| a.system == b.system) {
        // The decoded tables of a system are dropped before the next system is read.
        let store = Store::default();
        let states = both_states(base, head, &store)?;
        let sides = moving_sides(&states, of_system);
        for side in &sides {
            found.classes.insert(side.version.clone(), class(&side.paths(), diff));
        }
        found.impact.versions.extend(sides.iter().map(|side| side.version.clone()));
        found.take_in(predict::cases_of(&sides, &models, &changed));
    }
    found.sum_up();
    Ok(found)
}

/// Returns both states as a planner sees them.
fn both_states<'a>(base: State<'a>, head: State<'a>, store: &'a Store) -> Result<States<'a>> {
    // Text tables are included: a collector converts them later, and `sanity` compares them as
    // tables.
    States::new(Some(base), head, ServedFormats::All, store)
}

/// Opens versions before and after the change and drops versions whose answers are the same.
fn moving_sides<'s, 'a>(
    states: &'s States<'a>,
    versions: &'s [PlannedVersion],
) -> Vec<VersionSides<'s, 'a>> {
    let mut sides = predict::sides(states, versions);
    sides.retain(|side| !side.is_same());
    sides
}

impl PredictedChange {
    /// Adds predicted cases, with the rows that they read and the changes that rows cause.
    fn take_in(&mut self, mut cases: Vec<ImpactCase>) {
        for (case, number) in cases.iter_mut().zip(self.impact.cases.len()..) {
            self.rows.merge(std::mem::take(&mut case.rows_read));
            for (at, point) in case.points.iter().enumerate() {
                self.weights.add(point, (number, at));
            }
        }
        self.impact.cases.append(&mut cases);
    }

    /// Returns the number of steps that have no time before or after the change.
    pub fn unanswered(&self) -> usize {
        self.impact.count(Fate::Missing)
    }

    /// Sums up the predicted steps, if one of them has an answer.
    fn sum_up(&mut self) {
        let impact = &self.impact;
        let unanswered = self.unanswered();
        let values = impact.points().count();
        if values > 0 && values == unanswered {
            return;
        }
        let power = |side: fn(&PointImpact) -> Option<&Step>| {
            let times = impact.points().filter_map(|(_, point)| side(point)?.as_ref().ok());
            times.filter(|time| time.has_power()).count()
        };
        self.predictions = Some(Predictions {
            versions: impact.versions.len(),
            values,
            moved: impact.count(Fate::Moved),
            lost: impact.count(Fate::Lost),
            gained: impact.count(Fate::Gained),
            unanswered,
            range: summary::extremes(&impact.changes()),
            power: [power(|point| point.before.as_ref()), power(|point| Some(&point.after))],
            movers: summary::moves(impact, MOVERS, |op| self.tables.cause(op).words()),
            losses: summary::lost(impact),
            failed: None,
        });
    }

    /// Adds to a finding on a table its effect on predictions, if default models look up this table
    /// and were predicted.
    pub fn weigh(&self, finding: &mut Finding) {
        let Some(table) = finding.table.as_deref().filter(|t| TableName::of(t).is_some()) else {
            return;
        };
        let (Some(rows), true) = (self.rows.of_file(&finding.path), self.predictions.is_some())
        else {
            return;
        };
        let examples = || finding.examples.iter().map(|example| example.row as u32).collect();
        let named = &finding.named_rows;
        let listed: Vec<u32> = if named.is_empty() { examples() } else { named.clone() };
        let are_all_listed =
            finding.all_rows.is_some() && listed.len() as u64 == finding.rows && finding.rows > 0;
        let read = listed.iter().any(|row| rows.contains(row));
        let reads = (are_all_listed || read).then_some(read);
        let (row, most) = self.weights.of(&finding.path, &listed);
        let place = finding.place.as_ref();
        let is_of_backend = |case: &ImpactCase| {
            place.is_some_and(|p| {
                (&case.version.system, &case.version.backend) == (&p.system, &p.backend)
            })
        };
        let is_lost_here = |(case, point): &(&ImpactCase, &PointImpact)| {
            let why = point.after.as_ref().err().map(ToString::to_string);
            point.fate() == Fate::Lost
                && is_of_backend(case)
                && why.is_some_and(|why| why.contains(table))
        };
        let loses =
            if listed.is_empty() { self.impact.points().filter(is_lost_here).count() } else { 0 };
        finding.evidence.models = Some(ModelReach {
            reads,
            moves_ms: most.ms.abs(),
            moves: self.moves(row, most),
            loses,
        });
        if reads == Some(false) {
            let which = if finding.rows == 1 { "this row" } else { "these rows" };
            finding.message += &format!("; no default model reads {which}");
        }
    }

    /// Words the change of a step by a row, or by a whole table; `None` if it is too small to mention.
    fn moves(&self, row: Option<u32>, change: StepChange) -> Option<String> {
        let (case, point) = change.step;
        let case = self.impact.cases.get(case)?;
        let point = case.points.get(point)?;
        if change.relative.abs() < MENTIONED {
            return None;
        }
        let what = row.map_or_else(|| "its table".to_owned(), |row| format!("row {row}"));
        let (step, subject) = (summary::step(point.point), summary::subject(case));
        Some(format!("{what} moves {step} of {subject} by {}", percent(change.relative)))
    }
}

impl PathWeights {
    /// Distributes the change of a step over the rows that it reads after the change, or over those that it read
    /// before if it reads none now. An operation's change is divided among its lookups by time, and a lookup's
    /// share among its rows by weight.
    fn add(&mut self, point: &PointImpact, step: (usize, usize)) {
        let mut moved: HashMap<&str, (f64, HashMap<u32, f64>)> = HashMap::new();
        for op in &point.ops {
            let is_read = !op.lookups_after.is_empty();
            let lookups = if is_read { &op.lookups_after } else { &op.lookups_before };
            let all: f64 = lookups.iter().map(|lookup| lookup.ms).sum();
            for lookup in lookups.iter().filter(|_| all > 0.0) {
                let share = op.delta() * lookup.ms / all;
                for row in &lookup.rows {
                    let (whole, rows) = moved.entry(&row.origin.path).or_default();
                    *whole += share * row.weight;
                    *rows.entry(row.row).or_default() += share * row.weight;
                }
            }
        }
        let Some(Ok(before)) = &point.before else { return };
        let change = |ms: f64| StepChange { ms, relative: ms / before.ms, step };
        for (path, (ms, rows)) in moved {
            let most = self.0.entry_ref(path).or_default();
            most.whole = most.whole.or_larger(change(ms));
            for (row, ms) in rows {
                let row = most.rows.entry(row).or_default();
                *row = row.or_larger(change(ms));
            }
        }
    }

    /// Returns the one of some rows that changes a step most, relative to the step, with its change; without rows, the change that the
    /// file causes.
    fn of(&self, path: &str, rows: &[u32]) -> (Option<u32>, StepChange) {
        let Some(file) = self.0.get(path) else { return Default::default() };
        if rows.is_empty() {
            return (None, file.whole);
        }
        let changes = rows.iter().filter_map(|row| Some((Some(*row), *file.rows.get(row)?)));
        changes.max_by(|a, b| a.1.relative.abs().total_cmp(&b.1.relative.abs())).unwrap_or_default()
    }
}

impl StepChange {
    fn or_larger(self, other: Self) -> Self {
        if other.relative.abs() > self.relative.abs() { other } else { self }
    }
}

/// Returns true if the pull request touches a file that predictions read.
fn may_move(base: State<'_>, head: State<'_>, diff: &Diff) -> bool {
    // Sidecars decide which donors are declared and which directories are read.
    let decides = |role: Role| matches!(role, Role::System | Role::Facts | Role::Sidecar);
    diff.tables.iter().any(|table| TableName::of(&table.table).is_some())
        || diff.files.iter().any(|file| decides(file.role))
        || deciding(base) != deciding(head)
}

/// Returns the ids of the files that decide which tables answer: the manifest of donors and every
/// `query_versions.yaml`.
fn deciding<'a>(state: State<'a>) -> Vec<(&'a str, Option<git2::Oid>)> {
    let slots = |e: &&Entry| e.name() == "query_versions.yaml";
    let slots = state.catalog.others.iter().filter(slots);
    let files = state.catalog.manifest.iter().chain(slots);
    files.map(|entry| (entry.path.as_str(), state.source.id(entry))).collect()
}

/// Returns the class of change of the tables that a version reads.
fn class(paths: &BTreeSet<String>, diff: &Diff) -> Class {
    let read = |path: &String| paths.contains(path);
    let tables =
        diff.tables.iter().filter(|t| read(&t.path) || t.old_path.as_ref().is_some_and(read));
    Class::of_all(tables.filter_map(|table| table.class))
}

/// Returns the section for predictions that failed with an error.
pub(crate) fn failed(why: &Error) -> Predictions {
    Predictions { failed: Some(why.message.clone()), ..Predictions::default() }
}
