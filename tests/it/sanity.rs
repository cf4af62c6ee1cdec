//! `sanity` as users run it, on small repositories.

use std::path::Path;

use crate::common::{self, SHIPPED, Tree, gemm, gemm_parquet, run};
use perfdb_gate::database::source::{Commit, Source};

const FLAT: &str = "systems/data/h200_sxm/vllm/0.24.0";
const FAMILY: &str = "systems/data/h200_sxm/gemm/vllm/0.24.0";
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:295fbe9dcc8054085cfc8bc35ac46d59574d54f34183fcd5149222b65c4d1802\nsize 690924\n";

/// A repository whose only commit, `main`, holds a table of two rows.
fn repository() -> Tree {
    let tree = Tree::new();
    tree.file(&format!("{FLAT}/gemm_perf.txt"), gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    tree
}

/// What the files on disk change.
fn changes(tree: &Tree) -> Vec<String> {
    let run = tree.sanity(&["--base-ref", "main"]);
    assert!(run.code() < 2 && run.err().is_empty(), "{} {}", run.out(), run.err());
    run.diff()
}

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
fn counts_and_the_ratio_are_those_of_the_rows() {
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
fn duplicates_match_equal_rows_first() {
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
fn bytes_without_a_changed_cell_are_a_rewrite() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&[(2, 0.6), (1, 0.5)]).replace("0.5", "5e-1"));
    assert_eq!(changes(&tree), ["rewritten vllm/0.24.0/gemm_perf.txt +0 -0 ~0"]);
    // A number is what its cell says, to the last bit.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6000000000000001)]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -0 ~1"]);
}

#[test]
fn a_column_of_one_side_changes_all_rows() {
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
fn a_move_is_a_rename_with_its_rows_compared() {
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
fn tables_of_the_same_bytes_go_to_their_own() {
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
fn a_conversion_from_text_is_an_addition_that_tells_where_from() {
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
fn what_an_unresolved_pointer_stood_for_is_new() {
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
            "added vllm/0.24.0/gemm_perf.txt +1 -0 ~0",
        ]
    );
    assert_eq!(run.json()["diff"][2]["base_rows"], 0);
}

#[test]
fn a_pointer_whose_object_is_here_is_the_table() {
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
fn what_cannot_be_read_is_not_counted() {
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
    let human = tree.path().display().to_string();
    let human = common::run(&["sanity", "--root", &human, "--base-ref", "main"]).out();
    assert!(human.contains("the head cannot be read: it does not end as a parquet"), "{human}");
    assert!(human.contains("the head is a git-LFS pointer"), "{human}");
    assert!(human.contains("3 tables cannot be read"), "{human}");
}

#[test]
fn a_table_that_loses_its_last_row_is_not_unreadable() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&[]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -2 ~0"]);
}

#[test]
fn the_comparison_starts_where_the_branches_parted() {
    let tree = repository();
    tree.git(&["checkout", "-qb", "feature"]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (3, 0.7)]));
    tree.commit();
    tree.git(&["checkout", "-q", "main"]);
    tree.gemm("moe_perf.txt", gemm(&[(1, 0.5)]));
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.4)]));
    tree.commit();
    let wanted = ["modified vllm/0.24.0/gemm_perf.txt +1 -0 ~0"];
    let run = tree.sanity(&["--base-ref", "main", "--head-ref", "feature"]);
    assert_eq!(run.diff(), wanted);
    // The same from the work tree, with what is not committed yet.
    tree.git(&["checkout", "-q", "feature"]);
    assert_eq!(changes(&tree), wanted);
    tree.gemm("kda_perf.txt", gemm(&[(1, 0.5)]));
    assert_eq!(changes(&tree), [wanted[0], "added vllm/0.24.0/kda_perf.txt +1 -0 ~0"]);
}

#[test]
fn files_that_were_only_touched_did_not_change() {
    let tree = repository();
    // The same bytes, written again: the index cannot tell, their id does.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.diff()), (3, vec![]));
    // Other bytes of the same size, at once.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.7)]));
    assert_eq!(changes(&tree), ["modified vllm/0.24.0/gemm_perf.txt +0 -0 ~1"]);
}

