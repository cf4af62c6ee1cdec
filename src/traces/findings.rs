//! Collects findings on traces: one per rule, file and kind of problem.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::document::{Problem, ProblemKind};
use super::frame::FrameView;
use super::relation::broken;
use super::spec::{DocumentSpec, RelationRule};
use super::{TraceDocument, TraceSpecs, brief, names};
use crate::base::expr::ExprError;
use crate::checks::Check;
use crate::checks::kinds::traces::TraceCheck;
use crate::checks::rule::Rule;
use crate::findings::{Finding, Severity};

/// The checks that report the problems of one kind of trace file, such as cards.
pub(crate) struct Checks {
    invalid: TraceCheck,
    contradiction: TraceCheck,
    implausible: TraceCheck,
}

impl Checks {
    /// Returns the check that reports broken relations in this kind of file. `finds` states whether a broken relation
    /// is a contradiction or implausible.
    pub(crate) fn of_relation(&self, finds: RelationRule) -> TraceCheck {
        match finds {
            RelationRule::Contradiction => self.contradiction,
            RelationRule::Implausible => self.implausible,
        }
    }
}

pub(crate) const METRICS: Checks = Checks {
    invalid: TraceCheck::MetricInvalid,
    contradiction: TraceCheck::MetricContradiction,
    implausible: TraceCheck::MetricImplausible,
};

pub(crate) const CARD: Checks = Checks {
    invalid: TraceCheck::CardInvalid,
    contradiction: TraceCheck::CardContradiction,
    implausible: TraceCheck::CardImplausible,
};

pub(crate) const CONFIG: Checks = Checks {
    invalid: TraceCheck::ConfigInvalid,
    contradiction: TraceCheck::ConfigContradiction,
    implausible: TraceCheck::ConfigContradiction,
};

