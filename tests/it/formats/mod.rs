//! Every format of a report, read by a parser of its own, over names that mean harm.

mod annotations;

use std::collections::BTreeSet;

use crate::common::snapshot::shown;
use crate::common::{self, Run, Tree, gemm, report_formats};
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;

/// Ends a line, a script, a cell, a quotation and a command; mentions, links, colours and reorders.
const HOSTILE: &str =
    "0.1\n::error::x,%0A`@you`|<img src=x onerror=alert(1)>[a](http:b)&\"'\u{202e}\x1b[31m]]>";

/// A tree with errors in a directory and a cell that mean harm, and a waived error beside them.
fn hostile() -> Tree {
    let tree = Tree::new();
    let rows = gemm(&[(1, 0.5), (0, 0.6)]);
    let cells = rows.replace("NVIDIA H200", "\"</script>`<b>` ::warning::\u{202e}\"");
    tree.file(&format!("systems/data/h200_sxm/vllm/{HOSTILE}/gemm_perf.txt"), cells);
    tree.gemm("gemm_perf.txt", rows);
    let waiver = "waivers:\n- rule: key-out-of-range\n  path: '**/0.24.0/*'\n  reason: r\n  \
                  evidence: e\n  approved_by: '<a> ::b::'\n  until: 2999-01-01\n";
    tree.file(".perfdb-gate/waivers.yaml", waiver);
    tree
}

fn validate(tree: &Tree, format: &str, more: &[&str]) -> Run {
    let mut args = vec!["--format", format];
    args.extend(more);
    tree.validate(&args)
}

/// No text that a terminal or an editor would not show as it is.
fn assert_plain(text: &str) {
    let bad = |c: &char| c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c);
    assert_eq!(text.chars().find(bad), None, "{text}");
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn decoded(uri: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let hex = [rest.next().unwrap(), rest.next().unwrap()];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

/// Of each severity a finding, one that is waived, one that the baseline knows, several tables.
fn mixed() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6), (2, 0.7), (2, 0.71), (4, 0.0)]));
    let other = gemm(&[(0, 0.5), (1, 0.6)]).replace("VLLM,0.24.0", "SGLang,0.5.14");
    tree.file("systems/data/h200_sxm/sglang/0.5.14/gemm_perf.txt", other);
    tree.gemm("warp_perf.txt", gemm(&[(1, 0.5)]).replace("gemm_dtype,m", "dtype,side"));
    let meta = "schema_version: 1\nruntime: {framework: vllm, version: 0.23.0}\n";
    tree.gemm("collection_meta.yaml", meta);
    let waiver = "waivers:\n- rule: key-out-of-range\n  path: '**/sglang/**'\n  reason: r\n  \
                  evidence: e\n  approved_by: somebody\n  until: 2999-01-01\n";
    tree.file(".perfdb-gate/waivers.yaml", waiver);
    let baseline = tree.path().join(".perfdb-gate/baseline.json");
    tree.validate(&[
        "--only",
        "latency-not-positive",
        "--write-baseline",
        baseline.to_str().unwrap(),
    ]);
    tree
}

#[test]
fn every_report_format_equals_its_snapshot() {
    let tree = mixed();
    // All that is found, by few rules: SARIF and JUnit list every rule that ran.
    let rules = [
        "duplicate-key",
        "header-mismatch",
        "key-out-of-range",
        "latency-not-positive",
        "sidecar-contradiction",
        "waiver-unused",
    ];
    let only: Vec<&str> = rules.iter().flat_map(|rule| ["--only", rule]).collect();
    for format in &report_formats() {
        let run = validate(&tree, format, &only);
        assert_eq!(run.code(), 1, "{format}");
        insta::assert_snapshot!(format!("validate_{format}"), run.shown());
    }
}