#[test]
fn a_work_tree_and_its_commit_have_the_same_ids() {
    let tree = repository();
    let (root, base) = (tree.path(), Commit::open(tree.path(), "main").unwrap());
    let ids = |source: &dyn Source| {
        let files = source.files().unwrap();
        files.iter().map(|e| (e.path.clone(), source.id(e).unwrap())).collect::<Vec<_>>()
    };
    std::thread::sleep(std::time::Duration::from_millis(20));
    tree.git(&["update-index", "--refresh"]);
    let disk = perfdb_gate::database::source::open(root, None).unwrap();
    assert_eq!(ids(disk.as_ref()), ids(&base));
}

#[test]
fn a_bare_repository_takes_two_refs() {
    let tree = repository();
    tree.git(&["checkout", "-qb", "feature"]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.commit();
    let to = tempfile::TempDir::new().unwrap();
    let bare = to.path().join("db.git").display().to_string();
    tree.git(&["clone", "-q", "--bare", ".", &bare]);
    let args = ["sanity", "--root", &bare, "--base-ref", "main", "--format", "json"];
    let both = run(&[&args[..], &["--head-ref", "feature"]].concat());
    assert_eq!(both.diff(), ["modified vllm/0.24.0/gemm_perf.txt +0 -1 ~0"]);
    let without = run(&args);
    assert_eq!(
        (without.code(), without.err().contains("--head-ref")),
        (2, true),
        "{}",
        without.err()
    );
}

#[test]
fn a_missing_ref_leaves_nothing_behind() {
    let tree = repository();
    let out = tempfile::TempDir::new().unwrap();
    let at = |name: &str| out.path().join(name).display().to_string();
    for refs in
        [["--base-ref", "mian", "--head-ref", "main"], ["--base-ref", "main", "--head-ref", "mian"]]
    {
        let files = [
            "--output",
            &at("report.json"),
            "--output-md-file",
            &at("comment.md"),
            "--detail-dir",
            &at("details"),
        ];
        let run = tree.sanity(&[&refs[..], &files[..]].concat());
        assert_eq!(run.code(), 2);
        assert_eq!(run.err().lines().count(), 2, "{}", run.err());
        assert!(run.err().contains("no commit is named mian"), "{}", run.err());
        assert!(run.err().contains("hint: did you mean main?"), "{}", run.err());
    }
    assert_eq!(out.path().read_dir().unwrap().count(), 0);
    let elsewhere = tempfile::TempDir::new().unwrap();
    let folder = elsewhere.path().display().to_string();
    let no_repo = run(&["sanity", "--root", &folder, "--base-ref", "main"]);
    assert_eq!((no_repo.code(), no_repo.err().contains("no git repository")), (2, true));
}

#[test]
fn nothing_compared_is_never_green() {
    let tree = repository();
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.diff()), (3, vec![]));
    // What no rule and no loader reads is told, and settles nothing.
    tree.file("systems/data/h200_sxm/vllm/README.md", "notes");
    tree.file("docs/guide.md", "not of the database");
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.diff()), (3, vec!["added vllm/README.md".to_owned()]));
    let human = tree.path().display().to_string();
    let human = common::run(&["sanity", "--root", &human, "--base-ref", "main"]).out();
    assert!(human.contains("nothing was compared"), "{human}");
}

#[test]
fn sidecars_and_systems_are_told_apart_from_tables() {
    let tree = repository();
    tree.file(&format!("{FLAT}/collection_meta.yaml"), "schema_version: 1\n");
    tree.file(&format!("{FLAT}/INCOMPLETE.txt"), "");
    tree.commit();
    tree.file(&format!("{FLAT}/collection_meta.yaml"), "schema_version: 2\n");
    tree.remove(&format!("{FLAT}/INCOMPLETE.txt"));
    tree.file("systems/h200_sxm.yaml", common::H200.replace("../data/", "data/") + "# again\n");
    tree.file("systems/data/h200_sxm/a/b/c/d/gemm_perf.parquet", SHIPPED);
    assert_eq!(
        tree.sanity(&["--base-ref", "main~1"]).diff(),
        [
            "added a/b/c/d/gemm_perf.parquet",
            "added vllm/0.24.0/collection_meta.yaml",
            "modified systems/h200_sxm.yaml",
        ]
    );
    assert_eq!(
        changes(&tree),
        [
            "added a/b/c/d/gemm_perf.parquet",
            "deleted vllm/0.24.0/INCOMPLETE.txt",
            "modified vllm/0.24.0/collection_meta.yaml",
            "modified systems/h200_sxm.yaml",
        ]
    );
}

