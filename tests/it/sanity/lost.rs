//! Keys that a pull request loses or corrects, and tables that it copies. All rows are synthetic.

use super::FLAT;
use crate::common::snapshot::message;
use crate::common::{Run, Tree, gemm};

/// A repository whose `main` holds a text table with a sweep of five sizes.
fn repository() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (4, 0.71), (8, 0.83), (16, 0.97)]));
    tree.commit();
    tree
}

fn judged(tree: &Tree, rule: &str) -> Run {
    tree.sanity(&["--base-ref", "main", "--only", rule])
}

#[test]
fn a_point_lost_inside_a_sweep_is_an_info_and_a_lost_end_is_a_warning() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (8, 0.83), (16, 0.97)]));
    let run = judged(&tree, "no-longer-served");
    let found = run.finding("no-longer-served");
    assert_eq!(found["severity"], "info");
    insta::assert_snapshot!(message(&found), @"1 key was removed from within the sweeps of vllm 0.24.0 on h200_sxm, which the planner interpolates: m = 4");
    let unserved = &run.json()["change"]["unserved"];
    assert_eq!((&unserved["keys"], &unserved["shapes"]), (&1.into(), &0.into()));

    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (4, 0.71)]));
    let found = judged(&tree, "no-longer-served").finding("no-longer-served");
    assert_eq!(found["severity"], "warning");
    insta::assert_snapshot!(message(&found), @"the sweeps of 1 shape of vllm 0.24.0 on h200_sxm end earlier: m = 8, 16 went");
}

#[test]
fn a_corrected_key_is_rekeyed_and_not_lost_or_gained() {
    let tree = repository();
    let table = std::fs::read_to_string(tree.path().join(FLAT).join("gemm_perf.txt")).unwrap();
    tree.gemm("gemm_perf.txt", table.replace(",128,128,", ",256,128,"));
    let run = judged(&tree, "no-longer-served");
    let json = run.json();
    assert_eq!(json["change"]["class"], "rekey");
    assert_eq!(json["change"]["columns_changed"], serde_json::json!(["n"]));
    let served = &json["change"]["served"];
    assert_eq!(
        (&served["rekeyed"], &served["lost"], &served["gained"]),
        (&5.into(), &0.into(), &0.into())
    );
    assert_eq!(json["findings"], serde_json::json!([]));
}

#[test]
fn equal_bytes_at_another_version_are_a_copy_even_if_the_table_is_small() {
    let tree = repository();
    let table = std::fs::read_to_string(tree.path().join(FLAT).join("gemm_perf.txt")).unwrap();
    tree.file("systems/data/h200_sxm/vllm/0.25.0/gemm_perf.txt", table);
    let run = judged(&tree, "copied-table");
    assert_eq!(run.code(), 1, "{}", run.out());
    let found = run.finding("copied-table");
    assert_eq!(found["path"], "systems/data/h200_sxm/vllm/0.25.0/gemm_perf.txt");
    assert_eq!((&found["severity"], &found["rows"]), (&"error".into(), &5.into()));
}

#[test]
fn a_marker_file_that_hides_a_version_is_reported_with_the_hidden_version() {
    let tree = repository();
    tree.file(&format!("{FLAT}/INCOMPLETE.txt"), "");
    let run = tree.sanity(&["--base-ref", "main"]);
    let versions = run.json()["change"]["versions"].clone();
    assert_eq!(versions, serde_json::json!({"selectable": [], "hidden": ["h200_sxm vllm 0.24.0"]}));
    let root = tree.path().display().to_string();
    let run = crate::common::run(&["sanity", "--root", &root, "--base-ref", "main"]);
    let text = run.out();
    assert!(text.contains("Versions no longer read: h200_sxm vllm 0.24.0"), "{text}");
    assert!(text.contains("INCOMPLETE.txt added"), "{text}");
}
