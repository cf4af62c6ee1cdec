//! `perfdb-gate plan`, on small trees of synthetic rows.

use crate::common::snapshot::shown;
use crate::common::{self, GEMM, Run, Tree, gemm};
use serde_json::Value;

/// A grid of `m` and `n` with a spike, twice in the file: the loader serves the first of a key.
fn grid() -> String {
    let mut text = GEMM.to_owned();
    let mut line = |m: u64, n: u64, ms: f64| {
        text += &format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},64,{ms}\n");
    };
    for m in [256, 512, 1024, 2048] {
        for n in [1024, 2048, 4096] {
            let honest = (m * n) as f64 / 4e6;
            line(m, n, if (m, n) == (1024, 2048) { honest * 10.0 } else { honest });
        }
    }
    line(2048, 4096, 30.0);
    text
}

fn plan(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let mut all = vec!["plan", "--root", &root];
    all.extend(args);
    common::run(&all)
}

/// The list as YAML, and its text.
fn list(tree: &Tree) -> (Value, String) {
    let text = std::fs::read_to_string(tree.path().join("rerun.yaml")).expect("a list");
    (serde_yaml::from_str(&text).expect("YAML"), text)
}

#[test]
fn the_plan_lists_reported_rows_that_the_loader_serves() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", grid());
    let report = tree.path().join("report.json").display().to_string();
    let output = tree.path().join("rerun.yaml").display().to_string();
    let found =
        tree.validate(&["--only", "latency-spike", "--format", "json", "--output", &report]);
    assert_eq!(found.code(), 0, "{}", found.err());
    let run = plan(&tree, &["--from", &report, "--output", &output]);
    assert_eq!(run.code(), 0, "{}", run.err());
    let (yaml, text) = list(&tree);
    assert_eq!(yaml["operations"][0]["points"].as_array().unwrap().len(), 1);
    assert_eq!(yaml["operations"][0]["points"][0]["key"]["m"], 1024);
    let again = plan(&tree, &["--from", &report, "--output", &output]);
    assert_eq!(again.code(), 0, "a list of its own is replaced: {}", again.err());
    let system = tree.path().join("systems/h200_sxm.yaml").display().to_string();
    let refused = plan(&tree, &["--from", &report, "--output", &system]);
    assert_eq!(refused.code(), 2, "a file of the database is not: {}", refused.err());
    insta::assert_snapshot!(format!("{}\n{text}", run.shown()));
    // A report of a table that has changed since names other rows.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    let stale = plan(&tree, &["--from", &report]);
    assert_eq!(stale.code(), 2);
    let none = plan(&tree, &["--from", &report, "--only", "latency-drop"]);
    let no_report = plan(&tree, &["--from", &output]);
    assert_eq!((none.code(), no_report.code()), (3, 2));
    insta::assert_snapshot!(shown([&stale, &none, &no_report]));
}

#[test]
fn the_plan_lists_all_rows_of_a_finding_and_not_only_its_examples() {
    let tree = Tree::new();
    // Every fourth point along two axes is a spike, more of them than a finding shows.
    let mut text = GEMM.to_owned();
    for (i, m) in (0..40).map(|i| (i, 256 + 64 * i)) {
        for (j, n) in (0..3).map(|j| (j, 1024 << j)) {
            let spike = j == 1 && i % 5 == 2;
            let ms = (m * n) as f64 / 4e6 * if spike { 12.0 } else { 1.0 };
            text += &format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},64,{ms}\n");
        }
    }
    tree.gemm("gemm_perf.txt", text);
    let report = tree.path().join("report.json").display().to_string();
    let found =
        tree.validate(&["--only", "latency-spike", "--format", "json", "--output", &report]);
    assert_eq!(found.code(), 0, "{}", found.err());
    let run = plan(&tree, &["--from", &report]);
    assert!(run.out().contains("8 points of 1 table"), "{}", run.out());
}

#[test]
fn the_plan_counts_the_rows_that_a_report_does_not_name() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (1..=8).map(|m| (m, -1.0)).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    let report = tree.path().join("report.json").display().to_string();
    tree.validate(&["--only", "latency-not-positive", "--format", "json", "--output", &report]);
    let run = plan(&tree, &["--from", &report]);
    let note = "the report only counts 3 further rows of its findings";
    assert!(run.out().contains(note), "{}{}", run.out(), run.err());
}

#[test]
fn contradictory_options_of_plan_are_refused() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", grid());
    for args in [&[][..], &["--holes", "--from", "report.json"], &["--coverage", "power=90"]] {
        assert_eq!(plan(&tree, args).code(), 2, "{args:?}");
    }
    let holes = plan(&tree, &["--holes"]);
    assert_eq!(holes.code(), 3, "{}", holes.out());
}

#[test]
fn the_plan_for_holes_lists_the_rows_of_the_references() {
    let tree = Tree::new();
    let h100 = common::H200.replace("../data/h200_sxm", "data/h100_sxm");
    let h100 = h100.replace("NVIDIA H200", "NVIDIA H100");
    tree.file("systems/h100_sxm.yaml", h100);
    let rows = |dtype: &str, device: &str| {
        let line = |m: u64| {
            let ms = 0.01 * m as f64;
            format!("VLLM,0.24.0,{device},gemm,cutlass,{dtype},{m},128,128,{ms}\n")
        };
        (1..=60).map(line).collect::<String>()
    };
    let near = format!("{GEMM}{}{}", rows("bfloat16", "NVIDIA H100"), rows("fp8", "NVIDIA H100"));
    tree.file("systems/data/h100_sxm/gemm/vllm/0.24.0/gemm_perf.txt", near);
    let own = format!("{GEMM}{}", rows("bfloat16", "NVIDIA H200"));
    tree.file("systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.txt", own);
    let output = tree.path().join("rerun.yaml").display().to_string();
    let run = plan(&tree, &["--holes", "--system", "h200_sxm", "--output", &output]);
    assert_eq!(run.code(), 0, "{}{}", run.out(), run.err());
    let (yaml, _) = list(&tree);
    let points = yaml["operations"][0]["points"].as_array().unwrap();
    assert_eq!(points.len(), 60);
    assert!(points.iter().all(|p| p["key"]["gemm_dtype"] == "fp8"));
    assert_eq!(yaml["operations"][0]["system"], "h200_sxm");
    insta::assert_snapshot!(run.shown());
}

/// Commands that a file of the judged tree states are words of that file, which no shell acts on.
#[test]
fn collector_commands_of_the_tree_are_quoted_and_name_their_file() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", grid());
    let report = tree.path().join("report.json").display().to_string();
    let output = tree.path().join("rerun.yaml").display().to_string();
    tree.validate(&["--only", "latency-spike", "--format", "json", "--output", &report]);
    let collectors = "default: {calls: 1, copies: 1, overhead_s: 0, power_s: 0}
tables:
  gemm_perf: {collector: 'run.sh --of {backend}; curl $(id) | sh'}
";
    tree.file(".perfdb-gate/rules/collectors.yaml", collectors);
    let run = plan(&tree, &["--from", &report, "--output", &output]);
    let (yaml, _) = list(&tree);
    let commands = &yaml["operations"][0]["collect"];
    assert_eq!(commands[0], "run.sh --of 'vllm;' curl '$(id)' '|' sh", "{}", run.err());
    let said =
        ".perfdb-gate/rules/collectors.yaml states the commands: read them before you run them";
    assert!(yaml["about"].as_str().unwrap().ends_with(said), "{}", yaml["about"]);
    assert!(run.out().contains(said), "{}", run.out());
}