#[test]
fn the_first_data_and_the_last_are_a_change_too() {
    let tree = Tree::new();
    tree.remove("systems/h200_sxm.yaml");
    tree.file("README.md", "no data yet");
    tree.commit();
    let none = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((none.code(), none.err().contains("no perf database found")), (2, true));
    // Below the root, in a folder that the base does not have.
    tree.file("db/systems/h200_sxm.yaml", common::H200.replace("../data/", "data/"));
    tree.file(&format!("db/{FLAT}/gemm_perf.txt"), gemm(&[(1, 0.5)]));
    let wanted = ["added vllm/0.24.0/gemm_perf.txt +1 -0 ~0", "added db/systems/h200_sxm.yaml"];
    assert_eq!(changes(&tree), wanted);
    let root = tree.path().join("db").display().to_string();
    let args = ["sanity", "--root", &root, "--base-ref", "main", "--format", "json"];
    assert_eq!(run(&args).diff(), wanted);
    tree.git(&["checkout", "-qb", "data"]);
    tree.commit();
    tree.git(&["rm", "-rq", "db"]);
    tree.commit();
    let gone = tree.sanity(&["--base-ref", "data~1", "--head-ref", "data"]);
    assert_eq!(
        gone.diff(),
        ["deleted vllm/0.24.0/gemm_perf.txt +0 -1 ~0", "deleted db/systems/h200_sxm.yaml"]
    );
}

#[test]
fn the_report_is_the_same_for_any_number_of_threads() {
    let tree = repository();
    for name in ["moe_perf", "context_mla_perf", "nccl_perf", "kda_perf"] {
        tree.gemm(&format!("{name}.parquet"), SHIPPED);
        tree.gemm(&format!("{name}.txt"), gemm(&[(1, 0.0), (1, 0.2)]));
    }
    let report = |threads: &str| tree.sanity(&["--base-ref", "main", "--threads", threads]).json();
    let one = report("1");
    assert_eq!(one["diff"].as_array().unwrap().len(), 8);
    assert_eq!(report("2"), one);
    assert_eq!(report("7"), one);
}

