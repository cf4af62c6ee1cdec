//! Renders SARIF 2.1.0 for code scanning and editors. A finding on a Parquet table is located at line 1 of its file.
//! The standard allows leaving out `region`, but code scanning does not show such results. A finding on a text file may
//! have its own line.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::run::RunVerdict;
use super::view::finding::FindingView;
use super::view::{ReportView, RuleView};
use crate::base::words::count;
use crate::findings::Severity;

/// The maximum number of results in a SARIF file. GitHub code scanning shows no more, and refuses files with more than
/// 25,000.
const MOST_RESULTS: usize = 5_000;

pub(super) fn render(view: &ReportView<'_>) -> String {
    let index: BTreeMap<&str, usize> =
        view.rules.iter().enumerate().map(|(i, rule)| (rule.id.as_str(), i)).collect();
    let shown = worst(&view.findings);
    let results: Vec<Value> = shown.iter().map(|f| result(f, index.get(f.rule.as_str()))).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "perfdb-gate",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": view.rules.iter().map(descriptor).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": format!("perfdb-gate/{}/", view.head.command)},
            "columnKind": "utf16CodeUnits",
            "invocations": [invocation(view, shown.len())],
            "properties": {"findings": view.findings.len(), "results": shown.len()},
            "results": results,
        }],
    });
    // Maps with text keys and finite numbers always serialise.
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the findings for a SARIF file, in the report's order. If there are more than [`MOST_RESULTS`], new, unwaived
/// and severe findings are chosen first.
fn worst<'v, 'r>(findings: &'v [FindingView<'r>]) -> Vec<&'v FindingView<'r>> {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|i| (!findings[*i].raw.counts(), findings[*i].raw.severity, *i));
    order.truncate(MOST_RESULTS);
    order.sort_unstable();
    order.into_iter().map(|i| &findings[i]).collect()
}

/// Describes whether the run was successful and complete. Viewers can then distinguish a run that checked nothing from
/// a run without findings, and a shortened list of results from a complete one.
fn invocation(view: &ReportView<'_>, shown: usize) -> Value {
    let verdict = view.outcome.verdict;
    let checked = verdict != RunVerdict::Inconclusive;
    let mut invocation = json!({"executionSuccessful": checked, "exitCode": verdict.exit().code()});
    let mut notes = Vec::new();
    if !checked {
        notes.push(json!({"level": "error", "message": {"text": view.head.headline}}));
    }
    let all = view.findings.len();
    if shown < all {
        let text = format!(
            "only the {} worst of {} findings are shown: code scanning takes no more",
            count(shown),
            count(all)
        );
        notes.push(json!({"level": "warning", "message": {"text": text}}));
    }
    if !notes.is_empty() {
        invocation["toolExecutionNotifications"] = notes.into();
    }
    invocation
}

fn descriptor(rule: &RuleView) -> Value {
    let RuleView { what, why, instead, .. } = rule;
    let mut descriptor = json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": what},
        "help": {
            "text": format!("{what}\n\nWhy that matters: {why}\n\nWhat to do instead: {instead}"),
            "markdown": format!(
                "{what}\n\n**Why that matters**\n\n{why}\n\n**What to do instead**\n\n{instead}"
            ),
        },
        "defaultConfiguration": {"level": level(rule.severity)},
        // Code scanning filters by precision.
        "properties": {"precision": rule.confidence.precision()},
    });
    if let Some(page) = &rule.page {
        descriptor["helpUri"] = page.as_str().into();
    }
    descriptor
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(finding: &FindingView<'_>, rule: Option<&usize>) -> Value {
    let fingerprint = &finding.fingerprint;
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.raw.severity),
        "message": {"text": message(&finding.message)},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&finding.raw.path), "uriBaseId": "%SRCROOT%"},
            // Code scanning requires a line.
            "region": {"startLine": 1},
        }}],
        // Code scanning only reads `primaryLocationLineHash`.
        "partialFingerprints": {
            "perfdbGate/v1": fingerprint,
            "primaryLocationLineHash": fingerprint,
        },
        "properties": {
            "rows": finding.count,
            "slice": named(&finding.slice),
            "evidence": named(&finding.evidence),
            "examples": finding.examples.lines,
        },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    if let Some(line) = finding.raw.line() {
        result["locations"][0]["physicalLocation"]["region"] = json!({"startLine": line});
    }
    if finding.raw.place.is_some() {
        let mut name = vec![finding.system.as_str(), &finding.backend, &finding.version];
        name.extend(finding.raw.table.as_ref().map(|_| finding.table.as_str()));
        result["locations"][0]["logicalLocations"] =
            json!([{"fullyQualifiedName": name.join("/"), "kind": "resource"}]);
    }
    if let Some(new) = finding.raw.novelty.as_new() {
        result["baselineState"] = json!(if new { "new" } else { "unchanged" });
    }
    // An empty list means that the finding is not suppressed.
    let waiver = finding.waived_by.as_deref();
    result["suppressions"] = waiver
        .iter()
        .map(|by| json!({"kind": "external", "status": "accepted", "justification": by}))
        .collect();
    result
}

/// Converts pairs of names and values into a JSON object.
fn named(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect()
}

/// Escapes a text so that no viewer finds a Markdown link in it.
fn message(text: &str) -> String {
    text.replace("](", "] (")
}

/// Encodes a path as a relative URI reference; forward slashes are kept.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte as char);
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    // Code scanning refuses an empty URI.
    if out.is_empty() { ".".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_sarif_is_a_relative_uri() {
        assert_eq!(uri("systems/data/a_b-1.0~/x.txt"), "systems/data/a_b-1.0~/x.txt");
        assert_eq!(uri("c:\\a b%?#é"), "c%3A%5Ca%20b%25%3F%23%C3%A9");
        assert_eq!(uri(""), ".");
    }

    #[test]
    fn a_message_in_sarif_has_no_link() {
        assert_eq!(message("[a](https://b)"), "[a] (https://b)");
    }
}