/// Collects the findings of the rules that run.
pub struct Findings<'a> {
    rules: BTreeMap<TraceCheck, &'a Rule>,
    pub all: Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(rules: &'a [Arc<Rule>]) -> Self {
        let of_traces = |rule: &'a Arc<Rule>| match rule.check {
            Check::Trace(check) => Some((check, rule.as_ref())),
            _ => None,
        };
        Self { rules: rules.iter().filter_map(of_traces).collect(), all: Vec::new() }
    }

    /// Creates a finding; `None` if no rule with this check runs. If `severity` is `None` or above the rule's severity,
    /// the finding has the rule's severity.
    pub(crate) fn finding(
        &self,
        check: TraceCheck,
        severity: Option<Severity>,
        path: &str,
        message: String,
    ) -> Option<Finding> {
        let rule = self.rules.get(&check)?;
        let severity = severity.unwrap_or(rule.severity).at_most(rule.severity);
        Some(Finding::on_path(&rule.id, severity, path, message).about_traces())
    }

    /// Adds a finding unless it is `None`. `of` names the finding's subject, so that several findings of a rule in one
    /// file have different fingerprints.
    pub(crate) fn add(&mut self, finding: Option<Finding>, of: &str) {
        if let Some(mut finding) = finding {
            finding.slice.insert("of".into(), of.into());
            self.all.push(finding);
        }
    }

    /// Adds a finding of a rule that reports at most one finding per file.
    pub(crate) fn add_only(&mut self, check: TraceCheck, path: &str, message: String) {
        self.all.extend(self.finding(check, None, path, message));
    }

    /// Adds a finding of a rule that can report several findings per file. `of` names the finding's subject, so that
    /// these findings have different fingerprints.
    pub(crate) fn add_about(
        &mut self,
        check: TraceCheck,
        severity: Option<Severity>,
        path: &str,
        of: &str,
        line: Option<u64>,
        message: String,
    ) {
        let finding = self.finding(check, severity, path, message + &at(line));
        self.add(finding.map(|finding| finding.at_line(line)), of);
    }

    /// Adds all findings on a single card or config: on its fields, on relations between its fields, and on numbers in
    /// the file's or directory's name that contradict the fields.
    pub(crate) fn document(
        &mut self,
        document: &TraceDocument<'_>,
        spec: &DocumentSpec,
        of: &Checks,
    ) -> Result<(), ExprError> {
        self.problems(document, of.invalid);
        let TraceDocument { path, frame, lines, .. } = document;
        let thresholds = &spec.thresholds;
        for (relation, _) in broken(&spec.relations, &spec.derive, frame, thresholds)? {
            let check = of.of_relation(relation.finds);
            let values = relation.values(frame, 0);
            // The line of the first column named in the sentence, else the first line of any column
            // read.
            let named = relation.says.names().find_map(|name| lines.get(name));
            let line = named.or(values.iter().filter_map(|(name, _)| lines.get(name)).min());
            let message = relation.message(frame, &[0], thresholds) + &at(line.copied());
            let finding = self.finding(check, relation.severity, path, message);
            let finding = finding.map(|finding| {
                let mut finding = finding.at_line(line.copied());
                finding.evidence.extend(values);
                finding.evidence.extend(relation.grounds(thresholds));
                finding
            });
            self.add(finding, &relation.id.value);
        }
        self.named(document, spec, of.contradiction)
    }

    fn problems(&mut self, document: &TraceDocument<'_>, check: TraceCheck) {
        let mut by_kind: BTreeMap<(ProblemKind, Severity), Vec<&Problem>> = BTreeMap::new();
        for problem in &document.problems {
            by_kind.entry((problem.kind, problem.severity)).or_default().push(problem);
        }
        for ((kind, severity), mut problems) in by_kind {
            problems.dedup_by(|a, b| (&a.text, a.line) == (&b.text, b.line));
            let each = problems.iter().map(|p| format!("{}{}", p.text, at(p.line)));
            let each = each.collect::<Vec<_>>().join("; ");
            let message = match kind {
                ProblemKind::Missing => format!("fields are missing: {each}"),
                ProblemKind::Unfilled => format!("fields are not filled in: {each}"),
                ProblemKind::Depth | ProblemKind::Type | ProblemKind::Value => each,
            };
            let finding = self.finding(check, Some(severity), &document.path, message);
            let finding = finding.map(|finding| {
                let fields = problems.iter().map(|p| p.field.as_str());
                let mut finding = finding
                    .at_line(problems.iter().find_map(|p| p.line))
                    .parts(fields.clone())
                    .evidence("fields", fields.map(Json::from).collect::<Vec<_>>());
                // Required and recommended fields that are missing make separate findings.
                finding.slice.insert("severity".into(), severity.into_str().into());
                finding
            });
            self.add(finding, kind.name());
        }
    }

    /// Adds a finding for each number in a name that contradicts the document, such as `tp4` in a directory's name.
    /// Three names are checked: the name of the document's directory, the name of its file, and the last part of the
    /// trace location that the document states.
    fn named(
        &mut self,
        document: &TraceDocument<'_>,
        spec: &DocumentSpec,
        check: TraceCheck,
    ) -> Result<(), ExprError> {
        if document.template {
            return Ok(());
        }
        let place = document.text("directory").filter(|t| !t.contains("://"));
        let place = place.map(|t| t.trim_end_matches('/').rsplit('/').next().unwrap_or(t));
        let mut subjects = vec![("its directory", document.dir_name.as_str(), None)];
        if document.stem() != document.dir_name {
            subjects.push(("its file's name", document.stem(), None));
        }
        if let Some(place) = place.filter(|p| *p != document.dir_name) {
            subjects.push(("trace_url", place, Some(Severity::Warning)));
        }
        let view = FrameView { frame: &document.frame, thresholds: &spec.thresholds };
        for part in &spec.names {
            let mut values = Vec::new();
            for formula in &part.is {
                let value = formula.numbers(&view)?.get(0);
                values.extend((!value.is_nan()).then_some(value));
            }
            let label = &part.labels[0];
            let columns = || part.is.iter().flat_map(|e| e.columns());
            let stated = columns().any(|c| !document.defaulted.contains(c));
            let line = columns().filter_map(|c| document.lines.get(c)).min();
            for (what, name, severity) in &subjects {
                let told = part.labels.iter().find_map(|l| names::number(name, l));
                let Some(told) = told.filter(|t| !values.contains(&(*t as f64))) else { continue };
                let Some(value) = values.first() else { continue };
                let severity = if stated { *severity } else { Some(Severity::Warning) };
                let says = if stated { "says" } else { "does not say, which means" };
                let message = format!("{what} says {label} {told}, but the file {says} {value}");
                let of = format!("{what}: {label}");
                self.add_about(check, severity, &document.path, &of, line.copied(), message);
            }
        }
        Ok(())
    }

    /// Adds a finding if a card names an accelerator whose system is unknown.
    pub(crate) fn accelerator(&mut self, card: &TraceDocument<'_>, specs: &TraceSpecs) {
        let Some(name) = card.text("accelerator") else { return };
        let (severity, why) = match (specs.accelerators.known(name), specs.system(name)) {
            (_, Some(_)) => return,
            (Some(_), None) => (Severity::Info, "no system file describes the accelerator"),
            (None, None) => (Severity::Warning, "this program does not know the accelerator"),
        };
        let line = card.lines.get("accelerator").copied();
        let name = brief(name);
        let message = format!("{why} {name}, so its bandwidth and driver are not checked");
        self.add_about(CARD.implausible, Some(severity), &card.path, "accelerator", line, message);
    }
}

/// Returns ` (line N)` to append to a message; empty for an unknown line.
pub(crate) fn at(line: Option<u64>) -> String {
    line.filter(|l| *l > 0).map_or(String::new(), |line| format!(" (line {line})"))
}