#[test]
fn details_are_the_rows_themselves() {
    let tree = repository();
    tree.gemm("moe_perf.txt", gemm(&[(1, 0.5)]));
    tree.gemm(
        "gemm_perf.txt",
        gemm(&[(3, 0.7), (2, 0.9)]).replace('\n', ",\"a,b\"\n").replacen("\"a,b\"", "note", 1),
    );
    let out = tempfile::TempDir::new().unwrap();
    let folder = out.path().join("rows");
    tree.sanity(&["--base-ref", "main", "--detail-dir", &folder.display().to_string()]);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    insta::assert_snapshot!(read("h200_sxm__vllm__0.24.0__gemm_perf.txt.csv"), @r#"
    change,base_row,head_row,framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,base_latency,head_latency,base_note,head_note,ratio
    changed,1,1,VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,2,128,128,0.6,0.9,,"a,b",1.5
    removed,0,,VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,1,128,128,0.5,,,,
    added,,0,VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,3,128,128,,0.7,,"a,b",
    "#);
    insta::assert_snapshot!(read("summary.csv"), @"
    path,old_path,status,base_rows,head_rows,added,removed,changed,median_ratio,ratio_p5,ratio_p95,share_beyond_5_percent,fault,details
    systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt,,modified,2,2,1,1,1,1.5,1.5,1.5,1,,h200_sxm__vllm__0.24.0__gemm_perf.txt.csv
    systems/data/h200_sxm/vllm/0.24.0/moe_perf.txt,,added,0,1,1,0,0,,,,,,h200_sxm__vllm__0.24.0__moe_perf.txt.csv
    ");
    assert_eq!(folder.read_dir().unwrap().count(), 3, "and nothing else");
}

#[test]
fn the_comment_and_the_human_report_read_as_shown() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (9, 0.0)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.25), (2, 0.6), (3, 0.7), (9, 0.0)]));
    tree.file("systems/data/h200_sxm/sglang/0.5.14/gemm_perf.parquet", SHIPPED);
    tree.file(&format!("{FLAT}/collection_meta.yaml"), "schema_version: 1\n");
    let root = tree.path().display().to_string();
    let comment = tree.path().join("comment.md");
    let shown = comment.display().to_string();
    let run = run(&["sanity", "--root", &root, "--base-ref", "main", "--output-md-file", &shown]);
    assert_eq!(run.code(), 1, "{}", run.err());
    let out = run.out();
    let (text, last) = out.trim_end().rsplit_once('\n').unwrap();
    let (headline, _) = last.rsplit_once("; compared in ").unwrap();
    insta::assert_snapshot!(text, @"
    added     systems/data/h200_sxm/sglang/0.5.14/gemm_perf.parquet
        +296 -0 ~0 rows, 0 → 296
    modified  systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt
        +1 -0 ~1 rows, 3 → 4
        latency × 0.500 (median; 5 % below 0.500, 5 % above 0.500); 100 % of 1 row off by over 5 %
          row 0: gemm_dtype=bfloat16 m=1 n=128 k=128 → base_ms=0.5 head_ms=0.25 ratio=0.5
    added     systems/data/h200_sxm/vllm/0.24.0/collection_meta.yaml

    systems/data/h200_sxm/sglang/0.5.14/gemm_perf.parquet
      error   framework-mismatch: 296 rows of torch in a directory of sglang
          row 0: gemm_dtype=bfloat16 m=1 n=3072 k=32 → framework=torch
          row 1: gemm_dtype=bfloat16 m=1 n=6144 k=2048 → framework=torch
          and 3 more in --format json
      warning version-mismatch: 296 rows of version 2.11.0+cu130 in the directory of 0.5.14
          row 0: gemm_dtype=bfloat16 m=1 n=3072 k=32 → version=2.11.0+cu130
          row 1: gemm_dtype=bfloat16 m=1 n=6144 k=2048 → version=2.11.0+cu130
          and 3 more in --format json

    systems/data/h200_sxm/vllm/0.24.0/collection_meta.yaml
      error   sidecar-invalid: missing field `runtime` at line 1, column 1

    old debt: 1 finding was there before (1 latency-not-positive); --format json lists them

    framework-mismatch: Collect the rows with the framework of the directory, or file them under their own.
    sidecar-invalid: Let the collector write the file; do not write it by hand.
    version-mismatch: File the rows under the version that they were measured with, or collect them with the directory's.
    perfdb-gate explain RULE tells the whole story
    ");
    insta::assert_snapshot!(headline, @"2 new errors, 1 new warning, 0 new infos in 2 files; tables: 1 added, 1 modified; rows: 297 added, 0 removed, 1 changed; other files: 1 added");
    insta::assert_snapshot!(read(&comment), @r#"
    <!-- perfdb-gate -->
    **perfdb-gate: ❌ 2 new errors, 1 new warning** · tables: 1 added, 1 modified; rows: 297 added, 0 removed, 1 changed; other files: 1 added

    | system | backend | version | tables | rows now | added | removed | changed |
    |---|---|---|---|--:|--:|--:|--:|
    | `h200_sxm` | `sglang` | `0.5.14` | 1 added | 296 | 296 | 0 | 0 |
    | `h200_sxm` | `vllm` | `0.24.0` | 1 modified | 4 | 1 | 0 | 1 |
    | **total** | | | 1 added, 1 modified | 300 | 297 | 0 | 1 |

    ### New findings

    ❌ **framework-mismatch** `h200_sxm/sglang/0.5.14/gemm_perf.parquet`: 296 rows of torch in a directory of sglang

    <details><summary>Rows, what to do and how to see it again</summary>

    ```text
    row 0: gemm_dtype=bfloat16 m=1 n=3072 k=32 → framework=torch
    row 1: gemm_dtype=bfloat16 m=1 n=6144 k=2048 → framework=torch
    row 2: gemm_dtype=bfloat16 m=1 n=8192 k=768 → framework=torch
    row 3: gemm_dtype=bfloat16 m=1 n=16384 k=8192 → framework=torch
    row 4: gemm_dtype=bfloat16 m=2 n=1024 k=64 → framework=torch
    ```

    Collect the rows with the framework of the directory, or file them under their own.

    ```sh
    perfdb-gate validate --root . --ref HEAD --system h200_sxm --backend sglang --version 0.5.14 --table gemm_perf --only framework-mismatch
    ```

    </details>

    ❌ **sidecar-invalid** `h200_sxm/vllm/0.24.0/collection_meta.yaml`: missing field 'runtime' at line 1, column 1

    <details><summary>What to do and how to see it again</summary>

    Let the collector write the file; do not write it by hand.

    ```sh
    perfdb-gate validate --root . --ref HEAD --system h200_sxm --backend vllm --version 0.24.0 --only sidecar-invalid
    ```

    </details>

    ⚠️ **version-mismatch** `h200_sxm/sglang/0.5.14/gemm_perf.parquet`: 296 rows of version 2.11.0+cu130 in the directory of 0.5.14

    <details><summary>Rows, what to do and how to see it again</summary>

    ```text
    row 0: gemm_dtype=bfloat16 m=1 n=3072 k=32 → version=2.11.0+cu130
    row 1: gemm_dtype=bfloat16 m=1 n=6144 k=2048 → version=2.11.0+cu130
    row 2: gemm_dtype=bfloat16 m=1 n=8192 k=768 → version=2.11.0+cu130
    row 3: gemm_dtype=bfloat16 m=1 n=16384 k=8192 → version=2.11.0+cu130
    row 4: gemm_dtype=bfloat16 m=2 n=1024 k=64 → version=2.11.0+cu130
    ```

    File the rows under the version that they were measured with, or collect them with the directory's.

    ```sh
    perfdb-gate validate --root . --ref HEAD --system h200_sxm --backend sglang --version 0.5.14 --table gemm_perf --only version-mismatch
    ```

    </details>

    Old debt: 1 finding was there before (1 latency-not-positive); `--format json` lists them.

    <details open><summary>What changed most</summary>

    ```mermaid
    xychart-beta
        title "gemm_perf on h200_sxm, sglang 0.5.14: n=1024 k=64"
        x-axis "m" ["2", "80", "32.8k"]
        y-axis "part of the speed-of-light bound reached" 0 --> 1.1
        line [0.00984, 0.0108, 0.181]
    ```

    </details>

    <details><summary>Tables</summary>

    | table | | rows before | after | added | removed | changed | median latency ratio (5 % … 95 %), from short to long latencies |
    |---|---|--:|--:|--:|--:|--:|---|
    | `systems/data/h200_sxm/sglang/0.5.14/gemm_perf.parquet` | added | 0 | 296 | 296 | 0 | 0 |  |
    | `systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt` | modified | 3 | 4 | 1 | 0 | 1 | 0.500 (0.500 … 0.500) ▁ |

    </details>

    <details><summary>Files beside the tables</summary>

    - added `systems/data/h200_sxm/vllm/0.24.0/collection_meta.yaml`

    </details>
    "#);
}

/// What the files on disk bring and leave: `rule severity path rows`, old ones after a `was`.
/// Paths begin below the systems' data.
fn news(tree: &Tree, args: &[&str]) -> Vec<String> {
    let run = tree.sanity(&[&["--base-ref", "main"], args].concat());
    let json = run.json();
    let findings = json["findings"].as_array().unwrap_or_else(|| panic!("{}", run.err()));
    let text = |f: &serde_json::Value, name: &str| f[name].as_str().unwrap().to_owned();
    let mut told: Vec<String> = findings
        .iter()
        .map(|f| {
            let path = text(f, "path").replace("systems/data/h200_sxm/", "");
            let was = if f["new"] == true { "" } else { "was " };
            let waived = if f["waived_by"].is_null() { "" } else { " waived" };
            let (rule, severity) = (text(f, "rule"), text(f, "severity"));
            format!("{was}{rule} {severity} {path} {}{waived}", f["rows"])
        })
        .collect();
    told.sort();
    let failed = findings
        .iter()
        .any(|f| f["new"] == true && f["severity"] == "error" && f["waived_by"].is_null());
    assert_eq!(run.code(), i32::from(failed), "{told:?}");
    told
}

#[test]
fn a_finding_splits_into_what_the_head_brings_and_what_was_there() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.6), (3, -1.0)]));
    tree.commit();
    // A bad row stays, one is mended, a good one turns bad and a bad one comes, before the others.
    tree.gemm("gemm_perf.txt", gemm(&[(4, 0.0), (1, 0.0), (2, -0.6), (3, 1.0), (5, 0.9)]));
    let path = "vllm/0.24.0/gemm_perf.txt";
    assert_eq!(
        news(&tree, &[]),
        [
            format!("latency-not-positive error {path} 2"),
            format!("was latency-not-positive error {path} 1"),
        ]
    );
    let run = tree.sanity(&["--base-ref", "main"]);
    let json = run.json();
    let told = |i: usize| json["findings"][i]["message"].as_str().unwrap().to_owned();
    assert_eq!(told(0), "2 rows have latency below zero, latency zero");
    assert_eq!(told(1), "1 row has latency zero");
    assert_eq!(json["findings"][0]["examples"][0]["row"], 0);
    assert_eq!(json["findings"][1]["examples"][0]["row"], 1);
    assert_eq!(json["summary"]["errors"], 1, "old debt does not count");
    assert_eq!(json["summary"]["baselined"], 0);
    // Without the new ones there is debt alone.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.6), (3, -1.0), (5, 0.9)]));
    assert_eq!(news(&tree, &[]), [format!("was latency-not-positive error {path} 2")]);
    let root = tree.path().display().to_string();
    let human = run_human(&root);
    assert!(human.contains("old debt: 1 finding was there before (1 latency-not-p"), "{human}");
    assert!(!human.contains("row 0"), "{human}");
}

