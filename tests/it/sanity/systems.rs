//! A system's YAML that changes, while its tables stay what they are.

use crate::common::{self, Tree, gemm};

const YAML: &str = "systems/h200_sxm.yaml";

/// A committed tree of a table in which keys repeat and a point is slow, and its system's YAML.
fn tree() -> (Tree, String) {
    let tree = Tree::new();
    let smooth = (1..40).map(|m| (m * 8, 1e-4 + m as f64 * 1e-6));
    let slow = (164, 9e-4);
    let repeated = [(8, 1.1e-4), (16, 1.2e-4), (16, 2e-4)];
    let rows: Vec<(u64, f64)> = smooth.chain([slow]).chain(repeated).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows));
    tree.commit();
    (tree, common::H200.replace("../data/", "data/"))
}

/// What a state of the files brings and repairs: `state rule`.
fn news(tree: &Tree) -> Vec<String> {
    let run = tree.sanity(&["--base-ref", "main"]);
    let json = run.json();
    let all = |name: &str, state: &dyn Fn(&serde_json::Value) -> String| -> Vec<String> {
        let found = json[name].as_array().unwrap_or_else(|| panic!("{}", run.err()));
        let word = |f: &serde_json::Value| format!("{} {}", state(f), f["rule"].as_str().unwrap());
        found.iter().map(word).collect()
    };
    let mut found = all("findings", &|f| f["state"].as_str().unwrap().to_owned());
    found.extend(all("repaired", &|_| "repaired".to_owned()));
    found
}

/// What a state of the files brings and repairs but of the YAML itself.
fn of_rows(tree: &Tree) -> Vec<String> {
    news(tree).into_iter().filter(|found| !found.contains(" system-")).collect()
}

#[test]
fn a_comment_added_to_a_system_s_yaml_adds_no_finding() {
    let (tree, yaml) = tree();
    tree.file(YAML, format!("# a comment\n{yaml}"));
    assert_eq!(news(&tree), [""; 0]);
}

/// What no rule reads that judges a row leaves all rows what they were.
#[test]
fn a_changed_figure_that_no_rule_reads_adds_no_finding() {
    let (tree, yaml) = tree();
    let changed = yaml.replace("p2p_latency: 0.00001", "p2p_latency: 0.00002");
    assert_ne!(changed, yaml);
    tree.file(YAML, changed);
    assert_eq!(news(&tree), [""; 0]);
}

#[test]
fn a_changed_figure_judges_rows_again_by_the_rules_that_read_it() {
    let (tree, yaml) = tree();
    let changed = yaml.replace("bfloat16_tc_flops: 989", "bfloat16_tc_flops: 9");
    assert_ne!(changed, yaml);
    tree.file(YAML, changed);
    assert_eq!(of_rows(&tree), ["new below-speed-of-light"]);
    // What a figure brings, another one repairs.
    tree.commit();
    tree.file(YAML, yaml);
    assert_eq!(of_rows(&tree), ["repaired below-speed-of-light"]);
}

/// One row is below the arithmetic's bound, which is certain; another is below that of the memory, which a cache
/// may explain. The first decides how bad the finding is, the second is reported beside it.
#[test]
fn a_changed_figure_does_not_make_existing_rows_of_an_error_new() {
    let (tree, yaml) = tree();
    let smooth = (1..40).map(|m| (m * 8, 1e-4 + m as f64 * 1e-6));
    let rows: Vec<(u64, f64)> = smooth.chain([(400, 1e-7)]).collect();
    // At the memory's bandwidth the weights of the first take 0.056 ms, those of the second 0.028 ms.
    let large = |k| format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,8,8192,{k},0.05\n");
    tree.gemm("gemm_perf.txt", gemm(&rows) + &large(16384) + &large(8192));
    tree.commit();
    let judged = tree.validate(&["--only", "below-speed-of-light", "--format", "json"]).json();
    let told = &judged["findings"][0]["evidence"]["bounds"];
    assert_eq!((&told["math"]["rows"], &told["memory"]["rows"]), (&1.into(), &1.into()));
    assert_eq!(judged["findings"][0]["severity"], "error");
    tree.file(YAML, yaml.replace("mem_bw: 4800000000000", "mem_bw: 4700000000000"));
    assert_eq!(of_rows(&tree), [""; 0]);
    // The second is slower than that until the bandwidth is a quarter.
    tree.file(YAML, yaml.replace("mem_bw: 4800000000000", "mem_bw: 1200000000000"));
    assert_eq!(of_rows(&tree), ["new below-speed-of-light"]);
}

/// Systems that the rules do not know lose their generation with their YAML, so that other tables are
/// their references.
#[test]
fn tables_of_a_system_whose_yaml_becomes_invalid_are_still_compared() {
    let tree = Tree::new();
    let yaml = common::H200.replace("data_dir: ../data/h200_sxm\n", "");
    for (system, generation, rows) in [("a", "one", 400), ("b", "two", 400), ("c", "two", 200)] {
        let own = yaml.replace("generation: hopper", &format!("generation: {generation}"));
        tree.file(&format!("systems/{system}.yaml"), format!("data_dir: data/{system}\n{own}"));
        let rows: Vec<(u64, f64)> = (1..rows).map(|m| (m, 0.5 + m as f64 / 100.0)).collect();
        let path = format!("systems/data/{system}/gemm/vllm/0.24.0/gemm_perf.txt");
        tree.file(&path, gemm(&rows));
    }
    tree.commit();
    tree.file("systems/c.yaml", "data_dir: data/c\ngpu: {\n");
    let found = news(&tree);
    assert!(found.contains(&"new system-invalid".to_owned()), "{found:?}");
}
