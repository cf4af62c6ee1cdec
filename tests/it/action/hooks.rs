//! The hooks for pre-commit.

use super::indebted;
use crate::common::{Run, command, gemm, run};
use serde_json::Value;

/// What the hooks' filter leaves out is never judged before a commit.
#[test]
fn the_hooks_filter_names_every_file_of_traces() {
    let read = |path: &str| -> Value {
        serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let hooks = read(".pre-commit-hooks.yaml");
    let filter = hooks[0]["files"].as_str().unwrap();
    assert_eq!(hooks[1]["files"], hooks[0]["files"]);
    let mut seen = 0;
    for file in std::fs::read_dir("rules/traces").unwrap() {
        let spec = read(&file.unwrap().path().display().to_string());
        let files = spec["files"].as_array().or(spec["files"]["names"].as_array());
        for name in files.into_iter().flatten().map(|n| n.as_str().unwrap()) {
            // What stands before the part that differs; a rank's file may begin with it.
            let fixed = name.replace("{dir}", "(?P=dir)");
            let fixed = fixed.split(['*', '{', '.']).next().unwrap();
            let fixed = Some(fixed.trim_end_matches("rank")).filter(|f| !f.is_empty());
            assert!(filter.contains(fixed.unwrap_or("rank")), "{name} is not in {filter}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn the_hooks_judge_what_is_not_committed_yet() {
    let hooks = std::fs::read_to_string(".pre-commit-hooks.yaml").unwrap();
    let hooks: Value = serde_yaml::from_str(&hooks).unwrap();
    let (tree, _) = indebted();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6), (0, 0.7)]));
    for hook in hooks.as_array().unwrap() {
        let entry: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
        let run = Run::of(command().args(&entry[1..]).current_dir(tree.path())).unwrap();
        assert_eq!(run.code(), 1, "{}", run.shown());
        insta::allow_duplicates! {
            insta::assert_snapshot!(run.shown(), @"
            $ perfdb-gate sanity --base-ref HEAD
            modified  systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
                +1 -0 ~0 rows, 2 → 3
            Change: append-only; tables: 1 modified; rows: 1 added, 0 removed, 0 changed
            Served: 2 keys stay: every latency as it was; 0 lost; 0 gained

            systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
              error   key-out-of-range: 1 row has m zero
                  row 2: gemm_dtype=bfloat16 m=0 n=128 k=128 → m=0
              warning duplicate-key: 1 row repeats a key that an earlier row has; the loader serves the first and drops the rest; copies of 1 key differ by over 10 %, up to 1.17×
                  row 1: gemm_dtype=bfloat16 m=0 n=128 k=128 → served_ms=0.6 dropped_ms=[0.7] dropped_rows=[2]

            old debt: 1 finding was there before (1 key-out-of-range); --format json lists them

            duplicate-key: Keep one measurement a key: the last run, or the kernel that the framework would choose. Put the other kernel's rows where their own key can hold them.
            key-out-of-range: Remove the rows, and mend the sweep that made them.
            perfdb-gate explain RULE tells the whole story

            1 new error, 1 new warning, 0 new infos in 1 file; tables: 1 modified; rows: 1 added, 0 removed, 0 changed; compared in [seconds] s
            (exit 1)
            ");
        }
        assert_eq!(entry[0], "perfdb-gate");
    }
    assert_eq!(run(&["--version"]).code(), 0);
}