fn run_human(root: &str) -> String {
    run(&["sanity", "--root", root, "--base-ref", "main"]).out()
}

#[test]
fn a_row_repeats_what_was_there_wherever_it_stands() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (2, 0.61)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.52), (1, 0.5), (2, 0.6), (2, 0.61), (3, 0.7)]));
    let path = "vllm/0.24.0/gemm_perf.txt";
    assert_eq!(
        news(&tree, &[]),
        [format!("duplicate-key warning {path} 1"), format!("was duplicate-key warning {path} 1")]
    );
}

#[test]
fn what_is_wrong_with_a_file_is_old_where_it_was_wrong_before() {
    let with = |columns: &str, rows: &[(u64, f64)]| {
        let cells = ",x".repeat(columns.matches(',').count());
        gemm(rows).replace('\n', &format!("{cells}\n")).replacen(&cells, columns, 1)
    };
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", with(",note", &[(1, 0.5), (2, 0.6)]));
    tree.commit();
    let path = "vllm/0.24.0/gemm_perf.txt";
    tree.gemm("gemm_perf.txt", with(",note", &[(1, 0.5), (2, 0.6), (3, 0.7)]));
    assert_eq!(news(&tree, &[]), [format!("was header-mismatch warning {path} 3")]);
    tree.gemm("gemm_perf.txt", with(",note,mood", &[(1, 0.5), (2, 0.6)]));
    assert_eq!(news(&tree, &[]), [format!("header-mismatch warning {path} 2")]);
    // The same in another place is the same; one that comes anew is not.
    tree.remove(&format!("{FLAT}/gemm_perf.txt"));
    tree.file(&format!("{FAMILY}/gemm_perf.txt"), with(",note", &[(1, 0.5), (2, 0.6)]));
    let moved = "was header-mismatch warning gemm/vllm/0.24.0/gemm_perf.txt 2";
    assert!(news(&tree, &[]).contains(&moved.to_owned()), "{:?}", news(&tree, &[]));
    tree.rename(
        &format!("{FAMILY}/gemm_perf.txt"),
        "systems/data/h200_sxm/gemm/vllm/0.25.0/gemm_perf.txt",
    );
    let moved = "header-mismatch warning gemm/vllm/0.25.0/gemm_perf.txt 2";
    assert!(news(&tree, &[]).contains(&moved.to_owned()), "{:?}", news(&tree, &[]));
}

