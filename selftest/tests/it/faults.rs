//! Faults planted in the table that ships with the program.

use std::collections::BTreeSet;

use crate::common::{self, REPOSITORY, SHIPPED, Tree, gemm, run};
use perfdb_gate::checks::Input;
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::database::table::{Column, Table, encode};
use perfdb_gate::findings::Severity;
use perfdb_gate::jobs::for_selftest::{Site, judge_state};
use perfdb_gate::specs::Library;
use perfdb_gate_selftest::faults::Faults;
use serde_json::Value;

fn faults(root: &str, more: &[&str]) -> common::Run {
    let mut args = vec!["faults", "--root", root];
    args.extend(more);
    run(&args)
}

/// Writes a file of faults to plant instead of the shipped ones.
fn few_faults(tree: &Tree, text: &str) -> String {
    tree.file("few.yaml", text).display().to_string()
}

fn decoded(text: &str) -> Table {
    Table::decode(text.as_bytes(), Format::Csv, &|name| name == "version").unwrap()
}

/// The rows of a text table in Parquet.
fn parquet(text: &str) -> Vec<u8> {
    let table = decoded(text);
    encode(&table.take(&(0..table.rows).collect::<Vec<_>>())).unwrap()
}

fn list<'a>(json: &'a Value, name: &str) -> &'a [Value] {
    json[name].as_array().expect("a list")
}

#[test]
fn every_structural_fault_is_found_and_no_file_of_the_database_changes() {
    let table = format!("{REPOSITORY}/data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet");
    let before = std::fs::read(&table).unwrap();
    let run = faults(".", &["--format", "json", "--samples", "1"]);
    assert_eq!(run.code(), 0, "{}", run.out());
    let json = run.json();
    assert_eq!(json["schema"], "perfdb-gate/selftest/v1");
    let structural = |f: &&Value| f["class"] == "structural" && f["planted"] != 0;
    let recall: Vec<&Value> = list(&json, "faults").iter().filter(structural).collect();
    assert!(recall.len() > 70, "{}", recall.len());
    assert!(recall.iter().all(|f| f["recall"] == 1.0), "{recall:#?}");
    assert_eq!(list(&json, "false_alarms"), &[] as &[Value], "{json:#}");
    let after = std::fs::read(&table).unwrap();
    assert!(before == after, "a fault was planted in the user's file");
}

#[test]
fn every_rule_has_a_fault_and_every_fault_names_rules() {
    let library = Library::embedded();
    let (rules, faults) = (Rules::read(&library).unwrap(), Faults::read(None).unwrap());
    // Faults are planted in one state of a database; traces and changes have examples of their own.
    let planted = |id: &&str| {
        let rule = rules.get(id).unwrap();
        let needs = rule.check.needs();
        let others = [Input::Traces, Input::Changes, Input::Predictions];
        others.iter().all(|input| !needs.has(*input))
    };
    let known: BTreeSet<&str> = rules.ids().filter(planted).collect();
    // An info says what may be right, so nothing is missed without it.
    let is_info = |id: &&str| rules.get(id).unwrap().severity == Severity::Info;
    let ids: BTreeSet<&str> = known.iter().copied().filter(|id| !is_info(id)).collect();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut names = BTreeSet::new();
    for fault in &faults.faults {
        assert!(names.insert(&fault.id), "{} twice", fault.id);
        found.extend(fault.finds.first().map(String::as_str));
        for rule in fault.finds.iter().chain(&fault.may).chain(&fault.elsewhere) {
            assert!(rule == "*" || known.contains(rule.as_str()), "{rule} of {}", fault.id);
        }
    }
    found.retain(|id| !is_info(id));
    assert_eq!(found, ids, "rules that no fault is planted for, or the other way round");
}

#[test]
fn the_same_seed_plants_the_same_faults() {
    let report = |more: &[&str]| {
        let mut args = vec!["--samples", "1", "--format", "json"];
        args.extend(more);
        faults(".", &args).out()
    };
    assert_eq!(report(&["--threads", "1"]), report(&["--threads", "3"]));
}

#[test]
fn a_rule_that_misses_its_fault_is_reported() {
    let tree = Tree::new();
    // A rule that never looks at a row.
    let rule = include_str!("../../../rules/device-mismatch.yaml");
    let blind = rule.replace("check: device", "check: legacy-marker");
    assert_ne!(rule, blind);
    tree.file("my/device-mismatch.yaml", blind);
    let rules = tree.path().join("my").display().to_string();
    let run = faults(".", &["--samples", "1", "--rules", &rules, "--format", "json"]);
    assert_eq!(run.code(), 1);
    let mut missed = run.json()["missed"].as_array().unwrap().clone();
    missed.retain(|m| m["class"] == "structural");
    assert!(
        !missed.is_empty() && missed.iter().all(|m| m["fault"] == "other-device"),
        "{missed:?}"
    );
    // The report for people, on few faults.
    let shipped = include_str!("../../src/faults/faults.yaml");
    let few = ["written-again", "nan", "other-device"].map(|id| {
        let (_, fault) = shipped.split_once(&format!("\n- id: {id}\n")).unwrap();
        format!("- id: {id}\n{}\n", fault.split("\n- id: ").next().unwrap())
    });
    let few = few_faults(&tree, &format!("faults:\n{}", few.concat()));
    for format in ["human", "markdown"] {
        let run = faults(
            ".",
            &["--samples", "1", "--rules", &rules, "--faults", &few, "--format", format],
        );
        insta::assert_snapshot!(format!("faults_{format}"), run.shown());
    }
}

