//! The hooks, run as pre-commit runs them: the entry in the repository's folder, without file names,
//! where a staged file passes the filter.

use regex::Regex;

use super::{indebted, read};
use crate::common::snapshot::shown;
use crate::common::{Run, Tree, command, gemm};

/// Runs the hooks' entry, in a folder whose `perfdb-gate` is the binary under test.
fn hook(tree: &Tree) -> Run {
    let hooks = read(".pre-commit-hooks.yaml");
    let entries: Vec<&str> =
        hooks.as_array().unwrap().iter().map(|h| h["entry"].as_str().unwrap()).collect();
    assert_eq!(entries[0], entries[1], "they differ in where the program comes from alone");
    let words: Vec<&str> = entries[0].split(' ').collect();
    assert_eq!(words[0], "perfdb-gate");
    Run::of(command().args(&words[1..]).current_dir(tree.path())).unwrap()
}

/// Whether pre-commit runs the hook for each path. The part on cards, which compares two names, is left out.
fn sees(paths: &[&str]) -> Vec<bool> {
    let hooks = read(".pre-commit-hooks.yaml");
    let filter = hooks[0]["files"].as_str().unwrap();
    assert_eq!(hooks[1]["files"], hooks[0]["files"]);
    let card = r"(?P<dir>[^/]+)/(?P=dir)\.ya?ml(\.yaml)?$";
    assert!(filter.contains(card));
    let filter = Regex::new(&filter.replace(card, "[^/]/never$")).unwrap();
    paths.iter().map(|path| filter.is_match(path)).collect()
}

/// What the hooks' filter leaves out is never judged before a commit.
#[test]
fn the_hook_s_file_filter_matches_every_trace_file() {
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
fn the_hook_s_file_filter_matches_only_files_of_a_database() {
    let database = [
        "src/x/systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet",
        "systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt",
        "systems/data/h200_sxm/vllm/0.24.0/GEMM_PERF.TXT",
        "data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.Parquet",
        "systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml",
        "systems/data/h200_sxm/gemm/vllm/0.24.0/reuse.yaml",
        "systems/data/h200_sxm/gemm/vllm/0.24.0/INCOMPLETE.txt",
        "systems/h200_sxm.yaml",
        "src/x/systems/support_matrix/h200_sxm.csv",
        "systems/perf_data_reuse_manifest.yaml",
        "traces/a/experiment_metrics.csv",
    ];
    let others = [
        "README.md",
        "collector/collect_gemm.py",
        "systems/data/collect.py",
        "src/systems/data/notes.txt",
        "data/loader.rs",
        "tests/performance.csv",
        "docs/systems.yaml",
        ".github/workflows/systems.yaml",
    ];
    assert_eq!(sees(&database), vec![true; database.len()], "{database:#?}");
    assert_eq!(sees(&others), vec![false; others.len()], "{others:#?}");
}

/// What stood in the way of a commit that did nothing wrong: the tree as it was committed under
/// `--all-files`, files that are none of the database's, a collector's script, and a first commit.
#[test]
fn commits_without_errors_pass_the_hook() {
    let (tree, _) = indebted();
    let clean = hook(&tree);
    tree.file("words.md", "words");
    let unrelated = hook(&tree);
    tree.file("collector/collect_gemm.py", "print('words')");
    let script = hook(&tree);
    assert_eq!([clean.code(), unrelated.code(), script.code()], [0; 3], "{}", shown([&script]));
    insta::assert_snapshot!(shown([&clean]), @"
    $ perfdb-gate sanity --base-ref HEAD --inconclusive pass
    nothing was compared: 0 new errors, 0 new warnings, 0 new infos; nothing changed; compared in [seconds] s
    (exit 0)
    ");

    let first = Tree::new();
    first.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    first.git(&["init", "-q"]);
    first.git(&["add", "-A"]);
    let run = hook(&first);
    assert_eq!(run.code(), 0, "{}", run.shown());
    insta::assert_snapshot!(shown([&run]), @"
    $ perfdb-gate sanity --base-ref HEAD --inconclusive pass
    added     systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
        +1 -0 ~0 rows, 0 → 1
    added     systems/h200_sxm.yaml
    Added version: 1 table (gemm) of h200_sxm vllm 0.24.0; 1 row; no table to compare with
    Change: append-only; tables: 1 added; rows: 1 added, 0 removed, 0 changed; other files: 1 added
    Facts changed: systems/h200_sxm.yaml added
    Versions new to select: h200_sxm vllm 0.24.0

    0 new errors, 0 new warnings, 0 new infos; tables: 1 added; rows: 1 added, 0 removed, 0 changed; other files: 1 added; compared in [seconds] s
    (exit 0)
    ");
}

#[test]
fn a_bad_table_in_a_first_commit_fails_the_hook() {
    let first = Tree::new();
    first.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]));
    first.git(&["init", "-q"]);
    first.git(&["add", "-A"]);
    assert_eq!(hook(&first).code(), 1, "{}", shown([&hook(&first)]));
}

#[test]
fn a_bad_table_fails_the_hook() {
    let (tree, _) = indebted();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6), (0, 0.7)]));
    let run = hook(&tree);
    assert_eq!(run.code(), 1, "{}", run.shown());
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate sanity --base-ref HEAD --inconclusive pass
    modified  systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
        +1 -0 ~0 rows, 2 → 3
    Rows added: 1 table (gemm) of h200_sxm vllm 0.24.0; 0 new keys; the 2 existing keys keep their latencies
    Change: append-only; tables: 1 modified; rows: 1 added, 0 removed, 0 changed

    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
      error   key-out-of-range: m is zero in 1 row
          line 4: gemm_dtype=bfloat16 m=0 n=128 k=128 → m=0
      warning duplicate-key: 1 row repeats the key of an earlier row; the loader uses the first and drops the others; 1 key has copies that differ by more than 10 % (up to 1.17×)
          line 3: gemm_dtype=bfloat16 m=0 n=128 k=128 → served_ms=0.6 dropped_ms=[0.7] dropped_lines=[4]

    existing findings: 1 (1 key-out-of-range); --format json lists them

    duplicate-key: Keep one measurement per key: the last run, or the kernel that the framework would choose. Store rows of the other kernel under a key of their own.
    key-out-of-range: Remove the rows and fix the sweep that produced them.
    `perfdb-gate explain RULE` explains a rule, `perfdb-gate waive` accepts a finding

    1 new error, 1 new warning, 0 new infos in 1 file; tables: 1 modified; rows: 1 added, 0 removed, 0 changed; compared in [seconds] s
    (exit 1)
    ");
}
