//! Renders the audit of a change, `perfdb-gate/audit/v1`: the contents of each changed table before and after, and the
//! rules that examined it. The audit does not depend on the time of the run, so the same two commits give the same
//! bytes.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::json::{JsonFinding, Tool, finding, written};
use super::view::ReportView;
use crate::base::error::{Error, Result};
use crate::database::diff::AuditedTable;
use crate::findings::Finding;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Audit")]
struct JsonAudit<'a> {
    #[schemars(extend("const" = "perfdb-gate/audit/v1"))]
    schema: &'static str,
    tool: Tool,
    /// The commit of the base.
    base: &'a str,
    /// The commit of the head; null for files on disk.
    head: Option<&'a str>,
    /// The changed tables, by path.
    tables: Vec<JsonAudited<'a>>,
    findings: Vec<JsonFinding<'a>>,
}

/// A changed table with the verdict of each rule that examined it.
#[derive(Serialize, JsonSchema)]
struct JsonAudited<'a> {
    #[serde(flatten)]
    table: &'a AuditedTable,
    /// The verdicts on the table, by the id of the rule that examined the table.
    verdicts: BTreeMap<&'a str, JsonVerdict>,
}

/// The verdict of a rule on a table.
#[derive(Serialize, JsonSchema)]
struct JsonVerdict {
    /// The number of rows that the rule examined.
    rows: usize,
    /// True if the rule has no finding on the table.
    clean: bool,
    /// The number of the rule's findings on the table.
    findings: usize,
}

/// Renders the audit as JSON.
///
/// # Errors
///
/// If the run did not compare two states.
pub(super) fn render(view: &ReportView<'_>) -> Result<String> {
    let report = view.raw;
    let hint = "`perfdb-gate sanity --report audit=FILE` writes one";
    let diff = report.diff.as_ref().ok_or_else(|| Error::new("an audit is of a change", hint))?;
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for Finding { path, rule, .. } in &report.findings {
        *counts.entry((path, rule)).or_default() += 1;
    }
    let audited = diff.audited.iter().map(|table| {
        let rows = table.after.as_ref().map_or(0, |after| after.rows);
        let verdict = |rule: &str| {
            let findings = counts.get(&(&*table.path, rule)).copied().unwrap_or(0);
            JsonVerdict { rows, clean: findings == 0, findings }
        };
        let verdicts = table.examined.iter().map(|rule| (rule.as_str(), verdict(rule))).collect();
        JsonAudited { table, verdicts }
    });
    Ok(written(&JsonAudit {
        schema: "perfdb-gate/audit/v1",
        tool: Tool::own(),
        base: &report.states.base,
        head: report.states.head.as_deref(),
        tables: audited.collect(),
        findings: report.findings.iter().map(|found| finding(found, &report.rules)).collect(),
    }))
}

/// Returns the JSON schema of the audit.
pub(crate) fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<JsonAudit<'_>>()
}
