//! Rows and tables that changed.

use super::{FAMILY, FLAT, POINTER, changes, human, repository};
use crate::common::{SHIPPED, Tree, gemm, gemm_parquet};

#[test]
fn a_table_is_added_modified_or_deleted() {
    let tree = repository();
    tree.file(&format!("{FLAT}/moe_perf.parquet"), SHIPPED);
    tree.file(&format!("{FLAT}/gemm_perf.txt"), gemm(&[(1, 0.5), (2, 0.9), (3, 0.7)]));
    assert_eq!(
        changes(&tree),
        [
            "modified vllm/0.24.0/gemm_perf.txt +1 -0 ~1",
            "added vllm/0.24.0/moe_perf.parquet +296 -0 ~0",
        ]
    );
    tree.remove(&format!("{FLAT}/gemm_perf.txt"));
    tree.remove(&format!("{FLAT}/moe_perf.parquet"));
    assert_eq!(changes(&tree), ["deleted vllm/0.24.0/gemm_perf.txt +0 -2 ~0"]);
}

#[test]
fn counts_and_the_median_ratio_follow_from_the_rows() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (1..=21).map(|m| (m, 1.0)).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    tree.commit();
    // From 0.9 to 1.1 in steps of a hundredth, and one row whose base is zero.
    let mut later: Vec<(u64, f64)> = (1..=21).map(|m| (m, 0.89 + 0.01 * m as f64)).collect();
    later[10].1 = 2.0;
    tree.gemm("gemm_perf.txt", gemm(&later));
    let entry = tree.sanity(&["--base-ref", "main"]).json()["diff"][0].clone();
    assert_eq!((&entry["base_rows"], &entry["head_rows"]), (&21.into(), &21.into()));
    assert_eq!(entry["changed"], 21);
    let median = entry["median_ratio"].as_f64().unwrap();
    assert!((median - 1.01).abs() < 1e-9, "{median}");
    assert!(entry["old_path"].is_null());
}

#[test]
fn duplicate_rows_are_matched_with_equal_rows_first() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.1), (1, 0.2), (1, 0.3), (2, 0.4), (2, 0.4)]));
    tree.commit();
    // Of m = 1: 0.3 and 0.2 stay, 0.1 becomes 0.9. Of m = 2: one copy less.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.3), (1, 0.9), (2, 0.4), (1, 0.2)]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -1 ~1"]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.1), (1, 0.1), (2, 0.4), (2, 0.4), (2, 0.4)]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +1 -1 ~1"]);
}

#[test]
fn changed_bytes_without_a_changed_cell_are_a_rewrite() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&[(2, 0.6), (1, 0.5)]).replace("0.5", "5e-1"));
    assert_eq!(changes(&tree), ["rewritten vllm/0.24.0/gemm_perf.txt +0 -0 ~0"]);
    // A number is what its cell says, to the last bit.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6000000000000001)]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -0 ~1"]);
}

