//! The versions that a query can ask for; synthetic rows.

use crate::common::{Run, Tree, gemm, run};

/// A tree with tables of GEMM in some versions of vLLM.
fn tree(versions: &[&str]) -> Tree {
    let tree = Tree::new();
    versions.iter().for_each(|version| add(&tree, version));
    tree
}

fn add(tree: &Tree, version: &str) {
    let rows = gemm(&[(1, 0.5), (2, 0.6), (4, 0.8)]).replace("0.24.0", version);
    tree.file(&format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt"), rows);
}

fn versions(run: &Run) -> String {
    let text = run.out();
    let lines = text.lines().filter(|line| line.starts_with("Versions "));
    lines.collect::<Vec<_>>().join("\n")
}

const SLOTS: &str = "defaults:\n  vllm: {current: 0.23.0, previous: null}\n";

#[test]
fn versions_new_to_select_are_those_that_a_query_can_name() {
    let tree = tree(&["0.22.0", "0.23.0"]);
    tree.commit();
    add(&tree, "0.21.0");
    let root = tree.path().display().to_string();
    let sanity = || run(&["sanity", "--root", &root, "--base-ref", "HEAD"]);
    assert_eq!(versions(&sanity()), "Versions new to select: h200_sxm vllm 0.21.0");
    tree.remove("systems/data/h200_sxm/vllm/0.21.0/gemm_perf.txt");
    tree.file("systems/query_versions.yaml", SLOTS);
    tree.commit();
    add(&tree, "0.21.0");
    assert_eq!(versions(&sanity()), "", "an older version only fills gaps");
    add(&tree, "0.25.0");
    assert_eq!(versions(&sanity()), "Versions new to select: h200_sxm vllm 0.25.0");
    add(&tree, "0.24.0");
    tree.file("systems/data/h200_sxm/vllm/0.25.0/INCOMPLETE.txt", "");
    assert_eq!(versions(&sanity()), "Versions new to select: h200_sxm vllm 0.24.0");
    tree.remove("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt");
    tree.file("systems/data/h200_sxm/comm/nccl/2.30.7/nccl_perf.txt", "framework,latency\n");
    assert_eq!(versions(&sanity()), "", "a library is not selected");
}

#[test]
fn a_version_hidden_by_the_change_is_not_the_current_version() {
    let tree = tree(&["0.22.0", "0.23.0"]);
    tree.commit();
    add(&tree, "0.24.0");
    tree.file("systems/data/h200_sxm/vllm/0.24.0/INCOMPLETE.txt", "");
    let errors = |run: Run| -> Vec<String> {
        run.findings().into_iter().filter(|finding| finding.contains(" error ")).collect()
    };
    let keys = gemm(&[(1, 0.5), (2, 0.6)]).replace("0.24.0", "0.23.0");
    tree.file("systems/data/h200_sxm/vllm/0.23.0/gemm_perf.txt", keys);
    let sanity = || tree.sanity(&["--base-ref", "HEAD", "--only", "no-longer-served"]);
    let hidden = errors(sanity());
    tree.remove("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt");
    tree.remove("systems/data/h200_sxm/vllm/0.24.0/INCOMPLETE.txt");
    assert_eq!(hidden, errors(sanity()), "as without the hidden version");
}
