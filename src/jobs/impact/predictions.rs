//! What a pull request does to predictions: the section of sanity, its findings, and how much every other
//! finding matters to predictions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::choose::Choice;
use super::{Fate, Impact, Options, PlannedVersion, PointImpact, States, predict, summary};
use crate::base::error::{Error, Result};
use crate::base::words::{count, plural};
use crate::checks::Check;
use crate::checks::kinds::predictions::MovedPredictions;
use crate::checks::rule::Rule;
use crate::database::diff::{Class, Diff, State};
use crate::database::served::ServedFormats;
use crate::findings::{Domain, Finding, ModelReach, Novelty, Severity};
use crate::planner::{Models, RowsRead, Store, TableName};
use crate::report::Predictions;
use crate::report::predictions::percent;
use crate::specs::Specs;

/// Movers that are kept for reports.
const MOVERS: usize = 8;
/// Reasons of a finding that are told.
const REASONS: usize = 3;

/// Predictions of a pull request.
pub(crate) struct PredictedChange {
    /// The summary; none where no step has an answer on either side.
    pub predictions: Option<Predictions>,
    impact: Impact,
    /// Versions that are planned with by default.
    current: BTreeSet<PlannedVersion>,
    /// What changed of the tables that a version reads.
    classes: BTreeMap<PlannedVersion, Class>,
    rows: RowsRead,
    weights: PathWeights,
}

/// How far rows and files move steps, ms.
#[derive(Default)]
struct PathWeights {
    rows: BTreeMap<(String, u32), f64>,
    files: BTreeMap<String, f64>,
}

impl PredictedChange {
    /// Predicts both states on the versions that read what changed.
    ///
    /// # Errors
    ///
    /// Where a list of operations, a manifest or `query_versions.yaml` cannot be read.
    pub fn of(
        base: State<'_>,
        head: State<'_>,
        diff: &Diff,
        specs: &Specs,
        threads: usize,
    ) -> Result<Self> {
        let mut this = Self {
            predictions: None,
            impact: Impact { compared: true, ..Impact::default() },
            current: BTreeSet::new(),
            classes: BTreeMap::new(),
            rows: RowsRead::default(),
            weights: PathWeights::default(),
        };
        if !diff.tables.iter().any(|table| TableName::of(&table.table).is_some()) {
            this.predictions = (!diff.tables.is_empty()).then(Predictions::default);
            return Ok(this);
        }
        let models = Models::read(&specs.library, |_| true)?;
        let store = Store::default();
        let before = Some((base.source, base.catalog));
        let after = (head.source, head.catalog);
        // Text tables are what a collector converts, and are compared as tables.
        let states = States::new(before, after, specs, ServedFormats::All, &store)?;
        let options = Options::default();
        let choice = Choice { options: &options, models: &models, states: &states };
        let chosen = choice.versions()?;
        this.current = chosen.iter().filter(|(_, is)| *is).map(|(v, _)| v.clone()).collect();
        let versions: Vec<PlannedVersion> =
            chosen.into_iter().map(|(version, _)| version).collect();
        let changed = RowsRead::of(diff.tables.iter().map(|table| table.path.as_str()));
        for of_system in versions.chunk_by(|a, b| a.system == b.system) {
            // What was read of a system is dropped before the next one is.
            let store = Store::default();
            let states = States::new(before, after, specs, ServedFormats::All, &store)?;
            let mut sides = predict::sides(&states, of_system);
            sides.retain(|side| !side.is_same());
            for side in &sides {
                this.classes.insert(side.version.clone(), class(&side.paths(), diff));
            }
            this.impact.versions.extend(sides.iter().map(|side| side.version.clone()));
            this.impact.cases.extend(predict::cases_of(&sides, &models, &changed, threads));
        }
        this.sum_up();
        Ok(this)
    }

