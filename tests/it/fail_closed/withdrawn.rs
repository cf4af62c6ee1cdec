//! What the base branch has withdrawn counts for no branch that was cut before.

use super::*;

const WAIVER: &str = "waivers:\n- {rule: key-out-of-range, path: '**', reason: r, evidence: e, \
                      approved_by: a, until: 2999-01-01}\n";

/// A branch `more` with a row that is an error, cut while `main` waived it. `main` waives it no longer, and
/// has a table that the branch does not.
fn withdrawn() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    tree.file(".perfdb-gate/waivers.yaml", WAIVER);
    tree.commit();
    tree.git(&["branch", "-M", "main"]);
    tree.git(&["checkout", "-qb", "more"]);
    tree.gemm("gemm_perf.txt", bad_table());
    tree.commit();
    tree.git(&["checkout", "-q", "main"]);
    tree.remove(".perfdb-gate/waivers.yaml");
    tree.file("systems/data/h200_sxm/vllm/0.25.0/gemm_perf.txt", good_table());
    tree.commit();
    tree.git(&["checkout", "-q", "more"]);
    tree
}

#[test]
fn waivers_are_read_from_the_latest_commit_of_the_base_branch() {
    let tree = withdrawn();
    let runs = [
        tree.sanity(&["--base-ref", "main"]),
        compare(&tree, "main", "more"),
        validate(&tree, &["--since", "main"]),
        validate(&tree, &["--since", "main", "--ref", "more"]),
    ];
    for run in &runs {
        let finding = run.finding("key-out-of-range");
        assert_eq!((run.code(), finding["waived_by"].as_str()), (1, None), "{finding}");
    }
    // The comparison still begins where the branch was cut: it takes no table away.
    assert_eq!(runs[0].diff(), ["modified vllm/0.24.0/gemm_perf.txt +1 -0 ~0"]);
    // One that the base has given since counts.
    tree.git(&["checkout", "-q", "main"]);
    tree.file(".perfdb-gate/waivers.yaml", WAIVER);
    tree.commit();
    assert_eq!(compare(&tree, "main", "more").code(), 0);
    assert_eq!(compare(&tree, "main~1", "more").code(), 1);
}
