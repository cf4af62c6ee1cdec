//! `init`: what a repository has after it, and that nothing of its own is touched.

use crate::common::snapshot::redact;
use crate::common::{Run, Tree, gemm, run};
use serde_json::Value;

/// An account that does not exist: nothing is fetched.
const PLACE: &str = "some-one/perfdb-gate";

fn init(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    run(&[&["init", "--root", &root, "--repository", PLACE], args].concat())
}

fn text(tree: &Tree, path: &str) -> String {
    std::fs::read_to_string(tree.path().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn indebted() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6)]));
    tree.commit();
    tree
}

#[test]
fn init_sets_up_a_gate_that_blocks_a_bad_pull_request() {
    let tree = indebted();
    assert_eq!(tree.validate(&[]).code(), 1, "old debt");
    let first = init(&tree, &[]);
    assert_eq!(first.code(), 0, "{}", first.shown());
    insta::assert_snapshot!(redact(&first.out()), @"
    written  .github/workflows/perfdb.yml
    written  .github/workflows/perfdb-nightly.yml
    written  .pre-commit-config.yaml
    written  .perfdb-gate/baseline.json

    The baseline contains 1 finding; `perfdb-gate validate` fails only on new ones.

    The workflows name main of perfdb-gate. A tag or branch can be moved; `--action COMMIT` names a commit instead.

    This perfdb-gate is not that of a release, so the workflows compile it (`build: true`). The first run takes some minutes; later ones find the binary in the cache.

    Next: review the files, `git add` them and open a pull request. `pre-commit install` turns the hook on; its first commit compiles perfdb-gate, which takes some minutes.
    ");
    assert_eq!(tree.validate(&[]).code(), 0, "it is known");
    tree.commit();

    // A second run changes nothing.
    let second = init(&tree, &[]);
    insta::assert_snapshot!(redact(&second.out()), @"
    there    .github/workflows/perfdb.yml
    there    .github/workflows/perfdb-nightly.yml
    there    .pre-commit-config.yaml
    kept     .perfdb-gate/baseline.json

    All files exist already; nothing was written.
    ");
    assert_eq!(tree.git(&["status", "--porcelain"]), "");

    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (0, 0.6), (2, -0.7)]));
    assert_eq!(tree.validate(&[]).code(), 1, "what is new is not");
    assert_eq!(tree.sanity(&["--base-ref", "HEAD"]).code(), 1);
}

#[test]
fn workflows_of_init_fit_the_repository() {
    let tree = indebted();
    let commit = "1111111111111111111111111111111111111111";
    assert_eq!(init(&tree, &["--action", commit, "--comment"]).code(), 0);
    let of = |path: &str| -> Value { serde_yaml::from_str(&text(&tree, path)).unwrap() };
    let sanity = of(".github/workflows/perfdb.yml");
    // A filter, or a condition of the job, would skip a required check and block the pull request.
    assert_eq!(sanity["on"]["pull_request"], serde_json::json!({}));
    assert!(sanity["jobs"]["sanity"]["if"].is_null());
    assert_eq!(sanity["permissions"], serde_json::json!({"contents": "read"}));
    let inputs = sanity["on"]["workflow_call"]["inputs"].as_object().unwrap();
    assert!(inputs.contains_key("base_sha") && inputs.contains_key("expected_sha"));
    let steps = sanity["jobs"]["sanity"]["steps"].as_array().unwrap();
    assert_eq!(steps[1]["uses"], format!("{PLACE}@{commit}"));
    assert_eq!(steps.len(), 2, "without git-LFS nothing is fetched of it");
    assert!(steps[0]["with"]["lfs"].is_null());
    // Without a release there is nothing to download, so that the first run would fail.
    assert_eq!(steps[1]["with"]["build"], true);
    let nightly = of(".github/workflows/perfdb-nightly.yml");
    assert_eq!(nightly["jobs"]["validate"]["steps"][1]["with"]["build"], true);
    assert_eq!(of(".pre-commit-config.yaml")["repos"][0]["rev"], commit);
    let hooks = format!("https://github.com/{PLACE}");
    assert_eq!(of(".pre-commit-config.yaml")["repos"][0]["repo"], hooks);
    let comment = of(".github/workflows/perfdb-comment.yml");
    let step = &comment["jobs"]["post"]["steps"][0]["uses"];
    assert_eq!(*step, format!("{PLACE}/.github/actions/comment@{commit}"));

    let with_lfs = indebted();
    with_lfs.file(".gitattributes", "*.parquet filter=lfs diff=lfs merge=lfs -text\n");
    assert_eq!(init(&with_lfs, &[]).code(), 0);
    let sanity = text(&with_lfs, ".github/workflows/perfdb.yml");
    assert!(sanity.contains("git lfs fetch --all") && sanity.contains("lfs: true"), "{sanity}");
}

