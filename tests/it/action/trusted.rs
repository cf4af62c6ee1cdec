//! A push to `pull-request/N`, where a bot copies the approved commits of a pull request.

use std::path::Path;

use super::{Action, act};
use crate::common::{Tree, gemm};
use serde_json::Value;

/// A repository whose `main` moved on after a pull request of two commits left it. The first commit adds an error, the
/// second a row without one. Returns the commits.
fn pull_request() -> (Tree, [String; 2]) {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.commit();
    tree.git(&["checkout", "-qb", "pull-request/17"]);
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, -0.7)]));
    let first = tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, -0.7), (4, 0.7)]));
    let second = tree.commit();
    tree.git(&["checkout", "-q", "main"]);
    tree.file("README", "main moves on");
    tree.commit();
    tree.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    tree.git(&["checkout", "-q", "pull-request/17"]);
    (tree, [first, second])
}

/// A push of the whole branch or of its last commit, as the event describes it.
fn push(tree: &Tree, before: &str, inputs: &[(&str, &str)]) -> Action {
    let event = [
        ("github.ref", "refs/heads/pull-request/17"),
        ("github.event.before", before),
        ("github.event.repository.default_branch", "main"),
    ];
    act(tree, &[&[("job", "sanity")], inputs].concat(), &event)
}

fn stages(run: &Action) -> Value {
    let path = run.outputs.get("stages").unwrap_or_else(|| panic!("no stages: {}", run.log));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_push_is_compared_as_the_whole_pull_request() {
    let (tree, [first, second]) = pull_request();
    let zeros = "0".repeat(40);
    let merge_base = tree.git(&["merge-base", "origin/main", "HEAD"]);
    // The first push has no commit before it. Compared with the first commit, the second one has no error.
    for before in [zeros.as_str(), first.as_str()] {
        let run = push(&tree, before, &[]);
        assert_eq!((run.code, run.outputs["errors"].as_str()), (1, "1"), "{}", run.log);
        assert_eq!(run.outputs["verdict"], "failed");
        assert_eq!(stages(&run)["base"], merge_base.as_str());
        let folder = Path::new(&run.outputs["folder"]);
        assert_eq!(std::fs::read_to_string(folder.join("pull-request")).unwrap(), "17\n");
        assert!(run.summary.starts_with("<!-- perfdb-gate -->"), "the comment: {}", run.summary);
    }
    let last = push(&tree, &zeros, &[("base-ref", &first), ("head-ref", &second)]);
    assert_eq!(last.code, 0, "a base that is named counts: {}", last.log);
    assert_eq!(stages(&last)["head"], second.as_str());
}

#[test]
fn an_unexpected_commit_is_not_judged() {
    let (tree, [first, second]) = pull_request();
    assert_eq!(push(&tree, "", &[("expected-sha", &second)]).code, 1, "judged");
    let other = "1".repeat(40);
    for expected in [first.as_str(), &other, "--all"] {
        let run = push(&tree, "", &[("expected-sha", expected)]);
        assert_eq!(run.code, 2, "{}", run.log);
        assert!(run.log.contains("::error") && !run.outputs.contains_key("verdict"), "{}", run.log);
    }
    // Without the name of the default branch nobody knows what to compare with.
    let event = [("github.ref", "refs/heads/pull-request/17"), ("github.event.before", &*first)];
    assert_eq!(act(&tree, &[("job", "sanity")], &event).code, 2);
    // A branch of another name is compared with what was there before.
    let event = [("github.ref", "refs/heads/pull-request/x"), ("github.event.before", &*first)];
    assert_eq!(act(&tree, &[("job", "sanity")], &event).code, 0);
}

#[test]
fn a_required_check_passes_without_data_and_fails_if_data_cannot_be_compared() {
    let (tree, _) = pull_request();
    tree.git(&["checkout", "-qb", "pull-request/18", "origin/main"]);
    tree.file("README", "words");
    tree.commit();
    let unrelated = push(&tree, "", &[("inconclusive", "unrelated")]);
    assert_eq!(unrelated.code, 0, "{}", unrelated.log);
    assert_eq!(unrelated.outputs["verdict"], "inconclusive");
    let document = stages(&unrelated);
    for stage in document["stages"].as_array().unwrap() {
        assert_eq!(stage["status"], "NOT APPLICABLE", "{stage}");
    }
    assert_eq!(push(&tree, "", &[]).code, 3);

    tree.file(".gitattributes", "*.parquet filter=lfs diff=lfs merge=lfs -text\n");
    let oid = "a".repeat(64);
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 9\n");
    let family = "systems/data/h200_sxm/gemm/vllm/0.24.0";
    tree.file(&format!("{family}/gemm_perf.parquet"), pointer);
    tree.git(&["-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false", "add", "-A"]);
    tree.git(&["-c", "filter.lfs.required=false", "commit", "-qm", "synthetic"]);
    let absent = push(&tree, "", &[("inconclusive", "unrelated"), ("head-ref", "HEAD")]);
    assert_ne!(absent.code, 0, "{}", absent.log);
}
