//! `perfdb-gate merge`, run on small trees of synthetic rows.

mod killed;
mod proof;

use std::path::PathBuf;

use crate::common::snapshot::{shown, without_days};
use crate::common::{self, Run, Tree, gemm, gemm_parquet};
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::Table;
use serde_json::Value;

const DIR: &str = "systems/data/h200_sxm/gemm/vllm/0.24.0";

/// A tree with a table of some rows, and its path.
fn site(rows: &[(u64, f64)]) -> (Tree, PathBuf) {
    let tree = Tree::new();
    let table = tree.file(&format!("{DIR}/gemm_perf.parquet"), gemm_parquet(rows));
    (tree, table)
}

fn merge(tree: &Tree, runs: &[&str], args: &[&str]) -> Run {
    let table = tree.path().join(DIR).join("gemm_perf.parquet").display().to_string();
    let ledger = tree.path().join("merged.jsonl").display().to_string();
    let runs: Vec<String> =
        runs.iter().map(|r| tree.path().join(r).display().to_string()).collect();
    let mut all = vec!["merge", &table, "--ledger", &ledger];
    runs.iter().for_each(|run| all.extend(["--with", run]));
    all.extend(args);
    common::run(&all)
}

/// `m` and `latency` of each row of a table.
fn rows(path: &std::path::Path) -> Vec<(u64, f64)> {
    let bytes = std::fs::read(path).unwrap();
    let table = Table::decode(&bytes, Format::Parquet, &|_| false).unwrap();
    let number = |name: &str, row: usize| table.column(name).unwrap().number(row);
    (0..table.rows).map(|row| (number("m", row) as u64, number("latency", row))).collect()
}

fn ledger(tree: &Tree) -> Vec<Value> {
    let text = std::fs::read_to_string(tree.path().join("merged.jsonl")).expect("a record");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_dry_run_of_merge_lists_the_changes_and_writes_nothing() {
    let (tree, table) = site(&[(1, 0.5), (2, 4.8), (4, 0.7)]);
    let before = std::fs::read(&table).unwrap();
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.6), (8, 0.9)]));
    let run = merge(&tree, &["run"], &[]);
    assert_eq!(run.code(), 0, "{}", run.err());
    insta::assert_snapshot!(run.shown());
    assert_eq!(std::fs::read(&table).unwrap(), before);
    assert!(!tree.path().join("merged.jsonl").exists());
}

#[test]
fn merged_measurements_replace_the_rows_of_their_keys() {
    let (tree, table) = site(&[(1, 0.5), (2, 4.8), (4, 0.7)]);
    let meta = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 3 # of 3\n    status: complete\n";
    let sidecar = tree.file(&format!("{DIR}/collection_meta.yaml"), meta);
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.6), (8, 0.9)]));
    let run = merge(&tree, &["run"], &["--write"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    assert_eq!(rows(&table), [(1, 0.5), (2, 0.6), (4, 0.7), (8, 0.9)]);
    insta::assert_snapshot!(without_days(&std::fs::read_to_string(&sidecar).unwrap()));
    let record = ledger(&tree);
    assert_eq!(record[0]["merge"]["replaced"], 1);
    assert_eq!((&record[1]["effect"], &record[1]["before_ms"]), (&"replaced".into(), &4.8.into()));
    assert_eq!(record[1]["before"][0]["cells"]["m"], 2);
    assert_eq!((&record[2]["effect"], &record[2]["row"]), (&"added".into(), &3.into()));
    let after = tree.validate(&["--format", "json"]);
    assert!(!after.findings().iter().any(|f| f.starts_with("sidecar")), "{:?}", after.findings());

    // The same merge again changes nothing; another is not recorded over the first.
    let again = merge(&tree, &["run"], &["--write"]);
    assert_eq!(again.code(), 0, "{}", again.out());
    assert!(again.out().contains("0 keys replaced, 0 added, 2 kept"), "{}", again.out());
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.61)]));
    let other = merge(&tree, &["run"], &["--write"]);
    assert_eq!(other.code(), 2);
    assert!(other.err().contains("exists already"), "{}", other.err());
    assert_eq!(ledger(&tree), record);
}