    fn sum_up(&mut self) {
        let impact = &mut self.impact;
        for case in &mut impact.cases {
            self.rows.merge(std::mem::take(&mut case.rows_read));
        }
        let impact = &self.impact;
        let weights = &mut self.weights;
        impact.points().for_each(|(_, point)| weights.add(point));
        let unanswered = impact.count(Fate::Missing);
        let values = impact.points().count();
        if values > 0 && values == unanswered {
            return;
        }
        let changes = impact.points().filter(|(_, p)| p.fate() == Fate::Moved);
        let changes: Vec<f64> = changes.filter_map(|(_, p)| p.change()).collect();
        let low = changes.iter().copied().min_by(f64::total_cmp);
        let high = changes.iter().copied().max_by(f64::total_cmp);
        let power = |side: fn(&PointImpact) -> Option<&super::Step>| {
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
            range: low.zip(high).map(|(low, high)| [low, high]),
            power: [power(|point| point.before.as_ref()), power(|point| Some(&point.after))],
            movers: summary::moves(impact, MOVERS),
            losses: summary::lost(impact),
            failed: None,
        });
    }

    /// What the rules on predictions find.
    pub fn findings(&self, rules: &[Arc<Rule>], head: State<'_>) -> Vec<Finding> {
        let mut found = Vec::new();
        for version in &self.impact.versions {
            for rule in rules {
                found.extend(match &rule.check {
                    Check::PredictionLost => self.lost(rule, version, head),
                    Check::PredictionMoved(limits) => self.moved(rule, limits, version, head),
                    _ => None,
                });
            }
        }
        found
    }

    fn points<'x>(
        &'x self,
        version: &'x PlannedVersion,
    ) -> impl Iterator<Item = (&'x super::ImpactCase, &'x PointImpact)> {
        self.impact.points().filter(move |(case, _)| case.version == *version)
    }

    fn lost(&self, rule: &Rule, version: &PlannedVersion, head: State<'_>) -> Option<Finding> {
        if !self.current.contains(version) {
            return None;
        }
        let mut reasons: BTreeMap<String, (usize, BTreeSet<&str>)> = BTreeMap::new();
        for (case, point) in self.points(version).filter(|(_, p)| p.fate() == Fate::Lost) {
            let why = point.after.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let (steps, models) = reasons.entry(why).or_default();
            *steps += 1;
            models.insert(&case.model);
        }
        let all: usize = reasons.values().map(|(steps, _)| steps).sum();
        if all == 0 {
            return None;
        }
        let mut told: Vec<(&String, &(usize, BTreeSet<&str>))> = reasons.iter().collect();
        told.sort_by_key(|(_, (steps, _))| std::cmp::Reverse(*steps));
        let each = told.iter().take(REASONS).map(|(why, (steps, models))| {
            let first = models.first().copied().unwrap_or_default();
            let more = match models.len() {
                0 | 1 => String::new(),
                n => format!(" and {}", plural(n - 1, "other model")),
            };
            format!("{why} ({} of {first}{more})", count(*steps))
        });
        let mut message = format!(
            "{} of the current version {} an error: {}",
            plural(all, "predicted step time"),
            if all == 1 { "becomes" } else { "become" },
            each.collect::<Vec<_>>().join("; ")
        );
        if reasons.len() > REASONS {
            message += &format!("; and {}", plural(reasons.len() - REASONS, "other reason"));
        }
        let finding = self.finding(rule, rule.severity, version, head, message);
        Some(finding.parts(reasons.keys().cloned()).evidence("lost", all))
    }

    fn moved(
        &self,
        rule: &Rule,
        limits: &MovedPredictions,
        version: &PlannedVersion,
        head: State<'_>,
    ) -> Option<Finding> {
        let moved: Vec<_> = self.points(version).filter(|(_, p)| p.fate() == Fate::Moved).collect();
        let changes: Vec<f64> = moved.iter().filter_map(|(_, point)| point.change()).collect();
        let far = |a: &&f64, b: &&f64| a.abs().total_cmp(&b.abs());
        let worst = *changes.iter().max_by(far)?;
        let (case, point) = moved.iter().find(|(_, p)| p.change() == Some(worst))?;
        let class = self.classes.get(version).copied().unwrap_or(Class::None);
        let explained = !moves_nothing(class);
        let severity = if explained || worst.abs() < limits.unexplained {
            rule.severity.at_most(Severity::Info)
        } else {
            rule.severity
        };
        let mut message = format!(
            "{} of {} {}, most: {}, {}, {}",
            count(moved.len()),
            plural(self.points(version).count(), "predicted step time"),
            if moved.len() == 1 { "moves" } else { "move" },
            summary::subject(case),
            summary::step(point.point),
            percent(worst),
        );
        if let Some(because) = point.ops.first().and_then(summary::because) {
            message += &format!(" ({because})");
        }
        if !explained {
            message += &format!("; the change is {}, which should move nothing", class.name());
        }
        let finding = self.finding(rule, severity, version, head, message);
        Some(
            finding
                .evidence("moved", moved.len())
                .evidence("worst", worst)
                .evidence("class", class.name()),
        )
    }

    fn finding(
        &self,
        rule: &Rule,
        severity: Severity,
        version: &PlannedVersion,
        head: State<'_>,
        message: String,
    ) -> Finding {
        let PlannedVersion { system, backend, version } = version;
        let data = head.catalog.systems.get(system).map_or("", |s| &s.data_dir);
        let parts = [data, backend, version];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let mut finding = Finding::on_path(&rule.id, severity, &parts.join("/"), message);
        finding.novelty = Novelty::New;
        finding.domain = Domain::Change;
        finding.at(&crate::database::catalog::Place {
            system: system.clone(),
            family: None,
            backend: backend.clone(),
            version: version.clone(),
        })
    }

    /// Says of a finding on a table what it means for predictions, where default models look that table
    /// up and were predicted.
    pub fn weigh(&self, finding: &mut Finding) {
        let Some(table) = finding.table.as_deref().filter(|t| TableName::of(t).is_some()) else {
            return;
        };
        let (Some(rows), true) = (self.rows.of_file(&finding.path), self.predictions.is_some())
        else {
            return;
        };
        let told: Vec<u32> = finding.examples.iter().map(|example| example.row as u32).collect();
        let all_told =
            finding.all_rows.is_some() && told.len() as u64 == finding.rows && finding.rows > 0;
        let read = told.iter().any(|row| rows.contains(row));
        let reads = (all_told || read).then_some(read);
        let of_rows =
            told.iter().filter_map(|row| self.weights.rows.get(&(finding.path.clone(), *row)));
        let moves_ms = match told.is_empty() {
            true => self.weights.files.get(&finding.path).copied().unwrap_or(0.0),
            false => of_rows.copied().fold(0.0, f64::max),
        };
        let place = finding.place.as_ref();
        let here = |case: &super::ImpactCase| {
            place.is_some_and(|p| {
                (&case.version.system, &case.version.backend) == (&p.system, &p.backend)
            })
        };
        let for_want = |(case, point): &(&super::ImpactCase, &PointImpact)| {
            let why = point.after.as_ref().err().map(ToString::to_string);
            point.fate() == Fate::Lost && here(case) && why.is_some_and(|why| why.contains(table))
        };
        let loses = if told.is_empty() { self.impact.points().filter(for_want).count() } else { 0 };
        finding.evidence.models = Some(ModelReach { reads, moves_ms, loses });
        if reads == Some(false) {
            let which = if finding.rows == 1 { "this row" } else { "these rows" };
            finding.message += &format!("; no default model reads {which}");
        }
    }
}

