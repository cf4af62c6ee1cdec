//! The first runs of the workflow that `init` writes, by its own inputs: green, red by a bad row, green by a waiver.

use super::{Action, act};
use crate::common::{BINARY, Run, Tree, command, gemm};
use serde_json::Value;

fn run(tree: &Tree, args: &[&str]) -> Run {
    Run::of(command().args(args).current_dir(tree.path())).unwrap()
}

/// Runs the step of the workflow in the tree, for a pull request into `main`.
fn pull_request(tree: &Tree) -> Action {
    let path = tree.path().join(".github/workflows/perfdb.yml");
    let workflow: Value = serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let steps = workflow["jobs"]["sanity"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| !step["with"]["job"].is_null()).unwrap();
    let inputs: Vec<(&str, String)> = step["with"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // Inputs of a workflow that nobody calls are empty.
            (name.as_str(), if text.contains("${{") { String::new() } else { text })
        })
        .collect();
    let inputs: Vec<(&str, &str)> = inputs.iter().map(|(name, text)| (*name, &**text)).collect();
    assert!(inputs.contains(&("build", "true")), "{inputs:?}");
    let event = [
        ("github.base_ref", "main"),
        ("github.ref", "refs/pull/1/merge"),
        ("github.event.pull_request.number", "1"),
    ];
    act(tree, &[&inputs[..], &[("binary", BINARY)]].concat(), &event)
}

/// Commits everything as the state of `main` on the site.
fn merge(tree: &Tree) {
    tree.commit();
    tree.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
}

#[test]
fn the_workflow_of_init_passes_then_fails_on_an_error_and_passes_with_a_waiver() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    merge(&tree);
    // The pull request that sets it up changes settings and no table.
    assert_eq!(run(&tree, &["init", "--repository", "some-one/perfdb-gate"]).code(), 0);
    tree.commit();
    let first = pull_request(&tree);
    assert_eq!((first.code, first.outputs["verdict"].as_str()), (0, "passed"), "{}", first.log);
    merge(&tree);

    tree.file("NOTES.md", "words");
    tree.commit();
    let words = pull_request(&tree);
    assert_eq!(words.code, 0, "no data is unrelated: {}", words.log);

    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (4, 0.7), (0, 0.8)]));
    tree.commit();
    let bad = pull_request(&tree);
    assert_eq!((bad.code, bad.outputs["errors"].as_str()), (1, "1"), "{}", bad.log);

    // The waiver is merged before the data that it is for.
    let list = run(&tree, &["waive"]).out();
    let print = list.lines().find(|l| l.contains("key-out-of-range")).unwrap();
    let print = print.split(' ').next().unwrap();
    let args = ["waive", print, "--reason", "a probe", "--approved-by", "me"];
    assert_eq!(run(&tree, &args).code(), 0);
    assert_eq!(pull_request(&tree).code, 1, "a pull request cannot waive its own finding");
    let data = tree.git(&["rev-parse", "HEAD"]);
    tree.git(&["checkout", "-q", "origin/main"]);
    merge(&tree);
    tree.git(&["merge", "-q", "--no-edit", &data]);
    let waived = pull_request(&tree);
    assert_eq!((waived.code, waived.outputs["verdict"].as_str()), (0, "passed"), "{}", waived.log);
    assert!(waived.log.contains("1 waived"), "{}", waived.log);
}
