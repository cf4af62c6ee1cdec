//! `perfdb-gate impact` on synthetic tables: what people and programs read.

use serde_json::Value;

use crate::common::planner::{Fixture, SMALL_MODEL, fixture, write_tree};
use crate::common::snapshot::{redact, shown};
use crate::common::{Run, Tree, json_schema, run};

const GEMM: &str = "gemm/vllm/1.1.0/gemm_perf.parquet";
const DECODE: &str = "attention/vllm/1.1.0/generation_attention_perf.parquet";

/// A repository whose main branch holds the fixture, with a change of it on disk.
fn changed(change: impl FnOnce(&mut Fixture)) -> Tree {
    let tree = Tree::new();
    tree.remove("systems/h200_sxm.yaml");
    let mut fixture = fixture();
    write_tree(tree.path(), &fixture);
    tree.commit();
    std::fs::remove_dir_all(tree.path().join("systems")).expect("a folder");
    change(&mut fixture);
    write_tree(tree.path(), &fixture);
    tree.file("models/models/small.yaml", SMALL_MODEL);
    tree
}

fn impact(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let rules = tree.path().join("models").display().to_string();
    let mut all = vec!["impact", "--root", &root, "--rules", &rules, "--model", "synthetic/*"];
    all.extend(args);
    run(&all)
}

fn json(tree: &Tree, args: &[&str]) -> Value {
    let run = impact(tree, &[args, &["--format", "json"]].concat());
    assert_eq!(run.code(), 0, "{}", run.err());
    run.json()
}

const COMPARED: [&str; 4] = ["--base-ref", "main", "--version", "1.1.0"];

fn faster_gemm(fixture: &mut Fixture) {
    for ms in fixture.cells(GEMM, "latency") {
        *ms = (ms.as_f64().expect("a latency") * 0.75).into();
    }
}

fn impossible_gemm(fixture: &mut Fixture) {
    for ms in fixture.cells(GEMM, "latency") {
        *ms = (ms.as_f64().expect("a latency") * 1e-6).into();
    }
}

#[test]
fn rows_that_moved_a_step_are_named() {
    let tree = changed(faster_gemm);
    let args = |format| [&COMPARED[..], &["--format", format]].concat();
    let texts = ["human", "markdown"].map(|format| impact(&tree, &args(format)));
    insta::assert_snapshot!("moved", shown(&texts));
    let quiet = impact(&tree, &[&COMPARED[..], &["--quiet"]].concat());
    assert_eq!(quiet.out().lines().count(), 1);
    let document = json(&tree, &COMPARED);
    let summary = &document["summary"];
    assert_eq!((&summary["values"], &summary["lost"]), (&20.into(), &0.into()));
    assert_eq!(summary["moved"], 20);
    let point = &document["cases"][0]["points"][0];
    let op = &point["ops"][0];
    let rows = op["lookups_after"][0]["rows"].as_array().expect("rows");
    let weights: f64 = rows.iter().filter_map(|row| row[2].as_f64()).sum();
    assert!((weights - 1.0).abs() < 1e-9, "{op:#}");
}

#[test]
fn a_table_that_is_gone_loses_answers() {
    let tree = changed(|fixture| drop(fixture.tables.remove(DECODE)));
    let texts = [
        impact(&tree, &COMPARED),
        impact(&tree, &[&COMPARED[..], &["--format", "markdown"]].concat()),
    ];
    insta::assert_snapshot!("lost", shown(&texts));
    assert_eq!(json(&tree, &COMPARED)["summary"]["lost"], 8);
}

#[test]
fn power_moves_nothing_and_becomes_available() {
    let tree = changed(Fixture::add_power);
    insta::assert_snapshot!("power", impact(&tree, &COMPARED).shown());
    let document = json(&tree, &COMPARED);
    let summary = &document["summary"];
    assert_eq!((&summary["moved"], &summary["lost"]), (&0.into(), &0.into()));
    assert_eq!(summary["power_before"]["available"], 0);
    assert_eq!(summary["power_after"]["steps"], 20);
    for case in document["cases"].as_array().expect("cases") {
        for point in case["points"].as_array().expect("points") {
            assert_eq!(point["power_before"], 0.0);
            let after = point["power_after"].as_f64().expect("a share");
            assert!(after > 0.5 && after <= 1.0, "{point:#}");
        }
    }
}

#[test]
fn one_state_has_times_alone() {
    let tree = changed(|_| {});
    insta::assert_snapshot!("one_state", impact(&tree, &["--version", "1.1.0"]).shown());
    let document = json(&tree, &["--version", "1.1.0"]);
    assert!(document["cases"][0]["points"][0]["before_ms"].is_null());
    assert!(document["cases"][0]["points"][0]["after_ms"].as_f64().is_some());
}

