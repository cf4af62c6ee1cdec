//! Checks metric files: their columns, cells and relations.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::findings::METRICS;
use super::metric_rows::{frame, scale};
use super::reader::{MetricRows, read};
use super::relation::broken;
use super::spec::{Presence, Relation};
use super::{
    Findings, Frame, MetricSpec, TraceDocument, TraceFile, TraceKind, TraceSpecs, brief, split,
};
use crate::base::expr::ExprError;
use crate::base::words::{names, plural_verb};
use crate::checks::kinds::traces::TraceCheck;
use crate::findings::{EXAMPLES, Example, Severity};

/// A metric file that is being checked.
pub(crate) struct Metrics<'a, 'f> {
    path: &'a str,
    pub spec: &'a MetricSpec,
    pub rows: &'a MetricRows,
    pub frame: &'f Frame<'a>,
}

/// Checks the metric files. Returns the total number of their rows.
pub(crate) fn check(
    files: &[TraceFile<'_>],
    cards: &[TraceDocument<'_>],
    specs: &TraceSpecs,
    findings: &mut Findings<'_>,
) -> Result<u64, ExprError> {
    let mut count = 0;
    // Files of one name must have the same columns. For each name: path and columns, in order of
    // paths.
    let mut schemas: BTreeMap<&str, Vec<(&str, BTreeSet<String>)>> = BTreeMap::new();
    for file in files {
        let TraceKind::Metrics(stem) = file.kind else { continue };
        let (path, spec) = (file.entry.path.as_str(), &specs.metrics[stem]);
        let name = split(path).2;
        let text = file.text.as_ref().map_err(Clone::clone);
        let rows = match text.and_then(|text| read(name, text, spec)) {
            Ok(rows) => rows,
            Err(why) => {
                findings.add_only(TraceCheck::Unreadable, path, why.into());
                continue;
            }
        };
        count += rows.rows as u64;
        if spec.within.is_empty() {
            let columns = rows.cells.keys().chain(rows.lists.keys()).cloned().collect();
            schemas.entry(name).or_default().push((path, columns));
        }
        let frame = frame(&rows, spec, file, cards, specs)?;
        let metrics = Metrics { path, spec, rows: &rows, frame: &frame };
        metrics.columns(findings);
        metrics.cells(findings);
        metrics.relations(findings)?;
    }
    for files in schemas.values() {
        let Some(((first, columns), rest)) = files.split_first() else { continue };
        for (path, other) in rest.iter().filter(|(_, other)| other != columns) {
            let differ = columns.symmetric_difference(other).map(|c| brief(c)).collect::<Vec<_>>();
            let differ = names(differ.iter().map(String::as_str));
            let message = format!(
                "{first} has the same name but other columns: only one of the two files has {differ}"
            );
            let severity = Some(Severity::Warning);
            findings.add_about(TraceCheck::MetricInvalid, severity, path, "schema", None, message);
        }
    }
    Ok(count)
}

impl Metrics<'_, '_> {
    /// Adds a finding about rows of the file.
    pub(crate) fn add(&self, findings: &mut Findings<'_>, finding: RowFinding<'_>) {
        let RowFinding { check, severity, of, message, rows, values, grounds } = finding;
        let Some(finding) = findings.finding(check, severity, self.path, message) else { return };
        let example = |row: &usize| Example {
            row: *row as u64,
            line: None,
            key: self.key(*row),
            values: values(*row),
        };
        let examples = rows.iter().take(EXAMPLES).map(example).collect();
        let part = |row: &usize| {
            let key = self.spec.key.iter().map(|k| self.frame.cell(k, *row).to_string());
            let key: Vec<String> = key.collect();
            if key.is_empty() { "the file".to_owned() } else { key.join(" ") }
        };
        let finding = finding.rows(rows.len()).parts(rows.iter().map(part)).examples(examples);
        let mut finding = finding.at_line(rows.first().and_then(|row| self.line(*row)));
        finding.all_rows = Some(rows.len() as u64);
        finding.evidence.extend(grounds);
        findings.add(Some(finding), of);
    }

    fn line(&self, row: usize) -> Option<u64> {
        self.rows.lines.get(row).copied().flatten()
    }

    /// Returns the values that identify a row in findings: its line number and its key columns, each with its name.
    fn key(&self, row: usize) -> Vec<(String, Json)> {
        let line = self.line(row).map(|line| ("line".to_owned(), line.into()));
        let key = self.spec.key.iter().filter(|k| self.frame.has(k));
        line.into_iter().chain(key.map(|k| (k.clone(), self.frame.cell(k, row).json()))).collect()
    }

    /// Reports missing columns, damaged rows and units that differ from the spec.
    fn columns(&self, findings: &mut Findings<'_>) {
        let MetricRows { cells, lists, .. } = self.rows;
        let is_present = |name: &String| cells.contains_key(name) || lists.contains_key(name);
        for (need, severity) in
            [(Presence::Must, Severity::Error), (Presence::Should, Severity::Warning)]
        {
            let missing =
                self.spec.columns.iter().filter(|(n, c)| c.need == need && !is_present(n));
            let missing: Vec<&str> = missing.map(|(n, _)| n.as_str()).collect();
            if missing.is_empty() || self.rows.rows == 0 {
                continue;
            }
            let message = format!("columns are missing: {}", names(missing.iter().copied()));
            let check = TraceCheck::MetricInvalid;
            let finding = findings.finding(check, Some(severity), self.path, message);
            let of = format!("missing {}", severity.into_str());
            findings.add(finding.map(|finding| finding.parts(missing)), &of);
        }
        if let Some((line, why)) = self.rows.torn.first() {
            let rows = plural_verb(self.rows.torn.len(), "row", ["is", "are"]);
            let (check, message) = (TraceCheck::MetricInvalid, format!("{rows} damaged: {why}"));
            findings.add_about(check, None, self.path, "torn", Some(*line), message);
        }
        for (name, (unit, label)) in &self.rows.units {
            let labelled = label.rsplit_once('(').and_then(|(_, unit)| unit.strip_suffix(')'));
            let own = self.spec.columns.get(name).and_then(|c| c.unit.as_deref());
            let own = own.filter(|own| scale(unit, own) != Some(1.0));
            let (check, severity, of, other) = match (labelled.filter(|l| l != unit), own) {
                (Some(label), _) => {
                    let other = format!("its label says {}", brief(label));
                    (TraceCheck::MetricContradiction, None, "label", other)
                }
                (None, Some(own)) => {
                    let other = format!("elsewhere it is in {own}");
                    (TraceCheck::MetricImplausible, Some(Severity::Warning), "unit", other)
                }
                (None, None) => continue,
            };
            let message = format!("{} is in {}, but {other}", brief(name), brief(unit));
            findings.add_about(check, severity, self.path, &format!("{of}: {name}"), None, message);
        }
    }

    fn relations(&self, findings: &mut Findings<'_>) -> Result<(), ExprError> {
        let (spec, frame) = (self.spec, self.frame);
        for (relation, rows) in broken(&spec.relations, &spec.derive, frame, &spec.thresholds)? {
            let of_machine = relation.reads_figures();
            let assumed = |row: &usize| of_machine && frame.assumed.contains(row);
            let (assumed, stated) = rows.into_iter().partition(assumed);
            self.broken(findings, relation, stated, None);
            self.broken(findings, relation, assumed, spec.accelerator.as_deref());
        }
        Ok(())
    }

    /// Adds a finding about rows that break a relation. `assumed` is the name of the accelerator if it was only assumed
    /// for these rows. The finding is then at most a warning.
    fn broken(
        &self,
        findings: &mut Findings<'_>,
        relation: &Relation,
        rows: Vec<usize>,
        assumed: Option<&str>,
    ) {
        let check = METRICS.of_relation(relation.finds);
        if rows.is_empty() {
            return;
        }
        let mut message = relation.message(self.frame, &rows, &self.spec.thresholds);
        let mut severity = relation.severity;
        let mut of = relation.id.value.clone();
        if let Some(name) = assumed {
            message += &format!("; {name} was assumed, because no card names the accelerator");
            severity = Some(severity.unwrap_or(Severity::Warning).at_most(Severity::Warning));
            of += " assumed";
        }
        let values = |row: usize| relation.values(self.frame, row);
        let grounds = relation.grounds(&self.spec.thresholds);
        let finding = RowFinding::new(check, &of, message, rows, &values);
        self.add(findings, RowFinding { severity, grounds, ..finding });
    }
}

/// A function that returns the names and values that an example shows for a row.
pub(crate) type RowValues<'a> = dyn Fn(usize) -> Vec<(String, Json)> + 'a;

/// A finding about rows of a metric file.
pub(crate) struct RowFinding<'a> {
    pub check: TraceCheck,
    pub severity: Option<Severity>,
    /// The text that distinguishes the finding from other findings of the same rule in the file.
    pub of: &'a str,
    pub message: String,
    pub rows: Vec<usize>,
    pub values: &'a RowValues<'a>,
    /// The thresholds on which the finding is based. Each threshold gives two pairs: `NAME` with the threshold's value,
    /// and `NAME_from` with the source of this value.
    pub grounds: Vec<(String, Json)>,
}

impl<'a> RowFinding<'a> {
    /// Creates a finding with the rule's own severity and without thresholds.
    pub(crate) fn new(
        check: TraceCheck,
        of: &'a str,
        message: String,
        rows: impl IntoIterator<Item = usize>,
        values: &'a RowValues<'a>,
    ) -> Self {
        let rows = rows.into_iter().collect();
        Self { check, severity: None, of, message, rows, values, grounds: Vec::new() }
    }
}
