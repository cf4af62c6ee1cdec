//! Creates the findings of the rules about the planner's answers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

use pep440_rs::Version;

use super::asked::{AskedVersion, PlannedVersion, Slot};
use super::change::{Impact, ImpactCase, OpMove, PointImpact, StepEffect};
use super::refusals::Refusal;
use super::{Neighbour, Planner};
use crate::base::words::{count, plural, plural_verb};
use crate::checks::Check;
use crate::checks::rule::Rule;
use crate::database::catalog::Place;
use crate::database::diff::{Class, Diff};
use crate::database::state::State;
use crate::findings::{Finding, Novelty, Severity};
use crate::report::predictions::percent;

/// The maximum number of reasons, such as errors of the planner, that the message of a finding lists.
const REASONS: usize = 3;

/// The Python packages that can contain the planner.
const PACKAGES: [&str; 2] = ["aisimulate", "aiconfigurator-core"];

/// Returns the planner's version in the judged repository. A `pyproject.toml` in the folder of systems, or in a folder
/// above, states this version; the nearest such file counts. Returns `None` if there is no such file.
fn own_version(state: State<'_>) -> Option<Version> {
    let folder = &state.catalog.folder;
    let is_above =
        |at: &str| at.is_empty() || *folder == at || folder.starts_with(&format!("{at}/"));
    let mut projects: Vec<_> = state.catalog.outside_files.iter().collect();
    projects.retain(|entry| entry.name() == "pyproject.toml" && is_above(entry.folder()));
    projects.sort_by_key(|entry| Reverse(entry.path.len()));
    projects.into_iter().find_map(|entry| {
        let text = state.source.text(entry).ok()?;
        let value = |key: &str| {
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='));
            lines.map(|value| value.trim().trim_matches('"').to_owned()).next()
        };
        let name = value("name")?;
        let version = value("version").filter(|_| PACKAGES.contains(&name.as_str()))?;
        Version::from_str(&version).ok()
    })
}

/// Returns true if the planner in the judged repository (`own`) is newer than the installed package. Returns `None` if
/// one of the two versions is unknown.
fn is_newer(package: &str, own: Option<&Version>) -> Option<bool> {
    let package = Version::from_str(package).ok()?;
    Some(own?.release() > package.release())
}

/// Returns a note if the installed package is older than the planner in the judged repository.
pub(super) fn age(planner: &Planner, state: State<'_>) -> Option<String> {
    let own = own_version(state)?;
    let is_newer = is_newer(planner.version(), Some(&own))?;
    let package = planner.package();
    is_newer.then(|| format!("{package} is older than the planner in the judged tree, {own}"))
}

impl Impact {
    /// Returns the findings of all rules that judge the planner's answers.
    pub(crate) fn findings(
        &self,
        rules: &[Arc<Rule>],
        head: State<'_>,
        diff: Option<&Diff>,
    ) -> Vec<Finding> {
        let mut found = Vec::new();
        for rule in rules {
            match &rule.check {
                Check::PlannerRefuses => {
                    found.extend(
                        self.refusals.iter().map(|refusal| self.refused(rule, refusal, head)),
                    );
                }
                Check::Workflows => {
                    found.extend(
                        self.neighbours.iter().filter_map(|near| self.incomplete(rule, near, head)),
                    );
                }
                Check::PredictionLost => {
                    let current = self.asked.iter().filter(|asked| asked.slot == Slot::Current);
                    found.extend(current.filter_map(|asked| self.lost(rule, &asked.version, head)));
                }
                Check::PredictionMoved(limits) => {
                    let moved = |asked| self.moved(rule, limits.unexplained, asked, head, diff?);
                    found.extend(self.asked.iter().filter_map(moved));
                }
                _ => {}
            }
        }
        found
    }

