//! Reads the rows that a report names: findings of `validate` and `sanity`, points of `remeasure`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::base::error::{Error, Reason, Result};
use crate::base::words::Figure;
use crate::database::table::REFERENCE;
use crate::findings::SOURCE_FILE;

/// A row that a report names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReportedRow {
    /// Path of the table.
    pub path: String,
    /// Index of the row in its table, from 0.
    pub row: usize,
    /// The row's key as the report shows it; empty if the report lists only row numbers.
    pub key: BTreeMap<String, Value>,
    /// The reason why the report names the row.
    pub reason: String,
}

#[derive(Deserialize)]
struct AnyReport {
    schema: String,
    #[serde(default)]
    findings: Vec<ReportFinding>,
    #[serde(default)]
    measurements: Vec<ReportMeasurement>,
}

#[derive(Deserialize)]
struct ReportFinding {
    rule: String,
    severity: String,
    path: String,
    table: Option<String>,
    #[serde(default)]
    evidence: BTreeMap<String, Value>,
    /// The number of rows that the finding is about.
    #[serde(default)]
    rows: usize,
    #[serde(default)]
    examples: Vec<ReportExample>,
    #[serde(default)]
    waived_by: Option<String>,
}

#[derive(Deserialize)]
struct ReportExample {
    row: usize,
    key: BTreeMap<String, Value>,
    #[serde(default)]
    values: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct ReportMeasurement {
    path: String,
    row: usize,
    key: BTreeMap<String, Value>,
    ratio: Option<f64>,
    verdict: String,
}

/// Reads the rows that a report names. Reads the findings of the rules in `only`, or all findings except infos if
/// `only` is empty. Waived findings are skipped. A report names only a few example rows of most findings; the number of
/// rows that it does not name is returned, too.
///
/// # Errors
///
/// Returns an error if the file cannot be read or is not a JSON report of this program.
pub(crate) fn read(path: &Path, only: &[String]) -> Result<(Vec<ReportedRow>, usize)> {
    let bad = |why: Reason| {
        let hint = "--from takes a JSON report (--format json) of validate, sanity or remeasure";
        Error::new(format!("{}: {why}", path.display()), hint)
    };
    let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string().into()))?;
    let report: AnyReport = serde_json::from_str(&text).map_err(|e| bad(e.to_string().into()))?;
    if report.schema != "perfdb-gate/v1" {
        return Err(bad(format!("its schema is '{}'", report.schema).into()));
    }
    let counts = |f: &ReportFinding| {
        f.waived_by.is_none()
            && if only.is_empty() { f.severity != "info" } else { only.contains(&f.rule) }
    };
    let (mut rows, mut unnamed) = (Vec::new(), 0);
    for finding in report.findings.iter().filter(|f| counts(f)) {
        let found = of_finding(finding);
        unnamed += if found.is_empty() { 0 } else { finding.rows.saturating_sub(found.len()) };
        rows.extend(found);
    }
    rows.extend(report.measurements.into_iter().filter_map(of_measurement));
    Ok((rows, unnamed))
}

/// Returns the rows that a finding names, either as examples or by row number. Leaves out examples from a reference
/// table; a finding on missing rows has such examples.
fn of_finding(finding: &ReportFinding) -> Vec<ReportedRow> {
    if finding.table.is_none() {
        return Vec::new();
    }
    let reported = |row, key, reason| ReportedRow { path: finding.path.clone(), row, key, reason };
    let own = finding.examples.iter().filter(|e| !e.values.contains_key(REFERENCE));
    let own = own.map(|e| {
        let row = reported(e.row, e.key.clone(), reason(&finding.rule, &e.values));
        // A finding on a table of several files names the file of each example.
        let file = e.values.get(SOURCE_FILE).and_then(Value::as_str);
        ReportedRow { path: file.map_or(row.path, str::to_owned), ..row }
    });
    let mut rows: Vec<ReportedRow> = own.collect();
    let listed = finding.evidence.get("point_rows").and_then(Value::as_array);
    for row in listed.into_iter().flatten().filter_map(Value::as_u64).map(|row| row as usize) {
        if !rows.iter().any(|known| known.row == row) {
            rows.push(reported(row, BTreeMap::new(), finding.rule.clone()));
        }
    }
    rows
}

/// Renders a rule with the numbers that it shows for a row, such as `latency-spike (latency_ms 4.8,
/// over_neighbours 10)`.
fn reason(rule: &str, values: &BTreeMap<String, Value>) -> String {
    let shown: Vec<String> = values
        .iter()
        .filter(|(_, value)| value.is_number())
        .map(|(name, value)| match value.as_f64() {
            Some(number) if value.is_f64() => format!("{name} {:.4}", Figure(number)),
            _ => format!("{name} {value}"),
        })
        .collect();
    if shown.is_empty() { rule.to_owned() } else { format!("{rule} ({})", shown.join(", ")) }
}

/// Returns the row of a point that was measured again, if the ratio of the new to the recorded time is outside the
/// noise of repeated measurements. Otherwise returns `None`.
fn of_measurement(measured: ReportMeasurement) -> Option<ReportedRow> {
    let ratio = measured.ratio.filter(|_| measured.verdict == "beyond")?;
    let ReportMeasurement { path, row, key, .. } = measured;
    let reason = format!("measured again: {:.3} times the recorded time", Figure(ratio));
    Some(ReportedRow { path, row, key, reason })
}