#[test]
fn rows_that_move_to_another_version_are_judged_there() {
    let tree = repository();
    tree.rename(
        &format!("{FLAT}/gemm_perf.txt"),
        "systems/data/h200_sxm/vllm/0.19.0/gemm_perf.txt",
    );
    assert_eq!(news(&tree, &[]), ["version-mismatch warning vllm/0.19.0/gemm_perf.txt 2"]);
}

#[test]
fn pointers_are_new_where_tables_were() {
    let tree = repository();
    tree.gemm("moe_perf.txt", POINTER);
    tree.commit();
    tree.gemm("gemm_perf.txt", POINTER);
    tree.gemm("moe_perf.txt", POINTER.replace("295f", "395f"));
    assert_eq!(
        news(&tree, &[]),
        [
            "lfs-pointer error vllm/0.24.0/gemm_perf.txt 0",
            "was lfs-pointer error vllm/0.24.0/moe_perf.txt 0",
        ]
    );
}

#[test]
fn a_copy_is_the_one_that_comes() {
    let rows: Vec<(u64, f64)> = (1..60).map(|m| (m, 0.01 + 0.0137 * m as f64)).collect();
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    tree.commit();
    // Its path comes first, and its rows name no version that tells them apart.
    let text = gemm(&rows).replace("VLLM,0.24.0", "SGLang,0.5.14");
    tree.file("systems/data/h200_sxm/sglang/0.5.14/gemm_perf.txt", text);
    let copied = "copied-table error sglang/0.5.14/gemm_perf.txt 59";
    assert_eq!(news(&tree, &["--only", "copied-table"]), [copied]);
    // Once it is there, rows that come beside it make it no newer.
    tree.commit();
    let more: Vec<(u64, f64)> = rows.iter().copied().chain([(99, 2.0)]).collect();
    let text = gemm(&more).replace("VLLM,0.24.0", "SGLang,0.5.14");
    tree.file("systems/data/h200_sxm/sglang/0.5.14/gemm_perf.txt", text);
    assert_eq!(news(&tree, &["--only", "copied-table"]), [format!("was {copied}")]);
}