#[test]
fn a_column_of_one_state_changes_all_rows() {
    let tree = repository();
    let text = gemm(&[(1, 0.5), (2, 0.6), (3, 0.7)]).replace('\n', ",700\n");
    tree.gemm("gemm_perf.txt", text.replacen(",700", ",power", 1));
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(run.diff(), ["modified vllm/0.24.0/gemm_perf.txt +1 -0 ~2"]);
    assert_eq!(run.json()["diff"][0]["median_ratio"], 1.0);
    // One that is no measurement is no part of the key either, so rows are not new for it.
    let text = gemm(&[(2, 0.6), (1, 0.5)]).replace('\n', ",graph\n");
    tree.gemm("gemm_perf.txt", text.replacen(",graph", ",mode", 1));
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(run.diff(), ["modified vllm/0.24.0/gemm_perf.txt +0 -0 ~2"]);
    assert_eq!(run.json()["diff"][0]["median_ratio"], 1.0, "rows that are equal but for it");
    // And back: a column is lost.
    tree.commit();
    tree.git(&["checkout", "-qb", "without"]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -0 ~2"]);
}

#[test]
fn a_moved_table_is_a_rename_whose_rows_are_compared() {
    let tree = Tree::new();
    tree.file(&format!("{FLAT}/gemm_perf.parquet"), gemm_parquet(&[(1, 0.5), (2, 0.6)]));
    tree.file(&format!("{FLAT}/moe_perf.txt"), gemm(&[(1, 0.5)]));
    tree.commit();
    tree.rename(&format!("{FLAT}/gemm_perf.parquet"), &format!("{FAMILY}/gemm_perf.parquet"));
    tree.rename(
        &format!("{FLAT}/moe_perf.txt"),
        "systems/data/h200_sxm/moe/vllm/0.24.0/moe_perf.txt",
    );
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(
        run.diff(),
        [
            "renamed gemm/vllm/0.24.0/gemm_perf.parquet +0 -0 ~0 was vllm/0.24.0/gemm_perf.parquet",
            "renamed moe/vllm/0.24.0/moe_perf.txt +0 -0 ~0 was vllm/0.24.0/moe_perf.txt",
        ]
    );
    // Equal bytes are not read, so their rows are not counted.
    assert!(run.json()["diff"][0]["base_rows"].is_null());

    tree.file(
        &format!("{FAMILY}/gemm_perf.parquet"),
        gemm_parquet(&[(1, 0.5), (2, 0.7), (3, 0.8)]),
    );
    let changed =
        "renamed gemm/vllm/0.24.0/gemm_perf.parquet +1 -0 ~1 was vllm/0.24.0/gemm_perf.parquet";
    assert_eq!(changes(&tree)[0], changed);
}

#[test]
fn moved_tables_with_equal_bytes_are_paired_by_version() {
    let tree = Tree::new();
    for version in ["0.19.0", "0.22.0", "0.24.0"] {
        let path = format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.parquet");
        tree.file(&path, SHIPPED);
    }
    tree.commit();
    for version in ["0.19.0", "0.22.0"] {
        tree.rename(
            &format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.parquet"),
            &format!("systems/data/h200_sxm/gemm/vllm/{version}/gemm_perf.parquet"),
        );
    }
    // This one goes nowhere; another of its bytes comes.
    tree.remove(&format!("{FLAT}/gemm_perf.parquet"));
    tree.file("systems/data/h200_sxm/moe/vllm/0.25.0/moe_perf.parquet", SHIPPED);
    let old = |version: &str| format!("+0 -0 ~0 was vllm/{version}/gemm_perf.parquet");
    assert_eq!(
        changes(&tree),
        [
            format!("renamed gemm/vllm/0.19.0/gemm_perf.parquet {}", old("0.19.0")),
            format!("renamed gemm/vllm/0.22.0/gemm_perf.parquet {}", old("0.22.0")),
            format!("renamed moe/vllm/0.25.0/moe_perf.parquet {}", old("0.24.0")),
        ]
    );
}

#[test]
fn a_conversion_from_text_is_an_addition_that_names_the_text_table() {
    let tree = repository();
    tree.remove(&format!("{FLAT}/gemm_perf.txt"));
    tree.file(&format!("{FLAT}/gemm_perf.parquet"), gemm_parquet(&[(1, 0.5), (2, 0.6), (3, 0.7)]));
    let wanted = "added vllm/0.24.0/gemm_perf.parquet +1 -0 ~0 was vllm/0.24.0/gemm_perf.txt";
    assert_eq!(changes(&tree), [wanted]);
    // Into the other layout at the same time.
    tree.rename(&format!("{FLAT}/gemm_perf.parquet"), &format!("{FAMILY}/gemm_perf.parquet"));
    let wanted = "added gemm/vllm/0.24.0/gemm_perf.parquet +1 -0 ~0 was vllm/0.24.0/gemm_perf.txt";
    assert_eq!(changes(&tree), [wanted]);
}

#[test]
fn a_table_that_was_an_lfs_pointer_without_object_is_not_compared() {
    let tree = Tree::new();
    tree.file(&format!("{FLAT}/gemm_perf.txt"), POINTER);
    tree.file(&format!("{FLAT}/moe_perf.txt"), POINTER);
    tree.file(&format!("{FLAT}/kda_perf.txt"), POINTER.replace("295f", "395f"));
    tree.commit();
    tree.file(&format!("{FLAT}/gemm_perf.txt"), gemm(&[(1, 0.5)]));
    tree.rename(
        &format!("{FLAT}/moe_perf.txt"),
        "systems/data/h200_sxm/moe/vllm/0.24.0/moe_perf.txt",
    );
    tree.remove(&format!("{FLAT}/kda_perf.txt"));
    tree.file("systems/data/h200_sxm/kda/vllm/0.24.0/kda_perf.parquet", SHIPPED);
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(
        run.diff(),
        [
            "added kda/vllm/0.24.0/kda_perf.parquet +296 -0 ~0 was vllm/0.24.0/kda_perf.txt",
            "renamed moe/vllm/0.24.0/moe_perf.txt +0 -0 ~0 was vllm/0.24.0/moe_perf.txt",
            "modified vllm/0.24.0/gemm_perf.txt +? -? ~?",
        ]
    );
    assert_eq!(run.json()["diff"][2]["base_rows"], serde_json::Value::Null);
}

#[test]
fn an_lfs_pointer_with_a_local_object_is_read_as_the_table() {
    use sha2::{Digest, Sha256};
    let old = gemm(&[(1, 0.5), (2, 0.6)]);
    let oid: String = Sha256::digest(&old).iter().map(|b| format!("{b:02x}")).collect();
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {}\n",
        old.len()
    );
    let tree = Tree::new();
    tree.file(&format!("{FLAT}/gemm_perf.txt"), &pointer);
    tree.commit();
    tree.file(&format!(".git/lfs/objects/{}/{}/{oid}", &oid[..2], &oid[2..4]), &old);
    tree.file(&format!("{FLAT}/gemm_perf.txt"), gemm(&[(1, 0.5), (2, 0.9)]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -0 ~1"]);
    // As git-lfs checks it out: the pointer is committed, what it names lies on disk.
    tree.file(&format!("{FLAT}/gemm_perf.txt"), &old);
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.diff()), (3, vec![]));
}

