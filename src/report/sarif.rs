//! SARIF 2.1.0, for code scanning and editors. A table has no lines, so a finding is located at its
//! file, as its first line: the standard would leave `region` out, code scanning shows no such result.
//! One on a text file may have a line of its own.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::human::{line_of, short};
use super::{Outcome, Report, Verdict, headline};
use crate::base::escape::clean;
use crate::checks::rule::Rule;
use crate::findings::{Finding, Severity};

pub(super) fn render(report: &Report, outcome: Outcome) -> String {
    let rules: Vec<&Rule> = report.rules.iter().map(AsRef::as_ref).collect();
    let index: BTreeMap<&str, usize> =
        rules.iter().enumerate().map(|(i, rule)| (rule.id.as_str(), i)).collect();
    let results: Vec<Value> =
        report.findings.iter().map(|f| result(f, index.get(f.rule.as_str()))).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "perfdb-gate",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.into_iter().map(descriptor).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": format!("perfdb-gate/{}/", report.command)},
            "columnKind": "utf16CodeUnits",
            "invocations": [invocation(report, outcome)],
            "results": results,
        }],
    });
    // Maps with text keys and finite numbers always serialise.
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

/// How the run ended; one that checked nothing must not pass for one that found nothing.
fn invocation(report: &Report, outcome: Outcome) -> Value {
    let checked = outcome.verdict != Verdict::Inconclusive;
    let mut invocation =
        json!({"executionSuccessful": checked, "exitCode": outcome.verdict.code()});
    if !checked {
        invocation["toolExecutionNotifications"] =
            json!([{"level": "error", "message": {"text": headline(report)}}]);
    }
    invocation
}

fn descriptor(rule: &Rule) -> Value {
    let text = |text: &str| clean(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    let (what, why, instead) = (text(&rule.what), text(&rule.why), text(&rule.instead));
    json!({
        "id": clean(&rule.id),
        "shortDescription": {"text": text(&rule.summary)},
        "fullDescription": {"text": what},
        "help": {
            "text": format!("{what}\n\nWhy that matters: {why}\n\nWhat to do instead: {instead}"),
            "markdown": format!(
                "{what}\n\n**Why that matters**\n\n{why}\n\n**What to do instead**\n\n{instead}"
            ),
        },
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(finding: &Finding, rule: Option<&usize>) -> Value {
    let named = |pairs: &BTreeMap<String, Value>| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| (clean(name), clean(&short(value)).into())).collect()
    };
    let fingerprint = finding.fingerprint();
    let mut result = json!({
        "ruleId": clean(&finding.rule),
        "level": level(finding.severity),
        "message": {"text": message(&finding.message)},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&finding.path), "uriBaseId": "%SRCROOT%"},
            // Code scanning requires a line.
            "region": {"startLine": 1},
        }}],
        // The second is the only one that code scanning looks at.
        "partialFingerprints": {
            "perfdbGate/v1": fingerprint,
            "primaryLocationLineHash": fingerprint,
        },
        "properties": {
            "rows": finding.rows,
            "slice": named(&finding.slice),
            "evidence": named(&finding.evidence),
            "examples": finding.examples.iter().map(|e| clean(&line_of(e))).collect::<Vec<_>>(),
        },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    if let Some(line) = finding.line() {
        result["locations"][0]["physicalLocation"]["region"] = json!({"startLine": line});
    }
    if let Some(place) = &finding.place {
        let parts = [&place.system, &place.backend, &place.version];
        let mut name: Vec<String> = parts.into_iter().map(|part| clean(part)).collect();
        name.extend(finding.table.as_deref().map(clean));
        result["locations"][0]["logicalLocations"] =
            json!([{"fullyQualifiedName": name.join("/"), "kind": "resource"}]);
    }
    if let Some(new) = finding.new {
        result["baselineState"] = json!(if new { "new" } else { "unchanged" });
    }
    // An empty list says that the finding is not suppressed, though some are.
    let waiver = finding.waived_by.as_deref();
    result["suppressions"] = waiver
        .iter()
        .map(|by| json!({"kind": "external", "status": "accepted", "justification": clean(by)}))
        .collect();
    result
}

/// Plain text in which no viewer finds a link.
fn message(text: &str) -> String {
    clean(text).replace("](", "] (")
}

/// A path as a relative reference: forward slashes stay, whatever else could mean more is encoded.
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
    // A location without a name is refused.
    if out.is_empty() { ".".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_relative_reference() {
        assert_eq!(uri("systems/data/a_b-1.0~/x.txt"), "systems/data/a_b-1.0~/x.txt");
        assert_eq!(uri("c:\\a b%?#é"), "c%3A%5Ca%20b%25%3F%23%C3%A9");
        assert_eq!(uri(""), ".");
    }

    #[test]
    fn a_message_holds_no_link() {
        assert_eq!(message("[a](https://b)\n"), "[a] (https://b)\\u{a}");
    }
}