#[test]
fn what_a_deletion_takes_from_others_is_new_there() {
    let of = |version: &str| format!("systems/data/h200_sxm/gemm/vllm/{version}");
    let tree = Tree::new();
    let reuse = "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: 0.19.0, reason: the same kernels, approved_by: me}\n";
    tree.file(
        &format!("{}/gemm_perf.txt", of("0.19.0")),
        gemm(&[(1, 0.5)]).replace("0.24.0", "0.19.0"),
    );
    tree.file(&format!("{}/reuse.yaml", of("0.24.0")), reuse);
    tree.commit();
    tree.remove(&format!("{}/gemm_perf.txt", of("0.19.0")));
    let told = "reuse-invalid error gemm/vllm/0.24.0/reuse.yaml 0";
    assert_eq!(news(&tree, &["--only", "reuse-invalid"]), [told]);
    // A second donor that is not there is new beside the first.
    tree.commit();
    let second =
        "- {table: gemm_perf, from_version: 0.18.0, reason: the same kernels, approved_by: me}\n";
    tree.file(&format!("{}/reuse.yaml", of("0.24.0")), reuse.to_owned() + "# again\n");
    assert_eq!(news(&tree, &["--only", "reuse-invalid"]), [format!("was {told}")]);
    tree.file(&format!("{}/reuse.yaml", of("0.24.0")), reuse.to_owned() + second);
    assert_eq!(news(&tree, &["--only", "reuse-invalid"]), [told]);
}

#[test]
fn another_machine_makes_other_findings_of_the_same_rows() {
    let tree = repository();
    let yaml = common::H200.replace("../data/", "data/");
    tree.file("systems/h200_sxm.yaml", yaml.replace("NVIDIA H200\"", "NVIDIA X1\""));
    let told = "device-mismatch error vllm/0.24.0/gemm_perf.txt 2";
    assert_eq!(news(&tree, &["--only", "device-mismatch"]), [told]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.7)]));
    assert_eq!(news(&tree, &["--only", "device-mismatch"]), [told]);
}

#[test]
fn a_pull_request_cannot_waive_itself() {
    let waiver = |condition: &str| {
        format!(
            "waivers:\n- rule: latency-not-positive\n  path: \"**/gemm_perf.txt\"\n  where: {condition}\n  reason: x\n  evidence: x\n  approved_by: me\n  until: 2999-01-31\n"
        )
    };
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    tree.commit();
    tree.file(".perfdb-gate/waivers.yaml", waiver("rows <= 9"));
    tree.file(".perfdb-gate/rules/latency-not-positive.yaml", "id: nonsense\n");
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    let path = "vllm/0.24.0/gemm_perf.txt";
    let split = |mark: &str| {
        vec![
            format!("latency-not-positive error {path} 1{mark}"),
            format!("was latency-not-positive error {path} 2{mark}"),
        ]
    };
    assert_eq!(news(&tree, &[]), split(""));
    // From the base it holds, for as many rows as it is signed for: both halves together.
    tree.remove(".perfdb-gate/rules/latency-not-positive.yaml");
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    assert_eq!(news(&tree, &[]), split(" waived"));
    tree.file(".perfdb-gate/waivers.yaml", waiver("rows <= 2"));
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    assert_eq!(news(&tree, &[]), split(""));
}

#[test]
fn a_baseline_knows_so_many_rows_of_both_halves() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.5)]));
    let baseline = tree.path().join(".perfdb-gate/baseline.json").display().to_string();
    std::fs::create_dir(tree.path().join(".perfdb-gate")).unwrap();
    tree.validate(&["--write-baseline", &baseline]);
    tree.commit();
    let path = "vllm/0.24.0/gemm_perf.txt";
    // As many as were known, another row among them.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.6), (3, 0.0)]));
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.json()["summary"]["baselined"].clone()), (0, 1.into()));
    // More.
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.0), (2, 0.0), (3, 0.0)]));
    assert!(news(&tree, &[]).contains(&format!("latency-not-positive error {path} 1")));
}

