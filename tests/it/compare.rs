//! `perfdb-gate compare`, on small tables of synthetic rows.

use crate::common::snapshot::shown;
use crate::common::{self, Run, Tree, gemm, gemm_parquet};
use serde_json::Value;

/// Rows whose time grows with `m`, each a factor of that.
fn rows(factor: impl Fn(u64) -> f64) -> Vec<(u64, f64)> {
    // Within the noise of reruns, the same for both sides or not.
    (1..=200).map(|m| (m, (0.05 + 0.01 * m as f64) * factor(m))).collect()
}

fn noise(m: u64) -> f64 {
    1.0 + ((m * 7919) % 21) as f64 / 2000.0 - 0.005
}

fn compare(tree: &Tree, a: &str, b: &str, args: &[&str]) -> Run {
    let path = |name: &str| {
        let path = tree.path().join(name);
        if path.exists() { path.display().to_string() } else { name.to_owned() }
    };
    let root = tree.path().display().to_string();
    let mut all = vec!["compare".to_owned(), path(a), path(b), "--root".to_owned(), root];
    all.extend(args.iter().map(|arg| (*arg).to_owned()));
    common::run(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn tree(b: &[(u64, f64)]) -> Tree {
    let tree = Tree::new();
    tree.file("a/gemm_perf.parquet", gemm_parquet(&rows(|_| 1.0)));
    tree.file("b/gemm_perf.parquet", gemm_parquet(b));
    tree
}

fn verdict(tree: &Tree) -> (Value, i32) {
    let run = compare(tree, "a", "b", &["--format", "json"]);
    let json = run.json();
    assert_eq!(json["schema"], "perfdb-gate/compare/v1");
    (json["verdict"].clone(), run.code())
}

#[test]
fn reruns_are_the_same_and_a_factor_is_faster_or_slower() {
    assert_eq!(verdict(&tree(&rows(noise))), ("same".into(), 0));
    assert_eq!(verdict(&tree(&rows(|m| 1.1 * noise(m)))), ("slower".into(), 1));
    assert_eq!(verdict(&tree(&rows(|m| noise(m) / 1.1))), ("faster".into(), 1));
    let either = |m: u64| if m.is_multiple_of(2) { 1.4 } else { 1.0 / 1.4 };
    assert_eq!(verdict(&tree(&rows(either))), ("mixed".into(), 1));
    let few: Vec<(u64, f64)> = rows(noise).into_iter().take(3).collect();
    assert_eq!(verdict(&tree(&few)), ("unclear".into(), 3));
}

#[test]
fn a_report_for_people_says_where_they_differ() {
    // Slower where it takes long, one key by far, and slower and slower along the file.
    let factor = |m: u64| match m {
        7 => 3.0,
        m => noise(m) * (1.0 + m as f64 / 1000.0),
    };
    let tree = tree(&rows(factor));
    let (all, brief) = (compare(&tree, "a", "b", &[]), compare(&tree, "a", "b", &["--quiet"]));
    let table = compare(&tree, "a", "b", &["--format", "markdown"]);
    insta::assert_snapshot!(shown([&all, &brief, &table]));
}

#[test]
fn tables_folders_and_commits_are_sides() {
    let tree = Tree::new();
    let dir = "systems/data/h200_sxm/gemm/vllm/0.24.0";
    let path = format!("{dir}/gemm_perf.parquet");
    tree.file(&path, gemm_parquet(&rows(|_| 1.0)));
    tree.commit();
    tree.git(&["tag", "before"]);
    tree.file(&path, gemm_parquet(&rows(|m| 1.1 * noise(m))));
    tree.commit();
    // The run's own text, as a collector stages it.
    tree.file("run/gemm_perf.txt", gemm(&rows(|m| 1.1 * noise(m))));
    tree.file("run/moe_perf.txt", "framework,latency\nVLLM,1\n");
    for (a, b) in [
        ("before", "HEAD"),
        ("before", "."),
        ("before", path.as_str()),
        ("before", "run"),
        ("before", "run/gemm_perf.txt"),
    ] {
        let run = compare(&tree, a, b, &["--format", "json"]);
        let json = run.json();
        assert_eq!(json["tables"][0]["verdict"], "slower", "{a} {b}: {}", run.err());
        assert_eq!(json["tables"][0]["common"], 200, "{a} {b}");
        assert_eq!(json["tables"][0]["backend"], "vllm", "{a} {b}");
    }
    let same = compare(&tree, "HEAD", ".", &[]);
    let nowhere = compare(&tree, "HEAD", "nowhere", &[]);
    tree.file("empty/notes.md", "nothing");
    let empty = compare(&tree, "HEAD", "empty", &[]);
    assert_eq!((same.code(), nowhere.code(), empty.code()), (0, 2, 2));
    insta::assert_snapshot!(shown([&same, &nowhere, &empty]));
}

#[test]
fn charts_are_drawn_against_latency_and_along_the_file() {
    let tree = tree(&rows(noise));
    let charts = tree.path().join("charts").display().to_string();
    assert_eq!(compare(&tree, "a", "b", &["--output-dir", &charts]).code(), 0);
    for name in ["gemm_perf-1.svg", "gemm_perf-1-order.svg"] {
        let svg = std::fs::read_to_string(tree.path().join("charts").join(name)).unwrap();
        assert!(roxmltree::Document::parse(&svg).is_ok(), "{name}");
    }
}
