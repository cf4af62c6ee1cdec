//! `perfdb-gate reach` on synthetic tables: the state of every row, and where lookups end.

use serde_json::Value;

use crate::common::planner::{SMALL_MODEL, fixture, write_tree};
use crate::common::snapshot::shown;
use crate::common::{Run, Tree, gemm, gemm_parquet, run};

/// The fixture's tables, with the small model.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.remove("systems/h200_sxm.yaml");
    write_tree(tree.path(), &fixture());
    tree.file("models/models/small.yaml", SMALL_MODEL);
    tree
}

fn reach(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let rules = tree.path().join("models").display().to_string();
    let mut all = vec!["reach", "--root", &root, "--rules", &rules, "--model", "synthetic/*"];
    all.extend(args);
    run(&all)
}

fn json(tree: &Tree, args: &[&str]) -> Value {
    let run = reach(tree, &[args, &["--format", "json"]].concat());
    assert_eq!(run.code(), 0, "{}", run.err());
    run.json()
}

/// The file of a path's end in a document.
fn file<'v>(document: &'v Value, end: &str) -> &'v Value {
    let files = document["tables"].as_array().expect("tables");
    let of = |f: &&Value| f["path"].as_str().is_some_and(|path| path.ends_with(end));
    files.iter().find(of).unwrap_or_else(|| panic!("{end}: {document:#}"))
}

/// States, sum and rows agree in every file and over all.
fn sums(document: &Value) -> u64 {
    let sum = |states: &Value| -> u64 {
        let names = ["served", "shadowed", "filtered", "refused", "not_queryable"];
        names.iter().filter_map(|name| states[name].as_u64()).sum()
    };
    let mut all = 0;
    for file in document["tables"].as_array().expect("tables") {
        let rows = &file["after"];
        let runs = rows["runs"].as_array().expect("runs");
        let mut next = 0;
        for run in runs {
            assert_eq!(run["first"], next, "{file:#}");
            next += run["rows"].as_u64().expect("a number");
        }
        assert_eq!(rows["states"]["rows"], next);
        assert_eq!(sum(&rows["states"]), next);
        all += next;
    }
    assert_eq!(document["summary"]["rows"]["rows"], all);
    assert_eq!(sum(&document["summary"]["rows"]), all);
    all
}

#[test]
fn every_row_has_one_state() {
    let tree = tree();
    let fixture = fixture();
    let base = "systems/data/synthetic";
    // A table in two layouts: the family's is read. Text is not read at all.
    let flat = gemm_parquet(&[(1, 0.5), (2, 0.6)]);
    tree.file(&format!("{base}/vllm/1.1.0/gemm_perf.parquet"), flat);
    tree.file(&format!("{base}/gemm/vllm/0.1.0/gemm_perf.txt"), gemm(&[(1, 0.5)]));
    tree.file(&format!("{base}/comm/nccl/2.19.3/nccl_perf.parquet"), gemm_parquet(&[(1, 0.5)]));
    tree.file(&format!("{base}/gemm/vllm/0.2.0/gemm_perf.parquet"), gemm_parquet(&[(1, 0.5)]));
    tree.file(&format!("{base}/gemm/vllm/0.2.0/INCOMPLETE.txt"), "");
    let document = json(&tree, &[]);
    let held: usize = fixture.tables.values().map(|table| table.rows.len()).sum();
    assert_eq!(sums(&document), held as u64 + 2 + 1 + 1 + 1);
    assert_eq!(document["summary"]["unread"], 0);

    let own = &file(&document, "gemm/vllm/1.1.0/gemm_perf.parquet")["after"];
    assert_eq!((&own["states"]["shadowed"], &own["states"]["filtered"]), (&1.into(), &1.into()));
    let shadowed = own["runs"].as_array().unwrap().iter().find(|r| r["state"] == "shadowed");
    let shadowed = shadowed.expect("a shadowed row");
    let rows = &fixture.tables["gemm/vllm/1.1.0/gemm_perf.parquet"].rows;
    let at = |name: &str| &rows[shadowed[name].as_u64().expect("a row") as usize][1..5];
    assert_eq!(at("first"), at("by_row"), "rows of one key");

    let flat = &file(&document, "synthetic/vllm/1.1.0/gemm_perf.parquet")["after"];
    assert_eq!(flat["states"]["shadowed"], 2);
    assert!(flat["by_file"].as_str().unwrap().ends_with("gemm/vllm/1.1.0/gemm_perf.parquet"));
    assert_eq!(file(&document, "0.1.0/gemm_perf.txt")["after"]["states"]["refused"], 1);
    assert_eq!(file(&document, "0.2.0/gemm_perf.parquet")["after"]["states"]["refused"], 1);
    assert_eq!(file(&document, "2.19.3/nccl_perf.parquet")["after"]["states"]["not_queryable"], 1);
    let texts = ["human", "markdown"].map(|format| reach(&tree, &["--format", format]));
    insta::assert_snapshot!("states", shown(&texts));

    // A file that cannot be read fails what would read it: every later version.
    tree.file(&format!("{base}/gemm/vllm/0.3.0/gemm_perf.parquet"), "no table");
    let document = json(&tree, &[]);
    assert_eq!(sums(&document), held as u64 + 2 + 1 + 1 + 1);
    assert_eq!(document["summary"]["unread"], 1);
    let own = &file(&document, "gemm/vllm/1.1.0/gemm_perf.parquet")["after"];
    assert_eq!(own["states"]["refused"], 115);
    assert!(own["why"].as_str().is_some_and(|why| why.contains("0.3.0/gemm_perf.parquet")));
    insta::assert_snapshot!("unread", reach(&tree, &[]).shown());
}

