//! Faults planted in the table that ships with the program.

mod common;

use std::collections::BTreeSet;

use common::{SHIPPED, Tree, run};
use perfdb_gate::spec::Specs;
use serde_json::Value;

fn selftest(root: &str, more: &[&str]) -> common::Run {
    let mut args = vec!["selftest", "--root", root];
    args.extend(more);
    run(&args)
}

fn list<'a>(json: &'a Value, name: &str) -> &'a [Value] {
    json[name].as_array().expect("a list")
}

#[test]
fn every_structural_fault_is_found_and_nothing_is_touched() {
    let before = std::fs::read("data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet").unwrap();
    let run = selftest(".", &["--format", "json", "--samples", "1"]);
    assert_eq!(run.code(), 0, "{}", run.out());
    let json = run.json();
    assert_eq!(json["schema"], "perfdb-gate/selftest/v1");
    let structural = |f: &&Value| f["class"] == "structural" && f["planted"] != 0;
    let recall: Vec<&Value> = list(&json, "faults").iter().filter(structural).collect();
    assert!(recall.len() > 70, "{}", recall.len());
    assert!(recall.iter().all(|f| f["recall"] == 1.0), "{recall:#?}");
    assert_eq!(list(&json, "false_alarms"), &[] as &[Value], "{json:#}");
    let after = std::fs::read("data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet").unwrap();
    assert!(before == after, "a fault was planted in the user's file");
}

#[test]
fn every_rule_has_a_fault_and_every_fault_names_rules() {
    let specs = Specs::embedded().unwrap();
    // Faults are planted in a database's tables, sidecars and systems: traces have examples of their own,
    // and a support matrix lies beside them.
    let planted = |id: &&String| !specs.rules[*id].check.judges_traces() && *id != "support-matrix";
    let ids: BTreeSet<&str> = specs.rules.keys().filter(planted).map(String::as_str).collect();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut names = BTreeSet::new();
    for fault in &specs.faults.faults {
        assert!(names.insert(&fault.id), "{} twice", fault.id);
        found.extend(fault.finds.first().map(String::as_str));
        for rule in fault.finds.iter().chain(&fault.may).chain(&fault.elsewhere) {
            assert!(rule == "*" || ids.contains(rule.as_str()), "{rule} of {}", fault.id);
        }
    }
    assert_eq!(found, ids, "rules that no fault is planted for, or the other way round");
}

#[test]
fn the_same_seed_plants_the_same_faults() {
    let report = |more: &[&str]| {
        let mut args = vec!["--samples", "1", "--format", "json"];
        args.extend(more);
        selftest(".", &args).out()
    };
    assert_eq!(report(&["--threads", "1"]), report(&["--threads", "3"]));
}

#[test]
fn a_gate_that_is_blind_is_told_so() {
    let tree = Tree::new();
    // A rule that never looks at a row.
    let rule = std::fs::read_to_string("rules/device-mismatch.yaml").unwrap();
    let blind = rule.replace("check: device", "check: legacy-marker");
    assert_ne!(rule, blind);
    tree.file("my/device-mismatch.yaml", blind);
    let rules = tree.path().join("my").display().to_string();
    let run = selftest(".", &["--samples", "1", "--rules", &rules]);
    assert_eq!(run.code(), 1);
    assert!(run.out().contains("Structural faults missed"), "{}", run.out());
    assert!(run.out().contains("other-device"), "{}", run.out());
}

#[test]
fn where_nothing_can_be_planted_it_says_so() {
    let tree = Tree::new();
    let root = tree.path().display().to_string();
    let none = "faults: []\n";
    tree.file("my/faults.yaml", none);
    let rules = tree.path().join("my").display().to_string();
    tree.file("systems/data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet", SHIPPED);
    assert_eq!(selftest(&root, &["--rules", &rules]).code(), 3);
    assert_eq!(selftest("nowhere", &[]).code(), 2);
    let unknown = selftest(&root, &["--system", "nosuch"]);
    assert_eq!(unknown.code(), 2);
    assert!(unknown.err().contains("h200_sxm"), "{}", unknown.err());
}

#[test]
fn tables_in_markdown_are_tables() {
    let text = selftest(".", &["--samples", "1", "--format", "markdown"]).out();
    let options = pulldown_cmark::Options::ENABLE_TABLES;
    let events = pulldown_cmark::Parser::new_ext(&text, options);
    let tables =
        events.filter(|e| matches!(e, pulldown_cmark::Event::Start(pulldown_cmark::Tag::Table(_))));
    assert_eq!(tables.count(), 2, "{text}");
}
