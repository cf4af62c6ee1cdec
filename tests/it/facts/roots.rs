//! Several roots below one repository, on small trees of synthetic rows.

use crate::common::{H200, Tree, gemm};

const PROFILE: &str = "systems/profiles/k3";
const EXPERIMENT: &str = "data/experimental/k3/systems";

/// A root in a folder, with GEMM of the same system as every other root has.
fn root(tree: &Tree, folder: &str, rows: &[(u64, f64)]) -> String {
    tree.file(&format!("{folder}/h200_sxm.yaml"), H200.replace("../data/", "data/"));
    let path = format!("{folder}/data/h200_sxm/vllm/0.24.0/gemm_perf.txt");
    tree.file(&path, gemm(rows));
    path
}

#[test]
fn every_root_is_judged_separately() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    root(&tree, PROFILE, &[(1, 0.5), (2, 0.6)]);
    let clean = tree.validate(&["--format", "json"]);
    // The same rows in two roots are no copies: nothing is compared across roots.
    assert_eq!(clean.findings(), [""; 0], "{}", clean.err());
    assert_eq!(clean.json()["summary"]["tables"], 2);
    let experiment = root(&tree, EXPERIMENT, &[(1, -0.5)]);
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.code(), 1);
    assert_eq!(run.findings(), [format!("latency-not-positive error {experiment}")]);
}

#[test]
fn a_damaged_table_of_a_profile_is_found() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    root(&tree, PROFILE, &[(1, 0.5)]);
    let path = format!("{PROFILE}/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet");
    let mut bytes = crate::common::gemm_parquet(&[(1, 0.5), (2, 0.6)]);
    bytes.truncate(bytes.len() / 2);
    tree.file(&path, bytes);
    let run = tree.validate(&["--format", "json", "--skip", "sidecar-missing"]);
    assert_eq!(run.code(), 1);
    assert_eq!(run.findings(), [format!("table-unreadable error {path}")]);
}

#[test]
fn names_select_tables_in_every_root() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let profile = root(&tree, PROFILE, &[(1, 0.5)]);
    tree.rename(&profile, &profile.replace("0.24.0", "0.31.0"));
    let of = |version: &str| tree.validate(&["--version", version, "--format", "json"]);
    assert_eq!(of("0.31.0").json()["summary"]["tables"], 1);
    assert_eq!(of("0.24.0").json()["summary"]["tables"], 1);
    assert_eq!(of("0.32.0").code(), 2);
}

#[test]
fn tables_outside_every_root_are_named() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    for name in ["a", "b"] {
        tree.file(&format!("docs/validation/{name}.parquet"), "synthetic");
    }
    let run = tree.validate(&[]);
    assert_eq!(run.code(), 0);
    insta::assert_snapshot!(run.shown(), @"
    $ perfdb-gate validate --root [tmp]
    2 tables do not belong to any root and were not checked (docs/validation/a.parquet, docs/validation/b.parquet)
    0 errors, 0 warnings, 0 infos; checked 1 table, 1 row in [seconds] s
    (exit 0)
    ");
    assert_eq!(tree.validate(&["--strict"]).code(), 3);
    let json = tree.validate(&["--format", "json"]).json();
    assert_eq!(json["unjudged"].as_array().unwrap().len(), 2);
    // A part of the database is asked for, and it is judged.
    assert_eq!(tree.validate(&["--strict", "--system", "h200_sxm"]).code(), 0);
    // A finding comes before.
    tree.gemm("gemm_perf.txt", gemm(&[(1, -0.5)]));
    assert_eq!(tree.validate(&["--strict"]).code(), 1);
}

#[test]
fn a_pull_request_is_judged_separately_per_root() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let profile = root(&tree, PROFILE, &[(1, 0.5)]);
    tree.file("docs/old.parquet", "synthetic");
    tree.commit();
    root(&tree, PROFILE, &[(1, -0.5)]);
    let experiment = root(&tree, EXPERIMENT, &[(1, 0.7)]);
    tree.file("docs/new.parquet", "synthetic");
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(run.code(), 1, "{}", run.err());
    assert_eq!(run.findings(), [format!("latency-not-positive error {profile}")]);
    assert_eq!(run.json()["unjudged"], serde_json::json!(["docs/new.parquet"]));
    let changed = run.json();
    let paths: Vec<&str> =
        changed["diff"].as_array().unwrap().iter().map(|t| t["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [experiment.as_str(), profile.as_str()]);
}

#[test]
fn a_moved_root_is_compared_with_its_former_place() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.commit();
    tree.rename("systems", "python/core/systems");
    let json = tree.sanity(&["--base-ref", "main"]).json();
    assert_eq!(json["diff"][0]["status"], "renamed");
    assert_eq!(json["summary"]["errors"], 0, "{json:#}");
}