#[test]
fn a_merge_adds_an_event_to_a_sidecar_of_schema_2() {
    let (tree, _) = site(&[(1, 0.5), (2, 4.8)]);
    let meta = "schema_version: 2\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf:\n    rows: 2\n    status: complete\n    collections:\n    - collector_ref: 'abc'\n      collector_hash: 'sha256:1'\n      case_plan_hash: 'sha256:2'\n      collected_at: '2026-08-17'\n      rows: 2\n      status: complete\n";
    let sidecar = tree.file(&format!("{DIR}/collection_meta.yaml"), meta);
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.6), (8, 0.9)]));
    assert_eq!(merge(&tree, &["run"], &["--write"]).code(), 0);
    insta::assert_snapshot!(without_days(&std::fs::read_to_string(sidecar).unwrap()));
}

#[test]
fn the_merge_policy_decides_which_measurement_is_kept() {
    for (policy, wanted) in [
        ("last", [(1, 0.52), (2, 0.9), (4, 0.7)]),
        ("min", [(1, 0.5), (2, 0.6), (4, 0.7)]),
        ("median", [(1, 0.51), (2, 0.9), (4, 0.7)]),
    ] {
        let (tree, table) = site(&[(1, 0.5), (2, 4.8), (4, 0.7)]);
        tree.file("a/gemm_perf.txt", gemm(&[(1, 0.51), (2, 0.6)]));
        tree.file("b/gemm_perf.txt", gemm(&[(1, 0.52), (2, 0.9)]));
        let run = merge(&tree, &["a", "b"], &["--write", "--policy", policy]);
        assert_eq!(run.code(), 0, "{}", run.err());
        assert_eq!(rows(&table), wanted, "{policy}");
    }
}

