//! Applies the rules on predictions to a pull request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::case::{Fate, ImpactCase, PointImpact};
use super::cause::{MoveCause, keeps_latencies};
use super::predictions::PredictedChange;
use super::{PlannedVersion, summary};
use crate::base::words::{count, plural};
use crate::checks::Check;
use crate::checks::kinds::predictions::MovedPredictions;
use crate::checks::rule::Rule;
use crate::database::catalog::Place;
use crate::database::diff::Class;
use crate::database::state::State;
use crate::findings::{Finding, Severity};
use crate::report::predictions::percent;

/// The maximum number of reasons in a finding's message.
const REASONS: usize = 3;

impl PredictedChange {
    /// Returns the findings of the rules on predictions.
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
    ) -> impl Iterator<Item = (&'x ImpactCase, &'x PointImpact)> {
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
        let mut ordered: Vec<(&String, &(usize, BTreeSet<&str>))> = reasons.iter().collect();
        ordered.sort_by_key(|(_, (steps, _))| std::cmp::Reverse(*steps));
        let each = ordered.iter().take(REASONS).map(|(why, (steps, models))| {
            format!("{why} ({} of {})", count(*steps), first_of(models))
        });
        let mut message = format!(
            "{} of the current version {} an error, because {}",
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
        let cause = point.ops.first().map(|op| self.tables.cause(op));
        let is_expected = !keeps_latencies(class) || cause == Some(MoveCause::NearerRows);
        let severity = if is_expected || worst.abs() < limits.unexplained {
            rule.severity.at_most(Severity::Info)
        } else {
            rule.severity
        };
        let mut message = format!(
            "{} of {} {}; the largest move is {}, {}, {}",
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
        if let Some(cause) = &cause {
            message += &format!("; cause: {}", cause.words());
        }
        if !is_expected {
            message += &format!(", although the change is {}", class.name());
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
        let finding = Finding::on_path(&rule.id, severity, &parts.join("/"), message);
        finding.of_change().at(&Place {
            system: system.clone(),
            family: None,
            backend: backend.clone(),
            version: version.clone(),
        })
    }
}

/// Names the first model and the number of other models.
fn first_of(models: &BTreeSet<&str>) -> String {
    let first = models.first().copied().unwrap_or_default();
    match models.len() {
        0 | 1 => first.to_owned(),
        n => format!("{first} and {}", plural(n - 1, "other model")),
    }
}