/// Whoever holds a named account runs code in the workflows.
#[test]
fn init_refuses_to_guess_the_repository_or_commit_of_the_action() {
    let tree = indebted();
    let root = tree.path().display().to_string();
    let refused = |args: &[&str], said: &str| {
        let run = run(&[&["init", "--root", &root], args].concat());
        assert_eq!(run.code(), 2, "{args:?}: {}", run.shown());
        assert!(run.err().contains(said) && run.err().lines().count() == 2, "{}", run.err());
        assert_eq!(tree.git(&["status", "--porcelain"]), "", "nothing is written");
    };
    if env!("CARGO_PKG_REPOSITORY").contains("OWNER") {
        refused(&[], "--repository OWNER/NAME");
    }
    for name in
        ["", "perfdb-gate", "OWNER/perfdb-gate", "-a/b", "a/..", "a/b/c", "a/b@c", "a b/c", "a/b\n"]
    {
        refused(&[&format!("--repository={name}")], "OWNER/NAME");
    }
    let long = "a".repeat(40);
    for action in ["abc", "", "main", "v1", "1.2", "1.2.3; x", "v1.2.3-", &long[1..], "v1.2.3 "] {
        refused(&["--repository", PLACE, "--action", action], "40 hexadecimal digits");
    }
    // The tag of this version comes with a release; the branch is there.
    let plain = indebted();
    assert_eq!(init(&plain, &[]).code(), 0);
    let nightly = text(&plain, ".github/workflows/perfdb-nightly.yml");
    assert!(nightly.contains(&format!("uses: {PLACE}@main\n")), "{nightly}");
    for (action, revision) in [
        ("1.2.3", "v1.2.3"),
        ("v1.2.3", "v1.2.3"),
        ("v1.2.3-rc.1", "v1.2.3-rc.1"),
        (long.as_str(), long.as_str()),
    ] {
        let tree = indebted();
        assert_eq!(init(&tree, &["--action", action]).code(), 0);
        let nightly = text(&tree, ".github/workflows/perfdb-nightly.yml");
        assert!(nightly.contains(&format!("uses: {PLACE}@{revision}\n")), "{nightly}");
        let hooks = text(&tree, ".pre-commit-config.yaml");
        assert!(hooks.contains(&format!("rev: \"{revision}\"")), "{hooks}");
    }
}

#[test]
fn init_keeps_existing_files() {
    let tree = indebted();
    tree.file(".pre-commit-config.yaml", "repos: []\n");
    tree.file(".github/workflows/perfdb.yml", "name: mine\n");
    let run = init(&tree, &[]);
    assert_eq!(run.code(), 0, "{}", run.shown());
    assert_eq!(text(&tree, ".pre-commit-config.yaml"), "repos: []\n");
    assert_eq!(text(&tree, ".github/workflows/perfdb.yml"), "name: mine\n");
    let said = run.out();
    assert!(
        said.contains(
            ".pre-commit-config.yaml exists already. Add this to it:\n\nrepos:\n- repo: "
        ),
        "{said}"
    );

    // Where it cannot be, nothing is written.
    let elsewhere = Tree::new();
    elsewhere.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let none = init(&elsewhere, &[]);
    assert_eq!(none.code(), 2, "{}", none.shown());
    assert!(!elsewhere.path().join(".github").exists());
}

/// The page and the program show the same files.
#[test]
fn the_page_on_init_shows_the_written_files() {
    let page = std::fs::read_to_string("docs/ci.md").unwrap();
    for (name, head) in [
        ("perfdb.yml", "# .github/workflows/perfdb.yml"),
        ("perfdb-comment.yml", "# .github/workflows/perfdb-comment.yml"),
        ("perfdb-nightly.yml", "# .github/workflows/perfdb-nightly.yml"),
        ("pre-commit-config.yaml", "# .pre-commit-config.yaml"),
    ] {
        let template = std::fs::read_to_string(format!("src/jobs/init/{name}")).unwrap();
        assert!(page.contains(&format!("```yaml\n{head}\n{template}```")), "{name}");
    }
}