    fn points_of<'x>(
        &'x self,
        version: &'x PlannedVersion,
    ) -> impl Iterator<Item = (&'x ImpactCase, &'x PointImpact)> {
        self.points().filter(move |(case, _)| case.version == *version)
    }

    /// Creates the finding on a table or version that the planner's engine refuses.
    fn refused(&self, rule: &Rule, refusal: &Refusal, head: State<'_>) -> Finding {
        let Refusal { version, path, error, was_loaded } = refusal;
        let own = own_version(head);
        let package = &self.planner.package;
        let is_newer = is_newer(package.rsplit(' ').next().unwrap_or_default(), own.as_ref());
        let is_sure = *was_loaded || is_newer == Some(false);
        let severity =
            if is_sure { rule.severity } else { rule.severity.at_most(Severity::Warning) };
        let what =
            if path.is_some() { "cannot load this table" } else { "cannot open this version" };
        let mut message = format!("{package} {what}: {error}");
        if *was_loaded {
            let verb = if path.is_some() { "loads" } else { "opens" };
            message += &format!("; it {verb} the state before the change");
        } else if !is_sure {
            message += &match own {
                Some(own) => format!("; the planner in the judged tree is newer, {own}"),
                None => "; the version of the planner in the judged tree is not known".to_owned(),
            };
        }
        let finding = match path.as_ref().and_then(|path| head.catalog.table(path)) {
            Some(file) => Finding::on_table(&rule.id, severity, file, message),
            None => on_version(rule, severity, version, head, message),
        };
        let finding = finding.parts([error.class.clone()]);
        if self.compared { finding.about_change() } else { finding }
    }

    /// Creates the finding on models that a version refuses although another system with GPUs of the same generation
    /// accepts them. Returns `None` if there are no such models.
    fn incomplete(&self, rule: &Rule, near: &Neighbour, head: State<'_>) -> Option<Finding> {
        let mut models: BTreeMap<&str, String> = BTreeMap::new();
        let mut was_refused = self.compared;
        for case in self
            .cases
            .iter()
            .filter(|case| case.version == near.version && near.cases.contains(&case.case))
        {
            let errors = case.points.iter().filter_map(|point| point.after.as_ref().err());
            let why = errors.map(|error| error.text.clone()).next().unwrap_or_default();
            was_refused &= case.points.iter().all(|point| matches!(point.before, Some(Err(_))));
            models.entry(&case.case.model).or_insert(why);
        }
        let (first, why) = models.first_key_value()?;
        let all = self.cases.iter().filter(|case| case.version == near.version);
        let all: BTreeSet<&str> = all.map(|case| case.case.model.as_str()).collect();
        let message = format!(
            "the planner refuses {} of {}, and plans the same on {}: {}",
            count(models.len()),
            plural(all.len(), "default model"),
            near.other,
            reasons(models.iter().map(|(model, why)| (why.as_str(), *model))),
        );
        let finding = on_version(rule, rule.severity, &near.version, head, message);
        let finding =
            finding.parts(models.keys().copied()).evidence("first", format!("{first}: {why}"));
        let novelty = if self.compared { Novelty::of(!was_refused) } else { Novelty::Unjudged };
        Some(Finding { novelty, ..finding })
    }

    /// Creates the finding on steps of a current version for which the change loses a prediction. Such a step now has
    /// an error, or the time of one of its operations is now a guess. A guess is based on neither measured rows nor a
    /// fitted formula. Returns `None` if there are no such steps.
    fn lost(&self, rule: &Rule, version: &PlannedVersion, head: State<'_>) -> Option<Finding> {
        let mut reasons_of: Vec<(String, &str)> = Vec::new();
        for (case, point) in self.points_of(version) {
            let why = match (&point.after, point.effect()) {
                (Err(error), StepEffect::Lost) => Some(error.to_string()),
                _ => point.ops.iter().find(|op| op.is_lost()).map(downgrade),
            };
            reasons_of.extend(why.map(|why| (why, case.case.model.as_str())));
        }
        if reasons_of.is_empty() {
            return None;
        }
        let message = format!(
            "{} of the current version {} an error or a guess, because {}",
            plural(reasons_of.len(), "predicted step time"),
            if reasons_of.len() == 1 { "becomes" } else { "become" },
            reasons(reasons_of.iter().map(|(why, model)| (why.as_str(), *model))),
        );
        let finding = on_version(rule, rule.severity, version, head, message).about_change();
        let parts: BTreeSet<String> = reasons_of.iter().map(|(why, _)| why.clone()).collect();
        let models: BTreeSet<&str> = reasons_of.iter().map(|(_, model)| *model).collect();
        let models: Vec<&str> = models.into_iter().collect();
        Some(finding.parts(parts).evidence("lost", reasons_of.len()).evidence("models", models))
    }

    /// Creates the finding on steps of a version whose predicted time changed; `None` if there are no such steps. The
    /// severity is at most info if new times are expected, as after a remeasurement, or if every time changes by less
    /// than `limit`, such as 0.1 for 10 %.
    fn moved(
        &self,
        rule: &Rule,
        limit: f64,
        asked: &AskedVersion,
        head: State<'_>,
        diff: &Diff,
    ) -> Option<Finding> {
        let version = &asked.version;
        let moved: Vec<_> =
            self.points_of(version).filter(|(_, p)| p.effect() == StepEffect::Moved).collect();
        let (case, point) =
            moved.iter().rev().max_by(|a, b| a.1.distance().total_cmp(&b.1.distance()))?;
        let worst = point.factor()? - 1.0;
        let paths: BTreeSet<&String> =
            asked.changed.values().flat_map(|table| &table.paths).collect();
        let tables = diff.tables.iter().filter(|table| paths.contains(&table.path));
        let class = Class::of_all(tables.filter_map(|table| table.class));
        let op = point.ops.first();
        let is_expected = !(class.keeps_latencies() || class == Class::Prune)
            || (class == Class::AppendOnly && !asked.has_other_first());
        let severity = if is_expected || worst.abs() < limit {
            rule.severity.at_most(Severity::Info)
        } else {
            rule.severity
        };
        let mut message = format!(
            "{} of {} {}; the largest move is {}, {}, {}",
            count(moved.len()),
            plural(self.points_of(version).count(), "predicted step time"),
            if moved.len() == 1 { "moves" } else { "move" },
            case.subject(),
            point.point.words(),
            percent(worst),
        );
        if let Some(op) = op {
            message += &format!(" ({})", op.words());
        }
        if !is_expected {
            message += &format!(", although the change is {}", class.into_str());
        }
        let finding = on_version(rule, severity, version, head, message).about_change();
        Some(
            finding
                .evidence("moved", moved.len())
                .evidence("worst", worst)
                .evidence("class", class.into_str()),
        )
    }
}

