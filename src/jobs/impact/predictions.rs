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

/// The largest change of a step, in ms, that a file and its rows cause, by path.
#[derive(Default)]
struct PathWeights(HashMap<String, FileWeights>);

/// The change of a step, in ms, that a file and its rows cause.
#[derive(Default)]
struct FileWeights {
    whole: f64,
    rows: HashMap<u32, f64>,
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
        for case in &mut cases {
            self.rows.merge(std::mem::take(&mut case.rows_read));
            case.points.iter().for_each(|point| self.weights.add(point));
        }
        self.impact.cases.append(&mut cases);
    }

    /// Sums up the predicted steps, if one of them has an answer.
    fn sum_up(&mut self) {
        let impact = &self.impact;
        let unanswered = impact.count(Fate::Missing);
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
        let listed: Vec<u32> = finding.examples.iter().map(|example| example.row as u32).collect();
        let are_all_listed =
            finding.all_rows.is_some() && listed.len() as u64 == finding.rows && finding.rows > 0;
        let read = listed.iter().any(|row| rows.contains(row));
        let reads = (are_all_listed || read).then_some(read);
        let moves_ms = self.weights.of(&finding.path, &listed);
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
        finding.evidence.models = Some(ModelReach { reads, moves_ms, loses });
        if reads == Some(false) {
            let which = if finding.rows == 1 { "this row" } else { "these rows" };
            finding.message += &format!("; no default model reads {which}");
        }
    }
}

impl PathWeights {
    /// Distributes the change of a step over rows. An operation's change is divided among its
    /// lookups by time, and a lookup's share among its rows by weight.
    fn add(&mut self, point: &PointImpact) {
        let mut moved: HashMap<&str, FileWeights> = HashMap::new();
        for op in &point.ops {
            for lookups in [&op.lookups_before, &op.lookups_after] {
                let all: f64 = lookups.iter().map(|lookup| lookup.ms).sum();
                for lookup in lookups.iter().filter(|_| all > 0.0) {
                    let share = op.delta().abs() * lookup.ms / all;
                    for row in &lookup.rows {
                        let file = moved.entry(&row.origin.path).or_default();
                        file.whole += share * row.weight;
                        *file.rows.entry(row.row).or_default() += share * row.weight;
                    }
                }
            }
        }
        for (path, file) in moved {
            let most = self.0.entry_ref(path).or_default();
            most.whole = most.whole.max(file.whole);
            for (row, ms) in file.rows {
                let row = most.rows.entry(row).or_default();
                *row = row.max(ms);
            }
        }
    }

    /// Returns the largest change, in ms, that one of the rows causes; without rows, the change
    /// that the file causes.
    fn of(&self, path: &str, rows: &[u32]) -> f64 {
        let Some(file) = self.0.get(path) else { return 0.0 };
        if rows.is_empty() {
            return file.whole;
        }
        rows.iter().filter_map(|row| file.rows.get(row)).copied().fold(0.0, f64::max)
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
    let slots = |e: &&Entry| e.path.rsplit('/').next() == Some("query_versions.yaml");
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
