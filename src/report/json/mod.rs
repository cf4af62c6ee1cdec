//! Renders the JSON report, `perfdb-gate/v1`. Its types are separate from the types of the program, so that the code
//! can change without the format. Texts are not escaped for people; control characters are JSON escapes.

mod diff;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::Value;

use self::diff::{JsonChange, JsonFile, JsonTable, change, file, table};
use super::facts::{self, JsonFact};
use super::measured::json::{JsonMeasurement, JsonRemeasure, measurements, remeasure};
use super::predictions::Predictions;
use super::view::ReportView;
use crate::base::escape::inert_json;
use crate::checks::rule::Rule;
use crate::findings::{Confidence, Finding, Repaired, Severity};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Document")]
struct JsonReport<'a> {
    #[schemars(extend("const" = "perfdb-gate/v1"))]
    schema: &'static str,
    tool: Tool,
    command: &'a str,
    summary: JsonSummary,
    /// The facts by which the tables were judged, such as the operation catalog, each with its origin; absent if the
    /// judged tree has no file of facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<JsonFact<'a>>,
    findings: Vec<JsonFinding<'a>>,
    /// Tables that belong to no root and were not checked.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unjudged: &'a [String],
    /// Files that are not in the local clone. They were not checked, so the run is inconclusive.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    absent: BTreeSet<&'a str>,
    /// Findings of the base that the head no longer has.
    repaired: Vec<JsonRepaired<'a>>,
    diff: Vec<JsonTable<'a>>,
    files: Vec<JsonFile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<JsonChange<'a>>,
    /// The change of predicted step times; absent if no rule asked for predictions or no step was predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    predictions: Option<&'a Predictions>,
    measurements: Vec<JsonMeasurement<'a>>,
    verdict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remeasure: Option<JsonRemeasure<'a>>,
}

/// The name and version of the program that wrote a report.
#[derive(Serialize, JsonSchema)]
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    /// Returns the name and version of this program.
    pub(super) fn own() -> Self {
        Self { name: "perfdb-gate", version: env!("CARGO_PKG_VERSION") }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Summary")]
struct JsonSummary {
    tables: u64,
    rows: u64,
    errors: u64,
    warnings: u64,
    infos: u64,
    waived: u64,
    baselined: u64,
    elapsed_ms: u64,
}

/// The subject, severity and message of a finding.
#[derive(Serialize, JsonSchema)]
struct JsonStatement<'a> {
    rule: &'a str,
    #[schemars(with = "Severity")]
    severity: &'static str,
    /// The confidence that a finding of this rule and severity is a real defect, such as `likely`; null for an unknown
    /// rule.
    confidence: Option<Confidence>,
    fingerprint: String,
    path: &'a str,
    system: Option<&'a str>,
    family: Option<&'a str>,
    backend: Option<&'a str>,
    version: Option<&'a str>,
    table: Option<&'a str>,
    slice: &'a BTreeMap<String, Value>,
    rows: u64,
    message: &'a str,
}

/// A finding with its evidence.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonFinding<'a> {
    #[serde(flatten)]
    statement: JsonStatement<'a>,
    evidence: BTreeMap<String, Value>,
    examples: Vec<JsonExample<'a>>,
    waived_by: Option<&'a str>,
    new: Option<bool>,
    /// The finding's state compared with the base or a baseline: `new`, `inherited`, or `moved` if the base has the
    /// finding on a file at another path. Null if nothing was compared.
    state: Option<&'static str>,
}

/// A finding of the base that the head no longer has.
#[derive(Serialize, JsonSchema)]
struct JsonRepaired<'a> {
    #[serde(flatten)]
    statement: JsonStatement<'a>,
    /// True if the finding disappeared because its table was deleted.
    with_table: bool,
}

#[derive(Serialize, JsonSchema)]
struct JsonExample<'a> {
    row: u64,
    /// The line number of the row in a text table, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Value>")]
    key: &'a [(String, Value)],
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Value>")]
    values: &'a [(String, Value)],
}

fn as_map<S: Serializer>(pairs: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(k, v)| (k, v)))
}

/// Returns the JSON schema of the report.
pub fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<JsonReport<'_>>()
}

pub(super) fn render(view: &ReportView<'_>) -> String {
    let report = view.raw;
    let document = JsonReport {
        schema: "perfdb-gate/v1",
        tool: Tool::own(),
        command: report.command,
        summary: JsonSummary {
            tables: report.tables,
            rows: report.rows,
            errors: report.counts.errors,
            warnings: report.counts.warnings,
            infos: report.counts.infos,
            waived: report.counts.waived,
            baselined: report.counts.baselined,
            elapsed_ms: report.elapsed.as_millis() as u64,
        },
        facts: facts::json(&report.facts),
        findings: report.findings.iter().map(|found| finding(found, &report.rules)).collect(),
        unjudged: &report.outside,
        absent: report.absent.paths(),
        repaired: report.repaired.iter().map(|gone| repaired(gone, &report.rules)).collect(),
        diff: report.diff.iter().flat_map(|d| &d.tables).map(table).collect(),
        files: report.diff.iter().flat_map(|d| &d.files).map(file).collect(),
        change: report.diff.as_ref().map(change),
        predictions: report.predictions.as_ref(),
        measurements: report.remeasured.iter().flat_map(measurements).collect(),
        verdict: report.remeasured.as_ref().map(|r| r.outcome().name()),
        remeasure: report.remeasured.as_ref().map(remeasure),
    };
    written(&document)
}

/// Serialises a document as JSON. Control characters are escaped.
pub(super) fn written(document: &impl Serialize) -> String {
    // Maps with text keys and finite numbers always serialise.
    let mut text = inert_json(&serde_json::to_string_pretty(document).unwrap_or_default());
    text.push('\n');
    text
}

fn statement<'a>(finding: &'a Finding, rules: &[Arc<Rule>]) -> JsonStatement<'a> {
    let place = finding.place.as_ref();
    let rule = rules.iter().find(|rule| rule.id == finding.rule);
    JsonStatement {
        rule: &finding.rule,
        severity: finding.severity.into_str(),
        confidence: rule.map(|rule| rule.confidence_of(finding.severity)),
        fingerprint: finding.fingerprint(),
        path: &finding.path,
        system: place.map(|p| p.system.as_str()),
        family: place.and_then(|p| p.family.as_deref()),
        backend: place.map(|p| p.backend.as_str()),
        version: place.map(|p| p.version.as_str()),
        table: finding.table.as_deref(),
        slice: &finding.slice,
        rows: finding.rows,
        message: &finding.message,
    }
}

pub(super) fn finding<'a>(finding: &'a Finding, rules: &[Arc<Rule>]) -> JsonFinding<'a> {
    JsonFinding {
        statement: statement(finding, rules),
        evidence: finding.evidence.json(),
        examples: finding
            .examples
            .iter()
            .map(|e| JsonExample { row: e.row, line: e.line, key: &e.key, values: &e.values })
            .collect(),
        waived_by: finding.waived_by.as_deref(),
        new: finding.novelty.as_new(),
        state: finding.novelty.state(),
    }
}

fn repaired<'a>(repaired: &'a Repaired, rules: &[Arc<Rule>]) -> JsonRepaired<'a> {
    let with_table = repaired.with_table;
    JsonRepaired { statement: statement(&repaired.finding, rules), with_table }
}
