//! Metric files: their columns, cells and what must hold between them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::Read;
use super::field::is_blank;
use super::find::{Kind, TraceFile, split};
use super::findings::{Findings, TraceCheck};
use super::frame::{Cell, Frame};
use super::metric_rows::{frame, scale};
use super::reader::{Rows, read};
use super::relation::broken;
use super::spec::{Finds, MetricSpec, Need, Type};
use crate::checks::{names, plural};
use crate::expr::ExprError;
use crate::finding::{EXAMPLES, Example, Finding, Severity};
use crate::spec::Specs;

/// A metric file under judgement.
struct Metrics<'a, 'f> {
    path: &'a str,
    spec: &'a MetricSpec,
    rows: &'a Rows,
    frame: &'f Frame<'a>,
}

/// Judges the metric files; counts their rows.
pub(super) fn check(
    files: &[TraceFile<'_>],
    cards: &[Read<'_>],
    specs: &Specs,
    findings: &mut Findings<'_>,
) -> Result<u64, ExprError> {
    let mut count = 0;
    // One name has one schema: columns of each file by name, in order of paths.
    let mut schemas: BTreeMap<&str, Vec<(&str, BTreeSet<String>)>> = BTreeMap::new();
    for file in files {
        let Kind::Metrics(stem) = file.kind else { continue };
        let (path, spec) = (file.entry.path.as_str(), &specs.traces.metrics[stem]);
        let name = split(path).2;
        let rows = file.text.clone().and_then(|text| read(name, &text, spec));
        let rows = match rows {
            Ok(rows) => rows,
            Err(why) => {
                findings.say(TraceCheck::Unreadable, None, path, why);
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
            let differ = names(columns.symmetric_difference(other).map(String::as_str));
            let message =
                format!("{first} has the same name and other columns: {differ} in one alone");
            let severity = Some(Severity::Warning);
            findings.say_of(TraceCheck::MetricInvalid, severity, path, "schema", message);
        }
    }
    Ok(count)
}

impl Metrics<'_, '_> {
    /// Tells a finding on rows, with what it goes by.
    fn tell(&self, findings: &mut Findings<'_>, told: Told<'_>) {
        let Told { check, severity, of, message, rows, show, grounds } = told;
        let Some(finding) = findings.finding(check, severity, self.path, message) else { return };
        let example =
            |row: &usize| Example { row: *row as u64, key: self.key(*row), values: show(*row) };
        let examples = rows.iter().take(EXAMPLES).map(example).collect();
        let part = |row: &usize| {
            let key: Vec<String> =
                self.spec.key.iter().map(|k| self.frame.cell(k, *row).to_string()).collect();
            if key.is_empty() { "the file".to_owned() } else { key.join(" ") }
        };
        let finding = finding.rows(rows.len()).parts(rows.iter().map(part)).examples(examples);
        let mut finding = Finding { all_rows: Some(rows.len() as u64), ..finding };
        finding.slice.insert("of".into(), of.into());
        finding.evidence.extend(grounds);
        findings.all.push(finding);
    }

    /// What names a row: its line, then the key.
    fn key(&self, row: usize) -> Vec<(String, Json)> {
        let line = self.rows.lines.get(row).copied().flatten();
        let line = line.map(|line| ("line".to_owned(), line.into()));
        let key = self.spec.key.iter().filter(|k| self.frame.has(k));
        line.into_iter().chain(key.map(|k| (k.clone(), self.frame.cell(k, row).json()))).collect()
    }

    /// Columns that are missing, damaged rows, and units.
    fn columns(&self, findings: &mut Findings<'_>) {
        let there = |name: &String| {
            self.rows.cells.contains_key(name) || self.rows.lists.contains_key(name)
        };
        for (need, severity) in [(Need::Must, Severity::Error), (Need::Should, Severity::Warning)] {
            let missing = self.spec.columns.iter().filter(|(n, c)| c.need == need && !there(n));
            let missing: Vec<&str> = missing.map(|(n, _)| n.as_str()).collect();
            if missing.is_empty() || self.rows.rows == 0 {
                continue;
            }
            let message = format!("missing: {}", names(missing.iter().copied()));
            let check = TraceCheck::MetricInvalid;
            if let Some(finding) = findings.finding(check, Some(severity), self.path, message) {
                let mut finding = finding.parts(missing);
                finding.slice.insert("of".into(), format!("missing {}", severity.name()).into());
                findings.all.push(finding);
            }
        }
        if let Some((line, why)) = self.rows.torn.first() {
            let rows = plural(self.rows.torn.len(), "damaged row");
            let message = format!("{rows}: line {line} has {why}");
            findings.say_of(TraceCheck::MetricInvalid, None, self.path, "torn", message);
        }
        for (name, (unit, label)) in &self.rows.units {
            let in_label = label.rsplit_once('(').and_then(|(_, l)| l.strip_suffix(')'));
            let own = self.spec.columns.get(name).and_then(|c| c.unit.as_deref());
            if let Some(told) = in_label.filter(|l| l != unit) {
                let message = format!("{name} is in {unit}, its label says {told}");
                let of = format!("label: {name}");
                findings.say_of(TraceCheck::MetricContradiction, None, self.path, &of, message);
            } else if let Some(own) = own.filter(|own| scale(unit, own) != Some(1.0)) {
                let message = format!("{name} is in {unit}, elsewhere it is in {own}");
                let severity = Some(Severity::Warning);
                let of = format!("unit: {name}");
                findings.say_of(TraceCheck::MetricImplausible, severity, self.path, &of, message);
            }
        }
    }

    /// Cells one by one: text for a number, not finite, negative, a percentage beyond 100, a value
    /// that only another unit gives.
    fn cells(&self, findings: &mut Findings<'_>) {
        let invalid = TraceCheck::MetricInvalid;
        for (blank, severity, what) in [
            (true, Severity::Warning, "stand for unmeasured values; null does, or an empty cell"),
            (false, Severity::Error, "are no numbers"),
        ] {
            let texts = self.rows.texts.iter().filter(|(_, _, text)| is_blank(text) == blank);
            let texts: Vec<_> = texts.collect();
            let Some((column, _, text)) = texts.first() else { continue };
            let cells = plural(texts.len(), "cell");
            let message =
                format!("{cells} hold text and {what}: '{}' in {column}", super::tree::brief(text));
            let rows: BTreeSet<usize> = texts.iter().map(|(_, row, _)| *row).collect();
            let rows: Vec<usize> = rows.into_iter().collect();
            let show = |row: usize| {
                let here = texts.iter().filter(|(_, r, _)| *r == row);
                here.map(|(c, _, t)| (c.clone(), super::tree::brief(t).into())).collect()
            };
            let of = if blank { "unmeasured" } else { "text" };
            self.tell(
                findings,
                Told {
                    check: invalid,
                    severity: Some(severity),
                    of,
                    message,
                    rows,
                    show: &show,
                    grounds: Vec::new(),
                },
            );
        }
        for (name, cells) in &self.rows.cells {
            let column = self.spec.columns.get(name);
            if column.is_some_and(|c| c.kind == Type::Text) {
                continue;
            }
            let told = self.rows.units.get(name).map(|(unit, _)| unit.as_str());
            let unit = told.or(column.and_then(|c| c.unit.as_deref()));
            let plausible = column.and_then(|c| c.plausible);
            let number = |row: usize| cells[row].number();
            let all = || (0..self.rows.rows).filter_map(|row| Some((row, number(row)?)));
            let values = |row: usize| vec![(name.clone(), cells[row].json())];
            self.ranges(findings, name, unit, &values, &mut all());
            if let Some((least, most)) = plausible {
                let scaled = |row: usize| self.frame.cell(name, row).number();
                let odd = (0..self.rows.rows)
                    .filter_map(|row| Some((row, scaled(row)?)))
                    .filter(|(_, n)| *n != 0.0 && !(least..=most).contains(n));
                let rows: Vec<usize> = odd.map(|(row, _)| row).collect();
                if !rows.is_empty() {
                    let unit = column.and_then(|c| c.unit.as_deref()).unwrap_or("its unit");
                    let message = format!(
                        "{name} outside {least} to {most} {unit}: it may be in another unit, in {}",
                        plural(rows.len(), "row")
                    );
                    let of = format!("plausible: {name}");
                    let check = TraceCheck::MetricImplausible;
                    self.tell(
                        findings,
                        Told {
                            check,
                            severity: None,
                            of: &of,
                            message,
                            rows,
                            show: &values,
                            grounds: Vec::new(),
                        },
                    );
                }
            }
        }
        for (name, lists) in &self.rows.lists {
            let values = |row: usize| {
                vec![(
                    name.clone(),
                    lists[row].iter().take(8).copied().map(|n| Cell::Number(n).json()).collect(),
                )]
            };
            let mut all =
                lists.iter().enumerate().flat_map(|(row, l)| l.iter().map(move |n| (row, *n)));
            self.ranges(findings, name, Some("s"), &values, &mut all);
        }
    }

    fn ranges(
        &self,
        findings: &mut Findings<'_>,
        name: &str,
        unit: Option<&str>,
        show: &dyn Fn(usize) -> Vec<(String, Json)>,
        values: &mut dyn Iterator<Item = (usize, f64)>,
    ) {
        let mut faults: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (row, n) in values {
            let fault = match n {
                n if !n.is_finite() => "is not finite",
                n if n < 0.0 => "is below zero",
                // Sums of parts end a little above.
                n if unit == Some("%") && n > 100.1 => "is above 100 %",
                _ => continue,
            };
            faults.entry(fault).or_default().insert(row);
        }
        for (fault, rows) in faults {
            let rows: Vec<usize> = rows.into_iter().collect();
            let message = format!("{name} {fault} in {}", plural(rows.len(), "row"));
            let of = format!("{name} {fault}");
            let check = TraceCheck::MetricInvalid;
            self.tell(
                findings,
                Told { check, severity: None, of: &of, message, rows, show, grounds: Vec::new() },
            );
        }
    }

    fn relations(&self, findings: &mut Findings<'_>) -> Result<(), ExprError> {
        for broken in broken(&self.spec.relations, self.frame, &self.spec.thresholds)? {
            let relation = broken.relation;
            let check = match relation.finds {
                Finds::Contradiction => TraceCheck::MetricContradiction,
                Finds::Implausible => TraceCheck::MetricImplausible,
            };
            let first = broken.says(self.frame, broken.rows[0]);
            let rows = plural(broken.rows.len(), "row");
            let message = match (self.rows.rows, broken.rows.len()) {
                (1, _) | (_, 1) => first,
                // What holds of the first need not hold of all.
                _ if broken.named().next().is_some() => format!("{first}; so or alike in {rows}"),
                _ => format!("{first} in {rows}"),
            };
            let show = |row: usize| broken.values(self.frame, row);
            let of = relation.id.value.as_str();
            let rows = broken.rows.clone();
            self.tell(
                findings,
                Told {
                    check,
                    severity: relation.severity,
                    of,
                    message,
                    rows,
                    show: &show,
                    grounds: broken.grounds(),
                },
            );
        }
        Ok(())
    }
}

/// A finding on rows.
struct Told<'a> {
    check: TraceCheck,
    severity: Option<Severity>,
    /// Which of its rule's findings in the file.
    of: &'a str,
    message: String,
    rows: Vec<usize>,
    /// What a row shows.
    show: &'a dyn Fn(usize) -> Vec<(String, Json)>,
    /// What it goes by.
    grounds: Vec<(String, Json)>,
}
