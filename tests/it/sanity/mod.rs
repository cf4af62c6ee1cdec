//! `sanity` as users run it, on small repositories.

mod audit;
mod causes;
mod charts;
mod findings;
mod kinds;
mod lost;
mod moved;
mod outputs;
mod pictures;
mod rows;
mod stages;
mod states;
mod systems;
mod text;

use crate::common::snapshot::shown;
use crate::common::{self, Run, SHIPPED, Tree, gemm, run};
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

/// The report for people on the files on disk.
fn human(tree: &Tree) -> Run {
    run(&["sanity", "--root", &tree.path().display().to_string(), "--base-ref", "main"])
}

/// What the files on disk change.
fn changes(tree: &Tree) -> Vec<String> {
    let run = tree.sanity(&["--base-ref", "main"]);
    assert!(run.code() < 2 && run.err().is_empty(), "{} {}", run.out(), run.err());
    run.diff()
}

#[test]
fn the_comparison_starts_at_the_merge_base() {
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
fn files_with_only_a_new_modification_time_are_not_changed() {
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
fn files_of_a_work_tree_and_of_its_commit_have_the_same_ids() {
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
fn a_bare_repository_needs_two_commits() {
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
    assert_eq!(without.code(), 2);
    insta::assert_snapshot!(without.shown(), @"
    $ perfdb-gate sanity --root [tmp]/db.git --base-ref main --format json
    2> perfdb-gate: [tmp]/db.git is a bare repository and has no work tree
    2> hint: name a commit with --ref (in sanity: --head-ref)
    (exit 2)
    ");
}

#[test]
fn a_missing_commit_leaves_no_output_file() {
    let tree = repository();
    let out = tempfile::TempDir::new().unwrap();
    let at = |name: &str| out.path().join(name).display().to_string();
    let mut runs = Vec::new();
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
        runs.push(run);
    }
    assert_eq!(out.path().read_dir().unwrap().count(), 0);
    let elsewhere = tempfile::TempDir::new().unwrap();
    let folder = elsewhere.path().display().to_string();
    runs.push(run(&["sanity", "--root", &folder, "--base-ref", "main"]));
    assert_eq!(runs[2].code(), 2);
    insta::assert_snapshot!(shown(&runs), @"
    $ perfdb-gate sanity --root [tmp] --format json --base-ref mian --head-ref main --output [tmp]/report.json --output-md-file [tmp]/comment.md --detail-dir [tmp]/details
    2> perfdb-gate: mian does not name a commit
    2> hint: did you mean main? known: main
    (exit 2)

    $ perfdb-gate sanity --root [tmp] --format json --base-ref main --head-ref mian --output [tmp]/report.json --output-md-file [tmp]/comment.md --detail-dir [tmp]/details
    2> perfdb-gate: mian does not name a commit
    2> hint: did you mean main? known: main
    (exit 2)

    $ perfdb-gate sanity --root [tmp] --base-ref main
    2> perfdb-gate: [tmp] is not in a git repository
    2> hint: changes are found by comparison with a commit, so a git repository is needed
    (exit 2)
    ");
}

#[test]
fn a_comparison_of_nothing_never_passes() {
    let tree = repository();
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.diff()), (3, vec![]));
    // What no rule and no loader reads is told, and settles nothing.
    tree.file("systems/data/h200_sxm/vllm/README.md", "notes");
    tree.file("docs/guide.md", "not of the database");
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), run.diff()), (3, vec!["added vllm/README.md".to_owned()]));
    insta::assert_snapshot!(human(&tree).shown(), @"
    $ perfdb-gate sanity --root [tmp] --base-ref main
    added     systems/data/h200_sxm/vllm/README.md
    No table changed: other files: 1 added

    nothing was compared: 0 new errors, 0 new warnings, 0 new infos; other files: 1 added; compared in [seconds] s
    (exit 3)
    ");
}

#[test]
fn changed_sidecars_and_systems_are_listed_separately_from_tables() {
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
fn adding_the_first_and_deleting_the_last_table_is_a_change() {
    let tree = Tree::new();
    tree.remove("systems/h200_sxm.yaml");
    tree.file("README.md", "no data yet");
    tree.commit();
    let none = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(none.code(), 2);
    insta::assert_snapshot!(none.shown(), @"
    $ perfdb-gate sanity --root [tmp] --format json --base-ref main
    2> perfdb-gate: no perf database found
    2> hint: --root takes a repository or folder that contains systems/<system>.yaml and the data
    (exit 2)
    ");
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
fn the_comparison_is_the_same_for_any_number_of_threads() {
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
