//! Slices apart from their siblings: which side is told. Synthetic rows.

use crate::common::Tree;

/// A gemm table of one backend, its latencies multiplied, of kernels that a collector names.
fn level(tree: &Tree, place: [&str; 3], factor: f64, kernel: &str) {
    let [system, backend, version] = place;
    let row = |m: u64| {
        // No two tables have the same figures.
        let latency = factor * (0.05 + m as f64 * 0.005) * (1.0 + version.len() as f64 / 1e4);
        format!("gemm,{kernel},fp8_block,{m},128,128,{latency}\n")
    };
    let rows = "op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned()
        + &(1..=40).map(row).collect::<String>();
    tree.file(&format!("systems/data/{system}/gemm/{backend}/{version}/gemm_perf.txt"), rows);
}

/// The severity of each table's sibling-deviation, by backend and version.
fn deviations(tree: &Tree) -> Vec<String> {
    let run = tree.validate(&["--only", "sibling-deviation", "--format", "json"]);
    let json = run.json();
    let text = |f: &serde_json::Value, name: &str| f[name].as_str().unwrap().to_owned();
    let findings = json["findings"].as_array().expect("findings");
    findings
        .iter()
        .map(|f| format!("{} {} {}", text(f, "severity"), text(f, "backend"), text(f, "version")))
        .collect()
}

#[test]
fn the_backend_apart_from_all_others_is_the_culprit_and_a_fast_one_is_not() {
    let tree = Tree::new();
    level(&tree, ["h200_sxm", "sglang", "0.5.14"], 1.0, "default");
    level(&tree, ["h200_sxm", "trtllm", "1.3.0"], 0.9, "default");
    // Its own versions agree with each other.
    level(&tree, ["h200_sxm", "vllm", "0.22.0"], 9.9, "default");
    level(&tree, ["h200_sxm", "vllm", "0.24.00"], 10.0, "default");
    assert_eq!(deviations(&tree), ["warning vllm 0.22.0", "warning vllm 0.24.00"]);
    let fast = Tree::new();
    level(&fast, ["h200_sxm", "sglang", "0.5.14"], 1.0, "default");
    level(&fast, ["h200_sxm", "trtllm", "1.3.0"], 10.0, "default");
    level(&fast, ["h200_sxm", "vllm", "0.24.00"], 9.0, "default");
    assert_eq!(deviations(&fast), ["info sglang 0.5.14"]);
}

#[test]
fn a_table_that_was_repaired_is_no_culprit() {
    let tree = Tree::new();
    level(&tree, ["h200_sxm", "trtllm", "1.3.0"], 1.0, "default");
    level(&tree, ["h200_sxm", "sglang", "0.5.10"], 4.2, "default");
    level(&tree, ["h200_sxm", "sglang", "0.5.12.0"], 4.0, "default");
    level(&tree, ["h200_sxm", "sglang", "0.5.14"], 1.5, "default");
    let found = deviations(&tree);
    assert!(!found.iter().any(|f| f.ends_with("0.5.14") && f.starts_with("warning")), "{found:?}");
}

#[test]
fn versions_with_another_kernel_explain_a_level() {
    let of = |kernels: [&str; 2]| {
        let tree = Tree::new();
        level(&tree, ["h200_sxm", "trtllm", "1.3.0"], 1.0, "default");
        level(&tree, ["h200_sxm", "vllm", "0.22.0"], 1.4, kernels[0]);
        level(&tree, ["h200_sxm", "vllm", "0.24.00"], 4.0, kernels[1]);
        deviations(&tree)
    };
    assert_eq!(of(["fused", "fused"]), ["warning vllm 0.24.00"]);
    assert_eq!(of(["fused", "cutlass"]), ["info vllm 0.24.00"]);
    assert_eq!(of(["vllm_default", "cutlass"]), ["warning vllm 0.24.00"], "no kernel is named");
}

#[test]
fn backends_that_name_kernels_of_other_families_are_not_compared() {
    let of = |kernel: &str| {
        let tree = Tree::new();
        level(&tree, ["h200_sxm", "sglang", "0.5.14"], 1.0, "sglang_deepgemm_nt");
        level(&tree, ["h200_sxm", "trtllm", "1.3.0"], 0.9, "deepgemm");
        level(&tree, ["h200_sxm", "vllm", "0.24.00"], 10.0, kernel);
        deviations(&tree)
    };
    assert_eq!(of("vllm_DeepGemm"), ["warning vllm 0.24.00"]);
    assert_eq!(of("vllm_triton"), [] as [&str; 0]);
    assert_eq!(of("own"), ["warning vllm 0.24.00"], "of no family that is known");
}
