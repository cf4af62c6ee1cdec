//! Small inputs that once took minutes or gigabytes: each is refused or judged, and a run that is
//! quadratic again would not come to its end.

use super::*;

/// A repository with one commit of a good table.
fn repository() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    tree.commit();
    tree
}

/// Seven trees of ten entries, each the one before: ten million files.
#[test]
fn git_trees_that_multiply_end_at_the_file_limit() {
    let tree = repository();
    let blob = tree.git(&["rev-parse", "HEAD:systems/h200_sxm.yaml"]);
    let mut entry = format!("100644 blob {blob}");
    for _ in 0..7 {
        let ten: String = (0..10).map(|i| format!("{entry}\tf{i}\n")).collect();
        entry = format!("040000 tree {}", mktree(&tree, &ten));
    }
    commit_tree(&tree, &format!("{entry}\tsystems\n"), "bomb");
    let runs = [
        tree.validate(&["--ref", "bomb"]),
        tree.sanity(&["--base-ref", "HEAD", "--head-ref", "bomb"]),
    ];
    for run in runs {
        assert_refused(&run, "more than 1000000 files");
    }
    // The same where rules and waivers are.
    commit_tree(&tree, &format!("{entry}\t.perfdb-gate\n"), "rules");
    assert_refused(&tree.validate(&["--ref", "rules"]), "more than 1000000 files");
}

/// A chain of trees makes a path that no stack and no file system holds.
#[test]
fn a_deep_chain_of_git_trees_ends_at_the_path_limit() {
    let tree = repository();
    let mut entry = format!("040000 tree {}", mktree(&tree, ""));
    // What git itself would take minutes to make: one tree object for each folder.
    let objects = tree.path().join(".git");
    let repo = git2::Repository::open(objects).unwrap();
    let mut id = repo.treebuilder(None).unwrap().write().unwrap();
    for _ in 0..30_000 {
        let mut builder = repo.treebuilder(None).unwrap();
        builder.insert("d", id, 0o040_000).unwrap();
        id = builder.write().unwrap();
    }
    entry.replace_range(.., &format!("040000 tree {id}"));
    commit_tree(&tree, &format!("{entry}\tsystems\n"), "chain");
    let run = tree.validate(&["--ref", "chain"]);
    assert_refused(&run, "longer than 4096 bytes");
}

/// One table under many versions is one finding, on one of them, with the others in it.
#[test]
fn a_group_of_copies_is_one_finding() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> =
        (1..60).map(|m| (m, 0.005_137 + (m * m) as f64 * 0.000_137)).collect();
    for version in 0..80 {
        tree.file(&format!("systems/data/h200_sxm/vllm/0.{version}.1/gemm_perf.txt"), gemm(&rows));
    }
    // One that is like them, multiplied by a constant, and one that is not.
    let scaled: Vec<(u64, f64)> = rows.iter().map(|(m, l)| (*m, l * 1.5)).collect();
    tree.file("systems/data/h200_sxm/vllm/0.90.1/gemm_perf.txt", gemm(&scaled));
    let other: Vec<(u64, f64)> =
        rows.iter().map(|(m, l)| (*m, l * (1.0 + (m % 7) as f64 * 0.01))).collect();
    tree.file("systems/data/h200_sxm/vllm/0.91.1/gemm_perf.txt", gemm(&other));
    let run = validate(&tree, &["--only", "copied-table"]);
    let finding = run.finding("copied-table");
    assert_eq!((run.code(), &finding["evidence"]["tables"]), (1, &81.into()), "{finding}");
    assert_eq!(finding["evidence"]["more"].as_array().unwrap().len(), 79);
    assert!(finding["message"].as_str().unwrap().contains("and 74 more"), "{finding}");

    // Of two only, as before: the pair.
    let pair = Tree::new();
    for version in ["0.1.1", "0.2.1"] {
        pair.file(&format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt"), gemm(&rows));
    }
    let finding = validate(&pair, &["--only", "copied-table"]).finding("copied-table");
    assert_eq!((finding["rows"].as_u64(), finding["evidence"].get("more")), (Some(59), None));
}

#[test]
fn folders_without_yaml_are_processed_in_linear_time() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    for i in 0..4_000 {
        tree.file(&format!("systems/data/s{i}/vllm/0.24.0/gemm_perf.txt"), good_table());
    }
    let run = validate(&tree, &[]);
    assert_eq!(run.code(), 1, "{}", run.err());
    let findings = run.findings();
    assert_eq!(findings.iter().filter(|f| f.starts_with("system-invalid")).count(), 4_000);
}

/// Code scanning refuses a file with too many results, and would show nothing of it.
#[test]
fn sarif_lists_the_worst_findings_and_states_the_total() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    for i in 0..5_100 {
        tree.file(&format!("systems/data/h200_sxm/a{i}_perf.txt"), "");
    }
    tree.gemm("zzz_perf.Parquet", "");
    let run = tree.validate(&["--format", "sarif"]);
    let sarif = run.json();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!((run.code(), results.len()), (1, 5_000));
    assert_eq!(sarif["runs"][0]["properties"]["findings"], 5_101);
    let note = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    let text = note["message"]["text"].as_str().unwrap();
    assert!(text.contains("5,000") && text.contains("5,101"), "{note}");
}