#[test]
fn exit_codes_do_not_depend_on_the_format() {
    let clean = Tree::new();
    clean.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let empty = Tree::new();
    for format in &report_formats() {
        let code = |tree: &Tree, more: &[&str]| validate(tree, format, more).code();
        assert_eq!(code(&hostile(), &[]), 1, "{format}");
        assert_eq!(code(&hostile(), &["--fail-on", "never"]), 0, "{format}");
        assert_eq!(code(&clean, &["--only", "device-mismatch"]), 0, "{format}");
        assert_eq!(code(&empty, &["--only", "device-mismatch"]), 3, "{format}");
    }
}

#[test]
fn reports_do_not_depend_on_the_number_of_threads() {
    let tree = hostile();
    let page = tree.path().join("page.html");
    let page = page.to_str().unwrap();
    for format in ["sarif", "github", "junit", "markdown"] {
        let report = |threads: &str| {
            let out = validate(&tree, format, &["--threads", threads, "--html", page]).out();
            (out, std::fs::read_to_string(page).unwrap())
        };
        assert_eq!(report("1"), report("4"), "{format}");
    }
}

#[test]
fn sarif_has_the_same_findings_as_json() {
    let tree = hostile();
    let text = validate(&tree, "sarif", &[]).out();
    assert_plain(&text);
    let log: Value = serde_json::from_str(&text).unwrap();
    let json = validate(&tree, "json", &[]).json();
    let run = &log["runs"][0];
    assert_eq!((&log["version"], list(&log["runs"]).len()), (&"2.1.0".into(), 1));
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let rules = list(&run["tool"]["driver"]["rules"]);
    for rule in rules {
        for part in ["/shortDescription/text", "/help/text", "/help/markdown"] {
            let text = rule.pointer(part).and_then(Value::as_str).unwrap_or_default();
            assert!(text.len() > 10, "{part} of {rule}");
        }
    }
    let (results, findings) = (list(&run["results"]), list(&json["findings"]));
    assert_eq!(results.len(), findings.len());
    for (result, finding) in results.iter().zip(findings) {
        assert_eq!(result["ruleId"], finding["rule"]);
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], finding["rule"]);
        let level =
            if finding["severity"] == "info" { "note".into() } else { finding["severity"].clone() };
        assert_eq!(result["level"], level);
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert_eq!(decoded(uri), finding["path"].as_str().unwrap());
        let line = finding.pointer("/examples/0/line").cloned().unwrap_or(1.into());
        assert_eq!(
            place["region"],
            serde_json::json!({"startLine": line}),
            "a text table has lines"
        );
        assert_eq!(
            result["partialFingerprints"]["primaryLocationLineHash"],
            finding["fingerprint"]
        );
        let waived = !finding["waived_by"].is_null();
        assert_eq!(list(&result["suppressions"]).len(), usize::from(waived), "{result}");
        assert!(!result["message"]["text"].as_str().unwrap().contains("]("), "{result}");
    }
    let waived = |f: &&Value| !f["waived_by"].is_null();
    assert_eq!(findings.iter().filter(waived).count(), 1);
}

#[test]
fn junit_counts_the_findings_that_fail_the_run() {
    let tree = hostile();
    let json = validate(&tree, "json", &[]).json();
    for fail_on in ["error", "warning", "never"] {
        let text = validate(&tree, "junit", &["--fail-on", fail_on]).out();
        assert_plain(&text);
        let document = roxmltree::Document::parse(&text).unwrap();
        let count =
            |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        let said = |name: &str| {
            let root = document.root_element();
            root.attribute(name).and_then(|n| n.parse().ok()).unwrap_or(usize::MAX)
        };
        assert_eq!(said("tests"), count("testcase"), "{text}");
        assert_eq!(said("failures"), count("failure"), "{text}");
        assert_eq!(said("skipped"), count("skipped"), "{text}");
        assert_eq!((said("errors"), count("error")), (0, 0), "{text}");
        let summed = |name: &str| -> usize {
            let suites = document.descendants().filter(|n| n.has_tag_name("testsuite"));
            suites.map(|s| s.attribute(name).unwrap().parse::<usize>().unwrap()).sum()
        };
        for name in ["tests", "failures", "errors", "skipped"] {
            assert_eq!(summed(name), said(name), "{name}");
        }
        let (errors, warnings) = (&json["summary"]["errors"], &json["summary"]["warnings"]);
        let expected = match fail_on {
            "error" => errors.as_u64().unwrap(),
            "warning" => errors.as_u64().unwrap() + warnings.as_u64().unwrap(),
            _ => 0,
        };
        assert_eq!(count("failure") as u64, expected, "{fail_on}");
        assert_eq!(count("skipped"), 1, "the waived one");
        let names: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("testcase"))
            .map(|node| (node.attribute("classname"), node.attribute("name")))
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }
}

