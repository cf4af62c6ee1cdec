//! Faults planted in the table that ships with the program.

use std::collections::BTreeSet;

use crate::common::{self, SHIPPED, Tree, gemm, gemm_parquet, run};
use perfdb_gate::checks::Input;
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::{Column, Table, encode};
use perfdb_gate::findings::Severity;
use perfdb_gate::jobs::selftest::Faults;
use perfdb_gate::specs::Library;
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
    let library = Library::embedded();
    let (rules, faults) = (Rules::read(&library).unwrap(), Faults::read(&library).unwrap());
    // Faults are planted in one state of a database; traces and changes have examples of their own.
    let planted = |id: &&str| {
        let rule = rules.get(id).unwrap();
        let needs = rule.check.needs();
        // An info says what may be right, so nothing is missed without it.
        let others = [Input::Traces, Input::Changes, Input::Predictions];
        others.iter().all(|input| !needs.has(*input)) && rule.severity != Severity::Info
    };
    let ids: BTreeSet<&str> = rules.ids().filter(planted).collect();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut names = BTreeSet::new();
    for fault in &faults.faults {
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
    let run = selftest(".", &["--samples", "1", "--rules", &rules, "--format", "json"]);
    assert_eq!(run.code(), 1);
    let mut missed = run.json()["missed"].as_array().unwrap().clone();
    missed.retain(|m| m["class"] == "structural");
    assert!(
        !missed.is_empty() && missed.iter().all(|m| m["fault"] == "other-device"),
        "{missed:?}"
    );
    // The report for people, on few faults.
    let faults = std::fs::read_to_string("src/jobs/selftest/faults.yaml").unwrap();
    let few = ["written-again", "nan", "other-device"].map(|id| {
        let (_, fault) = faults.split_once(&format!("\n- id: {id}\n")).unwrap();
        format!("- id: {id}\n{}\n", fault.split("\n- id: ").next().unwrap())
    });
    tree.file("my/faults.yaml", format!("faults:\n{}", few.concat()));
    for format in ["human", "markdown"] {
        let run = selftest(".", &["--samples", "1", "--rules", &rules, "--format", format]);
        insta::assert_snapshot!(format!("selftest_{format}"), run.shown());
    }
}

#[test]
fn damage_fits_the_format_of_the_file() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (1..=40).map(|m| (16 * m, 0.01 * m as f64)).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    let root = tree.path().display().to_string();
    for seed in ["1", "2", "3"] {
        let run = selftest(&root, &["--format", "json", "--seed", seed]);
        assert_eq!(run.code(), 0, "{}{}", run.out(), run.err());
        let planted = |id: &str| {
            let of = |f: &&Value| f["fault"] == id;
            let json = run.json();
            list(&json, "faults").iter().filter(of).map(|f| f["planted"].as_u64().unwrap()).sum()
        };
        let planted: [u64; 3] = ["no-bytes", "footer-damaged", "cut-off"].map(planted);
        // A table's own file is damaged once by each fault.
        assert_eq!(planted, [1, 0, 0]);
    }
}

#[test]
fn a_copy_that_was_there_is_no_false_alarm_when_it_is_text() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (1..=40).map(|m| (16 * m, 0.01 * m as f64)).collect();
    let place =
        |version: &str| format!("systems/data/h200_sxm/gemm/vllm/{version}/gemm_perf.parquet");
    tree.file(&place("0.24.0"), gemm_parquet(&rows));
    tree.file(&place("0.25.0"), gemm_parquet(&rows));
    let root = tree.path().display().to_string();
    let copied = tree.validate(&["--only", "copied-table", "--format", "json"]);
    assert_eq!(copied.findings().len(), 1, "{:?}", copied.findings());
    let run = selftest(&root, &["--format", "json", "--samples", "2"]);
    let json = run.json();
    let copies = list(&json, "false_alarms").iter().filter(|a| a["rule"] == "copied-table");
    assert_eq!(copies.collect::<Vec<_>>(), [] as [&Value; 0]);
}

#[test]
fn a_false_alarm_that_is_an_error_fails() {
    let tree = Tree::new();
    // A control that breaks a rule: what that rule says is a false alarm.
    let faults = "faults:\n\
        - {id: negative, class: control, plant: {set: {column: [measured], to: -value}}, rows: [1]}\n";
    tree.file("my/faults.yaml", faults);
    let rules = tree.path().join("my").display().to_string();
    let run = selftest(".", &["--samples", "1", "--rules", &rules]);
    assert_eq!(run.code(), 1, "{}", run.out());
    insta::assert_snapshot!(run.shown());
}

#[test]
fn rows_of_whole_numbers_are_repeated_with_what_they_became() {
    let tree = Tree::new();
    let text = gemm(&(1..=40).map(|m| (16 * m, m as f64)).collect::<Vec<_>>());
    let table = Table::decode(text.as_bytes(), Format::Csv, &|name| name == "version").unwrap();
    assert!(matches!(table.column("latency"), Some(Column::Int { .. })));
    let bytes = encode(&table.take(&(0..40).collect::<Vec<_>>())).unwrap();
    tree.file("systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet", bytes);
    let faults = "faults:\n\
        - {id: twice, class: structural, finds: [duplicate-key], plant: {repeat: value * by}, rows: [5], by: [3]}\n";
    tree.file("my/faults.yaml", faults);
    let rules = tree.path().join("my").display().to_string();
    let root = tree.path().display().to_string();
    let run = selftest(&root, &["--samples", "1", "--format", "json", "--rules", &rules]);
    assert_eq!(run.code(), 0, "{}{}", run.out(), run.err());
    let (json, id) = (run.json(), "twice");
    let fault = list(&json, "faults").iter().find(|f| f["fault"] == id).unwrap();
    assert_eq!((&fault["planted"], &fault["found"]), (&1.into(), &1.into()));
    assert_eq!(list(&json, "false_alarms"), &[] as &[Value], "{json:#}");
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
    insta::assert_snapshot!(unknown.shown(), @"
    $ perfdb-gate selftest --root [tmp] --system nosuch
    2> perfdb-gate: no system matches 'nosuch'
    2> hint: known: h200_sxm
    (exit 2)
    ");
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