#[test]
fn a_fault_damages_a_file_in_its_own_format() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (1..=40).map(|m| (16 * m, 0.01 * m as f64)).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    let root = tree.path().display().to_string();
    for seed in ["1", "2", "3"] {
        let run = faults(&root, &["--format", "json", "--seed", seed]);
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
fn an_existing_copy_in_text_is_not_a_false_alarm() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (1..=40).map(|m| (16 * m, 0.01 * m as f64)).collect();
    let place =
        |version: &str| format!("systems/data/h200_sxm/gemm/vllm/{version}/gemm_perf.parquet");
    tree.file(&place("0.24.0"), parquet(&gemm(&rows)));
    tree.file(&place("0.25.0"), parquet(&gemm(&rows)));
    let site = Site::open(tree.path(), None, None, &Selection::default()).unwrap();
    let copied = ["copied-table".to_owned()];
    let rules = site.settings.rules.choose(&copied, &[], &|_| true).unwrap();
    let (findings, _) = judge_state(&site, &rules, &()).unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let root = tree.path().display().to_string();
    let run = faults(&root, &["--format", "json", "--samples", "2"]);
    let json = run.json();
    let copies = list(&json, "false_alarms").iter().filter(|a| a["rule"] == "copied-table");
    assert_eq!(copies.collect::<Vec<_>>(), [] as [&Value; 0]);
}

#[test]
fn a_false_alarm_of_severity_error_fails_the_run() {
    let tree = Tree::new();
    // A control that breaks a rule: what that rule says is a false alarm.
    let planted = "faults:\n\
        - {id: negative, class: control, plant: {set: {column: [measured], to: -value}}, rows: [1]}\n";
    let few = few_faults(&tree, planted);
    let run = faults(".", &["--samples", "1", "--faults", &few]);
    assert_eq!(run.code(), 1, "{}", run.out());
    insta::assert_snapshot!(run.shown());
}

#[test]
fn a_column_of_integers_is_repeated_with_its_changed_values() {
    let tree = Tree::new();
    let text = gemm(&(1..=40).map(|m| (16 * m, m as f64)).collect::<Vec<_>>());
    assert!(matches!(decoded(&text).column("latency"), Some(Column::Int { .. })));
    tree.file("systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet", parquet(&text));
    let planted = "faults:\n\
        - {id: twice, class: structural, finds: [duplicate-key], plant: {repeat: value * by}, rows: [5], by: [3]}\n";
    let few = few_faults(&tree, planted);
    let root = tree.path().display().to_string();
    let run = faults(&root, &["--samples", "1", "--format", "json", "--faults", &few]);
    assert_eq!(run.code(), 0, "{}{}", run.out(), run.err());
    let (json, id) = (run.json(), "twice");
    let fault = list(&json, "faults").iter().find(|f| f["fault"] == id).unwrap();
    assert_eq!((&fault["planted"], &fault["found"]), (&1.into(), &1.into()));
    assert_eq!(list(&json, "false_alarms"), &[] as &[Value], "{json:#}");
}

#[test]
fn a_run_that_plants_no_fault_is_inconclusive() {
    let tree = Tree::new();
    let root = tree.path().display().to_string();
    let none = few_faults(&tree, "faults: []\n");
    tree.file("systems/data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet", SHIPPED);
    assert_eq!(faults(&root, &["--faults", &none]).code(), 3);
    assert_eq!(faults("nowhere", &[]).code(), 2);
    let unknown = faults(&root, &["--system", "nosuch"]);
    assert_eq!(unknown.code(), 2);
    insta::assert_snapshot!(unknown.shown(), @"
    $ selftest faults --root [tmp] --system nosuch
    2> selftest: no system matches 'nosuch'
    2> hint: known: h200_sxm
    (exit 2)
    ");
}

#[test]
fn the_report_in_markdown_has_tables() {
    let text = faults(".", &["--samples", "1", "--format", "markdown"]).out();
    let options = pulldown_cmark::Options::ENABLE_TABLES;
    let events = pulldown_cmark::Parser::new_ext(&text, options);
    let tables =
        events.filter(|e| matches!(e, pulldown_cmark::Event::Start(pulldown_cmark::Tag::Table(_))));
    assert_eq!(tables.count(), 2, "{text}");
}