#[test]
fn a_run_that_checked_nothing_does_not_pass_in_any_format() {
    let (tree, only) = (Tree::new(), &["--only", "device-mismatch"][..]);
    let text = validate(&tree, "junit", only).out();
    let document = roxmltree::Document::parse(&text).unwrap();
    assert_eq!(document.root_element().attribute("errors"), Some("1"));
    let log: Value = serde_json::from_str(&validate(&tree, "sarif", only).out()).unwrap();
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let texts = ["github", "markdown"].map(|format| validate(&tree, format, only));
    insta::assert_snapshot!(shown(&texts), @"
    $ perfdb-gate validate --root [tmp] --format github --only device-mismatch
    ::notice title=perfdb-gate::nothing was checked: 0 errors, 0 warnings, 0 infos; checked 0 tables, 0 rows
    (exit 3)

    $ perfdb-gate validate --root [tmp] --format markdown --only device-mismatch
    ## perfdb-gate validate: inconclusive

    nothing was checked: 0 errors, 0 warnings, 0 infos; checked 0 tables, 0 rows

    (exit 3)
    ");
}

#[test]
fn markdown_shows_names_as_code() {
    let tree = hostile();
    let text = validate(&tree, "markdown", &[]).out();
    assert_plain(&text);
    let json = validate(&tree, "json", &[]).json();
    let mut rows = 0;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => panic!("{event:?} in {text}"),
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("{event:?} in {text}"),
            Event::Text(words) => assert!(!words.contains(['@', '<', '`']), "{words} in {text}"),
            Event::Start(Tag::TableRow) => rows += 1,
            _ => {}
        }
    }
    let summary = &json["summary"];
    let counted = ["errors", "warnings", "infos"].map(|n| summary[n].as_u64().unwrap());
    assert_eq!(rows, counted.iter().sum::<u64>(), "{text}");
}

#[test]
fn a_report_in_markdown_has_at_most_the_length_of_a_comment() {
    let tree = Tree::new();
    for version in 0..400 {
        let long = "x".repeat(150);
        let path = format!("systems/data/h200_sxm/vllm/0.{version}{long}/gemm_perf.txt");
        tree.file(&path, gemm(&[(0, 0.5)]));
    }
    let text = validate(&tree, "markdown", &["--only", "key-out-of-range"]).out();
    assert!(text.len() <= 65_536, "{}", text.len());
    // All but the lines that tell of a table.
    let other = |line: &&str| !line.contains("xxx") && !line.starts_with("  - ");
    insta::assert_snapshot!(text.lines().filter(other).collect::<Vec<_>>().join("\n"));
}

#[test]
fn markdown_of_a_comparison_equals_the_comment() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    let comment = tree.path().join("comment.md");
    let root = tree.path().display().to_string();
    let comment = comment.to_str().unwrap();
    let run = common::run(&[
        "sanity",
        "--root",
        &root,
        "--base-ref",
        "main",
        "--format",
        "markdown",
        "--output-md-file",
        comment,
    ]);
    assert_eq!(run.out(), std::fs::read_to_string(comment).unwrap());
}