impl PathWeights {
    /// Takes in how a step that moved is spread over lookups and rows: an operation's move by the time of
    /// its lookups, a lookup's by the weights of its rows.
    fn add(&mut self, point: &PointImpact) {
        let mut rows: BTreeMap<(String, u32), f64> = BTreeMap::new();
        let mut files: BTreeMap<String, f64> = BTreeMap::new();
        for op in &point.ops {
            for lookups in [&op.lookups_before, &op.lookups_after] {
                let all: f64 = lookups.iter().map(|lookup| lookup.ms).sum();
                for lookup in lookups.iter().filter(|_| all > 0.0) {
                    let moved = op.delta().abs() * lookup.ms / all;
                    for row in &lookup.rows {
                        let path = row.origin.path.clone();
                        *files.entry(path.clone()).or_default() += moved * row.weight;
                        *rows.entry((path, row.row)).or_default() += moved * row.weight;
                    }
                }
            }
        }
        for (row, ms) in rows {
            let most = self.rows.entry(row).or_default();
            *most = most.max(ms);
        }
        for (file, ms) in files {
            let most = self.files.entry(file).or_default();
            *most = most.max(ms);
        }
    }
}

/// What changed of the tables that a version reads.
fn class(paths: &BTreeSet<String>, diff: &Diff) -> Class {
    let read = |path: &String| paths.contains(path);
    let tables =
        diff.tables.iter().filter(|t| read(&t.path) || t.old_path.as_ref().is_some_and(read));
    Class::of_all(tables.filter_map(|table| table.class))
}

/// Whether a change of a class leaves every key with its latency.
fn moves_nothing(class: Class) -> bool {
    matches!(
        class,
        Class::None | Class::ReEncode | Class::Move | Class::AppendOnly | Class::ColumnOverlay
    )
}

/// The error of a prediction that cannot be made, as a section.
pub(crate) fn failed(why: &Error) -> Predictions {
    Predictions { failed: Some(why.message.clone()), ..Predictions::default() }
}