impl AskedVersion {
    /// Returns true if the change replaces the first of the files that the planner reads for a table. One such table is
    /// sufficient.
    fn has_other_first(&self) -> bool {
        self.changed
            .values()
            .any(|table| !table.before.is_empty() && table.before.first() != table.after.first())
    }
}

impl Class {
    /// Returns true if a change of this class keeps the latency of every key.
    fn keeps_latencies(self) -> bool {
        matches!(
            self,
            Self::None | Self::ReEncode | Self::Move | Self::AppendOnly | Self::ColumnOverlay
        )
    }
}

impl OpMove {
    /// Describes the operation and the cause of its new time, such as `context_moe: moe_perf: fp8 × 0.67`.
    pub(crate) fn words(&self) -> String {
        let source = match (self.source_before, self.source_after) {
            (before, after) if before == after => String::new(),
            _ => format!(", {}", downgrade(self)),
        };
        let cause = if self.cause.words.is_empty() {
            String::new()
        } else {
            format!(": {}", self.cause.words)
        };
        format!("{}{cause}{source}", self.name)
    }
}

/// Describes how the origin of an operation's time changed.
fn downgrade(op: &OpMove) -> String {
    let [before, after] = [op.source_before, op.source_after]
        .map(|source| source.map_or("none", |source| source.into_str()));
    format!("{} is answered by {after} instead of {before}", op.name)
}

/// Renders the most frequent reasons, each with its number of occurrences and the affected models. `all` contains one
/// pair of reason and model per occurrence.
fn reasons<'x>(all: impl Iterator<Item = (&'x str, &'x str)>) -> String {
    let mut found: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for (why, model) in all {
        let (steps, models) = found.entry(why).or_default();
        *steps += 1;
        models.insert(model);
    }
    let mut ordered: Vec<_> = found.into_iter().collect();
    ordered.sort_by_key(|(_, (steps, _))| Reverse(*steps));
    let more = ordered.len().saturating_sub(REASONS);
    let mut words: Vec<String> = ordered
        .iter()
        .take(REASONS)
        .map(|(why, (steps, models))| format!("{why} ({} of {})", count(*steps), first_of(models)))
        .collect();
    words.extend((more > 0).then(|| plural_verb(more, "other reason", ["follows", "follow"])));
    words.join("; ")
}

/// Renders the first model and the number of the remaining models, such as `llama and 2 other models`.
fn first_of(models: &BTreeSet<&str>) -> String {
    let first = models.first().copied().unwrap_or_default();
    match models.len() {
        0 | 1 => first.to_owned(),
        n => format!("{first} and {}", plural(n - 1, "other model")),
    }
}

/// Creates a finding on a version. The path of the finding consists of the system's data folder, the backend and the
/// version.
fn on_version(
    rule: &Rule,
    severity: Severity,
    at: &PlannedVersion,
    head: State<'_>,
    message: String,
) -> Finding {
    let PlannedVersion { system, backend, version } = at.clone();
    let data = head.catalog.systems.get(&system).map_or("", |s| &s.data_dir);
    let parts = [data, &backend, &version];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let finding = Finding::on_path(&rule.id, severity, &parts.join("/"), message);
    finding.at(&Place { system, family: None, backend, version })
}