#[test]
fn shards_are_joined_into_a_table_and_missing_shards_are_named() {
    let tree = Tree::new();
    let table = tree.path().join(DIR).join("gemm_perf.parquet");
    std::fs::create_dir_all(table.parent().unwrap()).unwrap();
    tree.file("run/shard0/gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.file("run/shard1/gemm_perf.txt", gemm(&[(2, 0.61), (4, 0.7)]));
    tree.file("run/shard4/gemm_perf.txt", gemm(&[(8, 0.9)]));
    let lost = merge(&tree, &["run"], &["--write"]);
    assert_eq!(lost.code(), 1);
    assert!(!table.exists());
    let incomplete = merge(&tree, &["run"], &["--write", "--incomplete", "--policy", "min"]);
    assert_eq!(rows(&table), [(1, 0.5), (2, 0.6), (4, 0.7), (8, 0.9)]);
    // One that was cut off before its first row is lost, too.
    tree.file("all/part1of2/gemm_perf.txt", gemm(&[(16, 1.0)]));
    tree.file("all/part2of2/gemm_perf.txt", common::GEMM);
    tree.remove("merged.jsonl");
    let empty = merge(&tree, &["all"], &["--write"]);
    insta::assert_snapshot!(shown([&lost, &incomplete, &empty]));
}

#[test]
fn a_merge_without_rows_is_inconclusive() {
    let tree = Tree::new();
    let table = tree.path().join(DIR).join("gemm_perf.parquet");
    std::fs::create_dir_all(table.parent().unwrap()).unwrap();
    tree.file("run/gemm_perf.txt", common::GEMM);
    let run = merge(&tree, &["run"], &["--write", "--incomplete"]);
    assert_eq!(run.code(), 3, "{}{}", run.out(), run.err());
    assert!(run.out().contains("all files of the run are empty") && !table.exists());
}

#[test]
fn rows_of_another_device_version_or_framework_are_not_merged() {
    let (tree, table) = site(&[(1, 0.5), (2, 4.8)]);
    let before = std::fs::read(&table).unwrap();
    let other = |text: &str, from: &str, to: &str| text.replace(from, to);
    let rows = gemm(&[(2, 0.6)]);
    tree.file("device/gemm_perf.txt", other(&rows, "NVIDIA H200", "NVIDIA B200"));
    tree.file("version/gemm_perf.txt", other(&rows, "0.24.0", "0.22.0"));
    tree.file("framework/gemm_perf.txt", other(&rows, "VLLM", "SGLANG"));
    tree.file(
        "header/gemm_perf.txt",
        other(&rows, "latency", "latency,power").replace("0.6", "0.6,9"),
    );
    tree.file("type/gemm_perf.txt", other(&rows, ",2,128,128", ",x,128,128"));
    tree.file("torn/gemm_perf.txt", rows.clone() + "VLLM,0.24.0\n");
    tree.file("zero/gemm_perf.txt", gemm(&[(2, 0.0)]));
    tree.file("kernel/gemm_perf.txt", other(&rows, "cutlass", "cublas"));
    let mut runs = Vec::new();
    for name in ["device", "version", "framework", "header", "type", "torn", "zero", "kernel"] {
        let run = merge(&tree, &[name], &["--write"]);
        assert_eq!(run.code(), 1, "{name}: {}", run.out());
        runs.push(run);
    }
    insta::assert_snapshot!(shown(&runs));
    assert_eq!(std::fs::read(&table).unwrap(), before);
    // A person may say that the name makes no other measurement, but not of what the loader reads.
    let run = merge(&tree, &["kernel"], &["--ignore", "kernel_source"]);
    assert!(run.out().contains("1 key replaced, 0 added"), "{}", run.out());
    assert_eq!(merge(&tree, &["kernel"], &["--ignore", "m"]).code(), 1);
    assert_eq!(merge(&tree, &["kernel"], &["--ignore", "kernel_sourse"]).code(), 2);
    assert_eq!(merge(&tree, &["nowhere"], &[]).code(), 2);
}

#[test]
fn appending_refuses_existing_keys() {
    let (tree, table) = site(&[(1, 0.5), (2, 0.6)]);
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.61), (4, 0.7)]));
    let refused = merge(&tree, &["run"], &["--append", "--write"]);
    assert_eq!(refused.code(), 1);
    tree.file("run/gemm_perf.txt", gemm(&[(4, 0.7)]));
    let run = merge(&tree, &["run"], &["--append", "--write"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    insta::assert_snapshot!(shown([&refused, &run]));
    assert_eq!(rows(&table), [(1, 0.5), (2, 0.6), (4, 0.7)]);
}

#[test]
fn a_rerun_list_limits_the_keys_that_a_merge_may_change() {
    let (tree, table) = site(&[(1, 0.5), (2, 4.8), (4, 9.0)]);
    let key = |m: u64| {
        format!(
            "  - {{key: {{framework: VLLM, op_name: gemm, kernel_source: cutlass, gemm_dtype: bfloat16, m: {m}, n: 128, k: 128}}, reason: synthetic}}\n"
        )
    };
    let head = "schema: perfdb-gate/rerun/v1\nabout: synthetic\noperations:\n- system: h200_sxm\n  family: gemm\n  backend: vllm\n  version: 0.24.0\n  table: gemm_perf\n  points:\n";
    let list = tree.file("rerun.yaml", format!("{head}{}{}", key(2), key(4)));
    let list = list.display().to_string();
    tree.file("run/gemm_perf.txt", gemm(&[(1, 0.4), (2, 0.6)]));
    let refused = merge(&tree, &["run"], &["--only", &list, "--write"]);
    assert_eq!(refused.code(), 1);
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.6)]));
    let run = merge(&tree, &["run"], &["--only", &list, "--write"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    insta::assert_snapshot!(shown([&refused, &run]));
    assert_eq!(rows(&table), [(1, 0.5), (2, 0.6), (4, 9.0)]);
}

#[test]
fn rows_without_power_replace_only_rows_without_power() {
    let tree = Tree::new();
    let header = common::GEMM.replace("latency", "latency,power,power_limit");
    let line = |m: u64, ms: f64, power: &str| {
        format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},128,128,{ms},{power}\n")
    };
    let text = [header, line(1, 0.5, "400.0,700.0"), line(2, 4.8, ","), line(4, 0.7, ",")].concat();
    tree.file(&format!("{DIR}/gemm_perf.txt"), text);
    let root = tree.path().display().to_string();
    assert_eq!(common::run(&["convert", "--root", &root, "--write"]).code(), 0);
    tree.file("run/gemm_perf.txt", gemm(&[(2, 0.6)]));
    let run = merge(&tree, &["run"], &["--write"]);
    assert_eq!(run.code(), 0, "{}", run.out());
    let table = tree.path().join(DIR).join("gemm_perf.parquet");
    assert_eq!(rows(&table), [(1, 0.5), (2, 0.6), (4, 0.7)]);
    tree.file("run/gemm_perf.txt", gemm(&[(1, 0.51)]));
    let loses = merge(&tree, &["run"], &[]);
    assert_eq!(loses.code(), 1);
    assert!(loses.out().contains("1 key would lose their power,"), "{}", loses.out());
}
