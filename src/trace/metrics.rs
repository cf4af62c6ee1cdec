//! Metric files: their columns, cells and what must hold between them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::document::is_blank;
use super::find::{Kind, TraceFile, split};
use super::findings::{Findings, TraceCheck};
use super::frame::{Cell, Frame};
use super::reader::{Rows, read};
use super::relation::broken;
use super::spec::{Finds, MetricSpec, Need, OF_LIST, Type};
use super::{Read, system};
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

/// The rows as formulas see them: with their cards', and in the units of the spec.
pub(super) fn frame<'a>(
    rows: &Rows,
    spec: &MetricSpec,
    file: &TraceFile<'_>,
    cards: &[Read<'_>],
    specs: &'a Specs,
) -> Result<Frame<'a>, ExprError> {
    let mut frame = Frame::new(rows.rows);
    for (name, cells) in &rows.cells {
        let known = spec.columns.get(name);
        let is_text = known.is_some_and(|c| c.kind == Type::Text);
        let own = known.and_then(|c| c.unit.as_deref());
        let scale = match (own, rows.units.get(name)) {
            (Some(own), Some((unit, _))) => scale(unit, own),
            _ => Some(1.0),
        };
        let scaled = |cell: &Cell| match (cell, scale) {
            (Cell::Number(n), Some(scale)) if n.is_finite() => Cell::Number(n * scale),
            (Cell::Text(_), _) => cell.clone(),
            _ => Cell::Null,
        };
        frame.set(name, cells.iter().map(scaled).collect(), is_text);
    }
    for (name, lists) in &rows.lists {
        for of in OF_LIST {
            let cells = lists.iter().map(|list| of_list(of, list)).collect();
            frame.set(&format!("{name}_{of}"), cells, false);
        }
    }
    // Text columns that the file lacks are text all the same.
    for (name, column) in &spec.columns {
        if column.kind == Type::Text && !frame.has(name) {
            frame.set(name, vec![Cell::Null; rows.rows], true);
        }
    }
    let by_dir: BTreeMap<&str, &Read<'_>> = cards.iter().map(|c| (c.dir_name(), c)).collect();
    let own = cards.iter().find(|c| c.dir() == split(&file.entry.path).0);
    let card = |row: usize| match &spec.card {
        Some(column) => by_dir.get(frame.cell(column, row).text()?).copied(),
        None => own,
    };
    let of_rows: Vec<Option<&Read<'_>>> = (0..rows.rows).map(card).collect();
    let formulas = spec.relations.iter().flat_map(|r| r.formulas());
    let formulas = formulas.chain(spec.derive.iter().map(|d| &d.is));
    let asked: BTreeSet<&str> = formulas.flat_map(|e| e.columns()).collect();
    for name in asked.iter().filter_map(|c| c.strip_prefix("card_")) {
        let cell =
            |c: &Option<&Read<'_>>| c.map_or(Cell::Null, |c| c.doc.frame.cell(name, 0).clone());
        let cells: Vec<Cell> = of_rows.iter().map(cell).collect();
        let kind = specs.traces.card.fields.values().find(|f| f.column.as_deref() == Some(name));
        let is_text = kind.is_some_and(|f| matches!(f.kind, Type::Text | Type::Texts));
        frame.set(&format!("card_{name}"), cells, is_text);
    }
    frame.systems = (0..rows.rows)
        .map(|row| {
            let stated = spec.accelerator_in.as_ref().and_then(|c| frame.cell(c, row).text());
            let name = stated.or_else(|| of_rows[row].and_then(|c| c.text("accelerator")));
            system(name.or(spec.accelerator.as_deref()), specs)
        })
        .collect();
    frame.derive(&spec.derive, &spec.thresholds)?;
    Ok(frame)
}

fn of_list(of: &str, list: &[f64]) -> Cell {
    if of == "n" {
        return Cell::Number(list.len() as f64);
    }
    let value = match of {
        "mean" => list.iter().sum::<f64>() / list.len() as f64,
        "min" => list.iter().copied().fold(f64::NAN, f64::min),
        _ => list.iter().copied().fold(f64::NAN, f64::max),
    };
    if value.is_finite() { Cell::Number(value) } else { Cell::Null }
}

/// What a value in one unit is multiplied by to be one in another; none where they are unlike.
fn scale(unit: &str, into: &str) -> Option<f64> {
    let known = |unit: &str| {
        Some(match unit {
            "s" => ("time", 1.0),
            "ms" => ("time", 1e-3),
            "us" => ("time", 1e-6),
            "%" => ("share", 0.01),
            "ratio" => ("share", 1.0),
            "GB/s" => ("rate", 1.0),
            "MB/s" => ("rate", 1e-3),
            "GB" => ("volume", 1.0),
            "MB" => ("volume", 1e-3),
            _ => return None,
        })
    };
    if unit == into {
        return Some(1.0);
    }
    let ((a, from), (b, to)) = (known(unit)?, known(into)?);
    (a == b).then_some(from / to)
}

impl Metrics<'_, '_> {
    fn tell(&self, findings: &mut Findings<'_>, told: Told<'_>) {
        let Told { check, severity, of, message, rows, show } = told;
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
                Told { check: invalid, severity: Some(severity), of, message, rows, show: &show },
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
                        Told { check, severity: None, of: &of, message, rows, show: &values },
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
            self.tell(findings, Told { check, severity: None, of: &of, message, rows, show });
        }
    }

    fn relations(&self, findings: &mut Findings<'_>) -> Result<(), ExprError> {
        for broken in broken(&self.spec.relations, self.frame, &self.spec.thresholds)? {
            let relation = broken.relation;
            let check = match relation.finds {
                Finds::Contradiction => TraceCheck::MetricContradiction,
                Finds::Implausible => TraceCheck::MetricImplausible,
            };
            let rows = plural(broken.rows.len(), "row");
            let first = broken.rows[0];
            let message = match self.rows.rows {
                1 => broken.says(self.frame, first),
                _ => format!("{} in {rows}", broken.says(self.frame, first)),
            };
            let show = |row: usize| broken.values(self.frame, row);
            let of = relation.id.value.as_str();
            let rows = broken.rows.clone();
            self.tell(
                findings,
                Told { check, severity: relation.severity, of, message, rows, show: &show },
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
}
