//! Trees that were built to get past the gate, or to take its machine down: no table passes unread, and
//! no input takes minutes or gigabytes.

mod absent;
mod bombs;
mod deleted;
mod lfs;
#[cfg(unix)]
mod links;
mod outputs;
mod repositories;
mod steady;
mod unread;
mod withdrawn;

use crate::common::{H200, Run, Tree, gemm, run};

/// A table with a row that is an error: `m` is 0.
fn bad_table() -> String {
    gemm(&[(1, 0.5), (2, 0.6), (0, 0.7)])
}

/// A table without fault.
fn good_table() -> String {
    gemm(&[(1, 0.5), (2, 0.6)])
}

/// The YAML of a machine like the H200 whose data is in `data_dir`.
fn yaml(data_dir: &str) -> String {
    H200.replace("../data/h200_sxm", data_dir)
}

/// A tree whose database is below the folder `db`.
fn below_db() -> Tree {
    let tree = Tree::new();
    std::fs::remove_dir_all(tree.path().join("systems")).unwrap();
    tree.file("db/systems/h200_sxm.yaml", yaml("data/h200_sxm"));
    tree.file("db/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt", good_table());
    tree
}

/// Runs `validate` in JSON.
fn validate(tree: &Tree, args: &[&str]) -> Run {
    tree.validate(&[&["--format", "json"], args].concat())
}

/// Commits a tree made of entries as `git mktree` reads them, and names it `branch`.
fn commit_tree(tree: &Tree, entries: &str, branch: &str) {
    let id = mktree(tree, entries);
    let commit = tree.git(&["commit-tree", "-m", "synthetic", "-p", "HEAD", &id]);
    tree.git(&["update-ref", &format!("refs/heads/{branch}"), &commit]);
}

/// The id of a tree of entries as `git mktree` reads them.
fn mktree(tree: &Tree, entries: &str) -> String {
    let file = tree.file(".git/entries", entries);
    let out = std::process::Command::new("git")
        .arg("mktree")
        .current_dir(tree.path())
        .stdin(std::fs::File::open(file).unwrap())
        .output()
        .expect("git");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// `sanity` of two commits of a tree.
fn compare(tree: &Tree, base: &str, head: &str) -> Run {
    tree.sanity(&["--base-ref", base, "--head-ref", head])
}

/// An exit 2 in two lines, the second a hint.
fn assert_refused(run: &Run, why: &str) {
    assert_eq!((run.code(), run.out().as_str()), (2, ""), "{}", run.err());
    let said = run.err();
    assert!(said.contains(why) && said.contains("\nhint: "), "{why}: {said}");
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[test]
fn the_test_databases_pass_and_fail_only_with_a_bad_table() {
    let tree = below_db();
    assert_eq!(validate(&tree, &[]).code(), 0);
    tree.commit();
    assert_eq!(validate(&tree, &["--ref", "HEAD"]).code(), 0);
    tree.file("db/systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt", bad_table());
    assert_eq!(tree.sanity(&["--base-ref", "HEAD"]).code(), 1);
    assert_eq!(run(&["--version"]).code(), 0);
}