#[test]
fn rows_of_unreadable_tables_are_not_counted() {
    let tree = Tree::new();
    tree.file(&format!("{FLAT}/gemm_perf.parquet"), SHIPPED);
    tree.file(&format!("{FLAT}/kda_perf.parquet"), "damaged");
    tree.file(&format!("{FLAT}/mhc_perf.parquet"), "damaged too");
    tree.file(&format!("{FLAT}/moe_perf.parquet"), SHIPPED);
    tree.commit();
    tree.file(&format!("{FLAT}/gemm_perf.parquet"), &SHIPPED[..SHIPPED.len() / 2]);
    tree.file(&format!("{FLAT}/kda_perf.parquet"), SHIPPED);
    tree.remove(&format!("{FLAT}/mhc_perf.parquet"));
    tree.file(&format!("{FLAT}/moe_perf.parquet"), POINTER);
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(
        run.diff(),
        [
            "modified vllm/0.24.0/gemm_perf.parquet +? -? ~?",
            "modified vllm/0.24.0/kda_perf.parquet +296 -0 ~0",
            "deleted vllm/0.24.0/mhc_perf.parquet +? -? ~?",
            "modified vllm/0.24.0/moe_perf.parquet +? -? ~?",
        ]
    );
    let json = run.json();
    let rows =
        |i: usize| (json["diff"][i]["base_rows"].clone(), json["diff"][i]["head_rows"].clone());
    assert_eq!(rows(0), (296.into(), serde_json::Value::Null));
    assert_eq!(rows(1), (serde_json::Value::Null, 296.into()));
    insta::assert_snapshot!(human(&tree).shown());
}

#[test]
fn a_table_that_loses_all_rows_is_modified_and_not_unreadable() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&[]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -2 ~0"]);
}