#[test]
fn versions_that_no_slot_names_are_read_as_donors_alone() {
    let tree = tree();
    let slots = "schema_version: 1\ndefaults:\n  sglang: {current: 2.0.0}\n\
        overrides:\n  synthetic:\n    vllm: {current: 1.1.0}\n";
    tree.file("systems/query_versions.yaml", slots);
    let document = json(&tree, &[]);
    sums(&document);
    let older = &file(&document, "gemm/vllm/1.0.0/gemm_perf.parquet")["after"];
    assert_eq!(older["states"]["not_queryable"], older["states"]["rows"]);
    assert_eq!(older["read_by"], serde_json::json!(["sglang 2.0.0", "vllm 1.1.0"]));
    let newer = &file(&document, "gemm/vllm/1.2.0/gemm_perf.parquet")["after"];
    assert_eq!(newer["read_by"], serde_json::json!(["sglang 2.0.0"]), "by the reuse manifest");
    let own = &file(&document, "gemm/vllm/1.1.0/gemm_perf.parquet")["after"];
    assert_eq!(own["states"]["not_queryable"], 0);
}

#[test]
fn lookups_tell_where_they_end_before_and_after() {
    let tree = tree();
    tree.commit();
    tree.remove("systems/data/synthetic/gemm/vllm/1.1.0/gemm_perf.parquet");
    tree.remove("systems/data/synthetic/attention/vllm/1.1.0/generation_attention_perf.parquet");
    let args = ["--base-ref", "main", "--version", "1.1.0"];
    let document = json(&tree, &args);
    let model = &document["models"][0];
    let gemm = &model["tables"]["gemm_perf"];
    assert!(gemm["before"]["exact"].as_u64() > Some(0), "{gemm:#}");
    assert_eq!((&gemm["after"]["exact"], &gemm["after"]["transfer"]), (&0.into(), &0.into()));
    assert!(gemm["after"]["donor"].as_u64() > Some(0), "{gemm:#}");
    assert!(model["tables"]["generation_attention_perf"]["after"]["missing"].as_u64() > Some(0));
    let gone = file(&document, "gemm/vllm/1.1.0/gemm_perf.parquet");
    assert!(gone["after"].is_null() && gone["before"]["states"]["rows"] == 115);
    let texts = ["human", "markdown"]
        .map(|format| reach(&tree, &[&args[..], &["--format", format]].concat()));
    insta::assert_snapshot!("lookups", shown(&texts));
}

#[test]
fn what_is_not_there_is_told() {
    let tree = tree();
    for (args, word) in [(["--table", "gem_perf"], "gem_perf"), (["--system", "h300"], "h300")] {
        let run = reach(&tree, &args);
        assert_eq!(run.code(), 2);
        assert!(run.err().contains(word), "{}", run.err());
    }
    let one = json(&tree, &["--table", "mla_bmm_perf"]);
    assert_eq!(one["tables"].as_array().map(Vec::len), Some(1));
}
