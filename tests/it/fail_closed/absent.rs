//! Files that cannot be read in either state, or that are not in this clone: no run over them is green.

use super::*;

const TABLE: &str = "db/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt";
const YAML: &str = "db/systems/h200_sxm.yaml";

/// The exit code of `sanity` between two commits, what is on disk being the second, and its report.
fn judged(tree: &Tree) -> Run {
    tree.commit();
    let run = compare(tree, "HEAD~1", "HEAD");
    assert_eq!(run.code(), tree.sanity(&["--base-ref", "HEAD~1"]).code());
    run
}

/// A clone of a tree without the objects that a filter leaves out, and the folder that holds it.
fn partial_clone(tree: &Tree, filter: &str) -> (tempfile::TempDir, String) {
    tree.git(&["config", "uploadpack.allowFilter", "true"]);
    let folder = tempfile::TempDir::new().unwrap();
    let at = folder.path().join("clone").display().to_string();
    let from = format!("file://{}", tree.path().display());
    tree.git(&["clone", "-q", "--bare", &format!("--filter={filter}"), &from, &at]);
    (folder, at)
}

/// `sanity` of the last two commits of a clone.
fn compare_in(clone: &str) -> Run {
    run(&[
        "sanity",
        "--root",
        clone,
        "--base-ref",
        "HEAD~1",
        "--head-ref",
        "HEAD",
        "--format",
        "json",
    ])
}

#[test]
fn a_table_whose_git_object_is_missing_from_the_clone_is_inconclusive() {
    let tree = below_db();
    tree.commit();
    tree.file(TABLE, bad_table());
    tree.commit();
    let (_folder, clone) = partial_clone(&tree, "blob:none");
    let run = compare_in(&clone);
    assert_eq!((run.code(), run.findings()), (3, vec![]), "{}", run.err());
    let absent = run.json()["absent"].to_string();
    assert!(absent.contains(TABLE) && absent.contains(YAML), "{absent}");
    let shown = crate::common::run(&[
        "sanity",
        "--root",
        &clone,
        "--base-ref",
        "HEAD~1",
        "--head-ref",
        "HEAD",
    ]);
    let advice = "Not compared: 1 table (before and after). Their objects are not in this clone; run git fetch \
                  --refetch --no-filter";
    assert!(shown.out().contains(advice), "{}", shown.out());
    let alone = crate::common::run(&["validate", "--root", &clone, "--ref", "HEAD"]);
    assert_eq!(alone.code(), 3, "{}", alone.out());
    assert!(alone.out().contains("not in this clone: run `git fetch"), "{}", alone.out());
}

/// Of small files a clone by size has the objects, of large ones it does not: only one state is there.
#[test]
fn a_base_that_is_missing_from_the_clone_makes_no_finding_inherited() {
    let long: Vec<(u64, f64)> = (1..400).map(|m| (m, 0.5 + m as f64)).collect();
    let (small, large) = (good_table(), gemm(&long));
    for (before, after, code) in
        [(&large, &small, 3), (&small, &large, 3), (&large, &bad_table(), 1)]
    {
        let tree = below_db();
        tree.file(TABLE, before);
        tree.commit();
        tree.file(TABLE, after);
        tree.commit();
        let (_folder, clone) = partial_clone(&tree, "blob:limit=8k");
        let run = compare_in(&clone);
        assert_eq!(run.code(), code, "{:?}", run.findings());
        assert_eq!(run.json()["absent"], serde_json::json!([TABLE]));
    }
}

#[test]
fn facts_that_are_missing_from_the_clone_are_inconclusive() {
    let tree = below_db();
    tree.commit();
    let notes = "# a note\n".repeat(2_000);
    tree.file("db/systems/perf_data_reuse_manifest.yaml", format!("{notes}groups: 3\n"));
    tree.commit();
    assert_eq!(compare(&tree, "HEAD~1", "HEAD").code(), 1);
    let (_folder, clone) = partial_clone(&tree, "blob:limit=8k");
    let run = compare_in(&clone);
    assert_eq!((run.code(), run.findings()), (3, vec![]), "{}", run.err());
}

#[test]
fn a_clone_without_git_trees_is_refused() {
    let tree = below_db();
    tree.commit();
    tree.file(TABLE, bad_table());
    tree.commit();
    let (_folder, clone) = partial_clone(&tree, "tree:0");
    for run in [compare_in(&clone), run(&["validate", "--root", &clone, "--ref", "HEAD"])] {
        assert_refused(&run, "not in this clone");
        assert!(run.err().contains("git fetch --refetch --no-filter"), "{}", run.err());
    }
}

#[test]
fn a_damaged_file_that_changes_and_stays_damaged_is_new() {
    let shipped = crate::common::SHIPPED;
    let parquet = "db/systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet";
    let torn = |end: &str| format!("{}VLLM,0.24.0,{end}", crate::common::GEMM).into_bytes();
    let cases: [(&str, Vec<u8>, Vec<u8>, &str); 5] = [
        (parquet, shipped[..3000].to_vec(), shipped[..2000].to_vec(), "table-unreadable"),
        (TABLE, Vec::new(), b"\0\0".to_vec(), "table-unreadable"),
        (TABLE, torn("a"), torn("b"), "torn-row"),
        (YAML, b"gpu: [\n".to_vec(), b"gpu: {\n".to_vec(), "system-invalid"),
        (
            "db/systems/data/h200_sxm/vllm/0.24.0/reuse.yaml",
            b"[".to_vec(),
            b"{".to_vec(),
            "reuse-invalid",
        ),
    ];
    for (path, before, after, rule) in cases {
        let tree = below_db();
        tree.file(path, before);
        tree.commit();
        tree.file(path, after);
        let run = judged(&tree);
        let is_it =
            |f: &serde_json::Value| f["rule"] == rule && f["path"] == path && f["new"] == true;
        let found = run.json()["findings"].as_array().unwrap().iter().any(is_it);
        assert!(found && run.code() == 1, "{path}: {} {:?}", run.code(), run.findings());
        // Unreadable as it was, it is an existing finding.
        tree.file("db/systems/data/h200_sxm/vllm/0.23.0/gemm_perf.txt", gemm(&[(1, 0.7)]));
        let run = judged(&tree);
        let json = run.json();
        let new = json["findings"].as_array().unwrap().iter().filter(|f| is_it(f));
        assert_eq!(new.count(), 0, "{path}: {:?}", run.findings());
    }
}

#[test]
fn an_lfs_pointer_in_the_base_does_not_excuse_a_bad_table_in_the_head() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:295fbe9dcc8054085cfc8bc35ac46d59574d54f34183fcd5149222b65c4d1802\nsize 690924\n";
    for (after, code) in [(bad_table(), 1), ("damaged\n".into(), 1), (good_table(), 3)] {
        let tree = below_db();
        tree.file(TABLE, pointer);
        tree.commit();
        tree.file(TABLE, after);
        let run = judged(&tree);
        assert_eq!(run.code(), code, "{:?}", run.findings());
        let json = run.json();
        let states: Vec<_> =
            json["findings"].as_array().unwrap().iter().map(|f| &f["state"]).collect();
        assert!(states.iter().all(|state| *state == "new"), "{states:?}");
    }
}
