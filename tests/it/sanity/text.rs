//! Parquet that a pull request turns into text. All rows are synthetic.

use super::{FAMILY, FLAT};
use crate::common::snapshot::message;
use crate::common::{Run, Tree, gemm, gemm_parquet};

const ROWS: [(u64, f64); 3] = [(1, 0.5), (2, 0.6), (4, 0.7)];

/// A repository whose `main` holds a Parquet table of the flat layout.
fn repository() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.parquet", gemm_parquet(&ROWS));
    tree.commit();
    tree
}

fn judged(tree: &Tree) -> Run {
    tree.sanity(&["--base-ref", "main", "--only", "no-longer-served"])
}

#[test]
fn a_table_that_becomes_text_is_no_longer_served() {
    for (folder, name) in
        [(FLAT, "gemm_perf.txt"), (FLAT, "gemm_perf.csv"), (FAMILY, "gemm_perf.txt")]
    {
        let tree = repository();
        tree.remove(&format!("{FLAT}/gemm_perf.parquet"));
        tree.file(&format!("{folder}/{name}"), gemm(&ROWS));
        let run = judged(&tree);
        assert_eq!(run.code(), 1, "{folder}/{name}: {}", run.err());
        let found = run.finding("no-longer-served");
        assert_eq!((&found["severity"], &found["rows"]), (&"error".into(), &3.into()));
        assert_eq!(found["path"], format!("{folder}/{name}"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(message(&found), @"gemm_perf was a Parquet table and is text now, which the planner's loader does not read: none of its 3 rows is served any more");
        }
    }
}

#[test]
fn a_text_table_does_not_replace_a_deleted_parquet_table() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&ROWS));
    tree.git(&["checkout", "-q", "main"]);
    tree.commit();
    tree.remove(&format!("{FLAT}/gemm_perf.parquet"));
    let run = judged(&tree);
    assert_eq!(run.code(), 1, "{}", run.out());
    // Nor does text of another version.
    let tree = repository();
    tree.remove(&format!("{FLAT}/gemm_perf.parquet"));
    tree.file("systems/data/h200_sxm/vllm/0.25.0/gemm_perf.txt", gemm(&ROWS));
    let found = judged(&tree).finding("no-longer-served");
    assert!(message(&found).starts_with("1 shape (3 keys) of vllm 0.24.0"), "{found}");
}

/// Collectors write text, and `validate` judges it.
#[test]
fn text_tables_and_their_conversion_to_parquet_have_no_finding() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&ROWS));
    tree.commit();
    assert_eq!(tree.validate(&["--fail-on", "error"]).code(), 0);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.61), (4, 0.7)]));
    assert_eq!(judged(&tree).code(), 0);
    tree.remove(&format!("{FLAT}/gemm_perf.txt"));
    tree.gemm("gemm_perf.parquet", gemm_parquet(&ROWS));
    assert_eq!(judged(&tree).code(), 0);
    // Beside the table, text may come and go.
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&ROWS));
    let run = tree.sanity(&["--base-ref", "HEAD", "--only", "no-longer-served"]);
    assert_eq!(run.code(), 0, "{}", run.err());
}

/// A loader that reads text loses nothing.
#[test]
fn a_loader_overlay_can_declare_that_text_is_read() {
    let tree = repository();
    let facts = std::fs::read_to_string("rules/loader.yaml").unwrap();
    let facts = facts.replace("text_tables: false", "text_tables: true");
    tree.file(".perfdb-gate/rules/loader.yaml", facts);
    tree.commit();
    tree.remove(&format!("{FLAT}/gemm_perf.parquet"));
    tree.gemm("gemm_perf.txt", gemm(&ROWS));
    let run = tree.sanity(&["--base-ref", "HEAD", "--only", "no-longer-served"]);
    assert_eq!(run.code(), 0, "{}", run.out());
}