#[test]
fn documents_fit_the_schema() {
    let printed = |name: &str| -> Value {
        serde_json::from_str(&run(&["schema", name]).out()).expect("a schema")
    };
    let (schema, schema_reach) = (printed("impact"), printed("reach"));
    for change in [faster_gemm, |f: &mut Fixture| drop(f.tables.remove(DECODE)), Fixture::add_power]
    {
        let tree = changed(change);
        for args in [&COMPARED[..], &COMPARED[2..]] {
            assert_eq!(json_schema::faults(&schema, &json(&tree, args)), Vec::<String>::new());
            let root = tree.path().display().to_string();
            let all = [&["reach", "--root", &root, "--format", "json"], args].concat();
            assert_eq!(json_schema::faults(&schema_reach, &run(&all).json()), Vec::<String>::new());
        }
    }
}

/// `sanity` on what changed, with the rules on predictions alone.
fn sanity(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let rules = tree.path().join("models").display().to_string();
    let mut all = vec!["sanity", "--root", &root, "--rules", &rules, "--base-ref", "main"];
    all.extend(["--only", "prediction-lost", "--only", "prediction-moved"]);
    all.extend(args);
    run(&all)
}

#[test]
fn sanity_has_a_section_and_findings_on_predictions() {
    let moved = changed(faster_gemm);
    let lost = changed(|fixture| {
        let tables = ["1.0.0", "1.1.0"]
            .map(|v| format!("attention/vllm/{v}/generation_attention_perf.parquet"));
        fixture.tables.retain(|path, _| !tables.contains(path));
    });
    let powered = changed(Fixture::add_power);
    let runs = [&moved, &lost, &powered].map(|tree| sanity(tree, &[]));
    insta::assert_snapshot!("sanity", shown(&runs));
    let comment = moved.path().join("comment.md");
    let path = comment.display().to_string();
    sanity(&moved, &["--output-md-file", &path]);
    insta::assert_snapshot!("sanity_comment", redact(&std::fs::read_to_string(comment).unwrap()));

    let document = sanity(&moved, &["--format", "json"]).json();
    assert!(document["predictions"]["moved"].as_u64() > Some(0), "{document:#}");
    assert_eq!(document["findings"][0]["severity"], "info", "new values explain it");
    let document = sanity(&powered, &["--format", "json"]).json();
    assert_eq!(document["predictions"]["moved"], 0);
    assert_eq!(document["findings"], serde_json::json!([]));
}

#[test]
fn a_finding_ends_with_the_step_that_its_rows_move_most() {
    let tree = changed(impossible_gemm);
    let root = tree.path().display().to_string();
    let rules = tree.path().join("models").display().to_string();
    let comment = tree.path().join("comment.md").display().to_string();
    let mut args = vec!["sanity", "--root", &root, "--rules", &rules, "--base-ref", "main"];
    args.extend(["--only", "below-speed-of-light", "--only", "prediction-moved"]);
    args.extend(["--output-md-file", &comment]);
    let out = run(&args).out();
    let line = out.lines().find(|line| line.contains("below-speed-of-light:")).unwrap_or(&out);
    let end = line.rsplit("; ").next().unwrap_or_default();
    assert!(
        end.starts_with("row ") && end.contains(" of synthetic/") && end.ends_with(" %"),
        "{out}"
    );
    let comment = std::fs::read_to_string(&comment).unwrap().replace('`', "");
    assert!(comment.contains(end), "{end}\n{comment}");
}

#[test]
fn what_predictions_do_not_read_has_one_line() {
    let tree = changed(|fixture| {
        let mut other = std::mem::take(&mut fixture.tables);
        let table = other.remove("mla_bmm/vllm/1.1.0/mla_bmm_perf.parquet").expect("a table");
        other.insert("linear_attention/vllm/1.1.0/mamba2_perf.parquet".to_owned(), table.clone());
        other.insert("mla_bmm/vllm/1.1.0/mla_bmm_perf.parquet".to_owned(), table);
        fixture.tables = other;
    });
    let document = sanity(&tree, &["--format", "json"]).json();
    assert_eq!(document["predictions"]["versions"], 0);
    assert!(sanity(&tree, &[]).out().contains("no default model reads the changed rows"));
}

#[test]
fn data_that_decides_on_the_precision_of_attention_is_told() {
    const PREFILL: &str = "attention/vllm/1.1.0/context_attention_perf.parquet";
    let tree = changed(|fixture| {
        let table = fixture.tables.get_mut(PREFILL).expect("a table");
        let at = table.columns.iter().position(|name| name == "attn_dtype").expect("a column");
        table.rows.retain(|row| row[at] != "fp8");
    });
    let model = SMALL_MODEL
        .replace("kvcache: bfloat16", "kvcache: fp8")
        .replace("  fmha: bfloat16\n", "  fmha: fp8\n  fmha_by_data: [context_attention_perf]\n");
    tree.file("models/models/small.yaml", model);
    let document = json(&tree, &COMPARED);
    let case = &document["cases"][0];
    assert_eq!(
        (&case["quant"]["fmha"], &case["quant_before"]["fmha"]),
        (&"bfloat16".into(), &"fp8".into())
    );
    assert!(impact(&tree, &COMPARED).out().contains("attention fp8 → bfloat16"));
}