#[test]
fn the_least_severity_and_the_rules_are_the_users_choice() {
    let tree = repository();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (2, 0.61)]));
    let code = |args: &[&str]| tree.sanity(&[&["--base-ref", "main"], args].concat()).code();
    assert_eq!(code(&[]), 0);
    assert_eq!(code(&["--fail-on", "warning"]), 1);
    assert_eq!(code(&["--fail-on", "warning", "--skip", "duplicate-key"]), 0);
    assert_eq!(code(&["--only", "duplicate-kye"]), 2);
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn charts_are_drawn_the_same_twice_and_a_smoke_command_is_told() {
    let tree = Tree::new();
    let rows = |factor: f64| -> Vec<(u64, f64)> {
        (0..10).map(|i| (1 << i, factor * (1.0 + i as f64))).collect()
    };
    tree.gemm("gemm_perf.txt", gemm(&rows(1.0)));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&rows(1.5)));
    let out = |name: &str| tree.path().join("out").join(name).display().to_string();
    let comment = tree.path().join("comment.md").display().to_string();
    let draw = |folder: &str, smoke: &str| {
        let folder = out(folder);
        let args = ["--base-ref", "HEAD", "--output-dir", &folder, "--output-md-file", &comment];
        tree.sanity(&[&args[..], &["--smoke-command", smoke]].concat())
    };
    let passed = draw("a", "echo planned");
    assert_ne!(passed.code(), 2, "{}", passed.err());
    let text = std::fs::read_to_string(&comment).unwrap();
    assert!(text.contains("✅ Smoke command") && text.contains("planned"), "{text}");
    assert!(text.contains("```mermaid\nxychart-beta") && text.contains("1.5, 1.5"), "{text}");
    assert_eq!(draw("b", "exit 7").code(), 1, "a smoke command that fails fails the run");
    let name = "h200_sxm-vllm-0.24.0-gemm_perf";
    let read = |folder| std::fs::read(format!("{}/{name}.svg", out(folder))).unwrap();
    assert_eq!(read("a"), read("b"));
    assert_eq!(std::fs::read_dir(out("a")).unwrap().count(), 1);
    let none = tree.sanity(&["--base-ref", "HEAD", "--output-dir", &out("c"), "--charts", "0"]);
    assert_ne!(none.code(), 2, "{}", none.err());
    assert_eq!(std::fs::read_dir(out("c")).unwrap().count(), 0);
}

#[test]
fn without_a_base_what_is_there_is_drawn() {
    let tree = repository();
    let rows: Vec<(u64, f64)> = (0..6).map(|i| (1 << i, 1.0 + i as f64)).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    let folder = tree.path().join("charts").display().to_string();
    let root = tree.path().display().to_string();
    let draw = |args: &[&str]| run(&[&["sanity", "--root", &root], args].concat());
    let drawn = draw(&["--system", "h200*", "--output-dir", &folder]);
    assert_eq!(drawn.code(), 0, "{}", drawn.err());
    assert_eq!(drawn.out().trim(), format!("{folder}/h200_sxm-vllm-0.24.0-gemm_perf.svg"));
    // Two rows, as committed, are no line.
    let none = draw(&["--head-ref", "main", "--system", "h200_sxm", "--output-dir", &folder]);
    assert_eq!((none.code(), none.out().as_str()), (3, ""));
    assert_eq!(draw(&["--system", "h300", "--output-dir", &folder]).code(), 2);
    assert_eq!(draw(&[]).code(), 2);
}

#[test]
fn a_model_that_a_pull_request_makes_unplannable_is_told() {
    let tree = Tree::new();
    let model = "dense-1b:\n  about: Synthetic.\n  claims: gemm_perf OR moe_perf\n  needs:\n\
                 \x20   - table: gemm_perf\n      shape: some\n      rows: m >= 2\n";
    tree.file(".perfdb-gate/rules/workflows.yaml", model);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    tree.gemm("moe_perf.parquet", SHIPPED);
    tree.commit();
    let told = || {
        let run = tree.sanity(&["--base-ref", "main", "--only", "workflow-incomplete"]);
        let json = run.json();
        let found = json["findings"].as_array().unwrap_or_else(|| panic!("{}", run.err()));
        found.iter().filter(|f| f["message"].as_str().unwrap().contains("dense-1b")).count()
    };
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.7)]));
    assert_eq!(told(), 0, "the row is measured again");
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    assert_eq!(told(), 1);
    tree.remove(&format!("{FLAT}/gemm_perf.txt"));
    assert_eq!(told(), 1);
}
