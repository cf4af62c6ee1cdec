//! Slices that are slow beside their siblings. Synthetic rows.

use crate::common::Tree;

/// A gemm table with its latencies multiplied, of a kernel that a collector names. Its rows name the directory's version up
/// to a `+`.
fn level(tree: &Tree, place: [&str; 3], factor: f64, kernel: &str) {
    let [system, backend, version] = place;
    let released = version.split('+').next().unwrap();
    let row = |m: u64| {
        // No two tables have the same figures.
        let own = 1.0 + (7 * system.len() + version.len()) as f64 / 1e4;
        let latency = factor * (0.05 + m as f64 * 0.005) * own;
        format!("{released},gemm,{kernel},fp8_block,{m},128,128,{latency}\n")
    };
    let rows = "version,op_name,kernel_source,gemm_dtype,m,n,k,latency\n".to_owned()
        + &(1..=40).map(row).collect::<String>();
    tree.file(&format!("systems/data/{system}/gemm/{backend}/{version}/gemm_perf.txt"), rows);
}

/// Two other backends and another version on a system.
fn references(tree: &Tree, system: &str) {
    level(tree, [system, "sglang", "0.5.14"], 1.0, "default");
    level(tree, [system, "trtllm", "1.3.0"], 0.9, "default");
    level(tree, [system, "vllm", "0.22.0"], 1.0, "default");
}

/// The severity of each table's sibling-deviation, by system, backend and version.
fn deviations(tree: &Tree) -> Vec<String> {
    let run = tree.validate(&["--only", "sibling-deviation", "--format", "json"]);
    let json = run.json();
    let text = |f: &serde_json::Value, name: &str| f[name].as_str().unwrap().to_owned();
    let parts = ["severity", "system", "backend", "version"];
    let said = |f| parts.map(|name| text(f, name)).join(" ");
    json["findings"].as_array().expect("findings").iter().map(said).collect()
}

const NOTHING: [&str; 0] = [];

#[test]
fn a_slow_level_needs_most_of_three_references_to_be_faster() {
    let of = |factor: f64| {
        let tree = Tree::new();
        references(&tree, "h200_sxm");
        level(&tree, ["h200_sxm", "vllm", "0.24.0"], factor, "default");
        deviations(&tree)
    };
    assert_eq!(of(10.0), ["warning h200_sxm vllm 0.24.0"]);
    assert_eq!(of(3.0), NOTHING, "slow beside its other version only");
    assert_eq!(of(0.1), NOTHING, "a fast slice is not blamed, nor are those beside it");
    let two = Tree::new();
    level(&two, ["h200_sxm", "sglang", "0.5.14"], 1.0, "default");
    level(&two, ["h200_sxm", "trtllm", "1.3.0"], 0.9, "default");
    level(&two, ["h200_sxm", "vllm", "0.24.0"], 10.0, "default");
    assert_eq!(deviations(&two), NOTHING);
}

#[test]
fn a_folder_whose_rows_name_the_same_version_is_not_a_reference() {
    let tree = Tree::new();
    level(&tree, ["h200_sxm", "sglang", "0.5.14"], 1.0, "default");
    level(&tree, ["h200_sxm", "trtllm", "1.3.0"], 0.9, "default");
    level(&tree, ["h200_sxm", "vllm", "0.24.0"], 10.0, "default");
    level(&tree, ["h200_sxm", "vllm", "0.24.0+before"], 1.0, "default");
    assert_eq!(deviations(&tree), NOTHING);
}

#[test]
fn a_slow_level_that_other_systems_share_is_not_a_finding() {
    let of = |other: &str, there: f64| {
        let tree = Tree::new();
        let yaml = std::fs::read_to_string(format!("systems/{other}.yaml")).unwrap();
        tree.file(&format!("systems/{other}.yaml"), yaml.replace("../data/", "data/"));
        for (system, factor) in [("h200_sxm", 10.0), (other, there)] {
            references(&tree, system);
            level(&tree, [system, "vllm", "0.24.0"], factor, "default");
        }
        deviations(&tree)
    };
    assert_eq!(of("h100_sxm", 1.0), ["warning h200_sxm vllm 0.24.0"]);
    let both = ["info h100_sxm vllm 0.24.0", "info h200_sxm vllm 0.24.0"];
    assert_eq!(of("h100_sxm", 10.0), both);
    // A system of another generation. Its level is the median of both versions, of which the slower one counts.
    assert_eq!(of("b200_sxm", 10.0), NOTHING);
    assert_eq!(of("b200_sxm", 4.0), ["warning h200_sxm vllm 0.24.0"]);
}

#[test]
fn only_tables_that_name_kernels_of_the_same_family_are_references() {
    let of = |own: &str, earlier: &str, other: &str| {
        let tree = Tree::new();
        level(&tree, ["h200_sxm", "sglang", "0.5.14"], 1.0, "sglang_deepgemm_nt");
        level(&tree, ["h200_sxm", "trtllm", "1.3.0"], 0.9, other);
        level(&tree, ["h200_sxm", "vllm", "0.22.0"], 1.0, earlier);
        level(&tree, ["h200_sxm", "vllm", "0.24.0"], 10.0, own);
        deviations(&tree)
    };
    let slow = ["warning h200_sxm vllm 0.24.0"];
    assert_eq!(of("vllm_DeepGemm", "deep_gemm", "default"), slow);
    assert_eq!(of("vllm_DeepGemm", "vllm_triton", "default"), NOTHING);
    assert_eq!(of("vllm_DeepGemm", "deep_gemm", "cutlass"), NOTHING);
    assert_eq!(of("own", "own", "default"), slow, "a name of no family");
    assert_eq!(of("own", "fused", "default"), NOTHING, "names differ within a backend");
    assert_eq!(of("own", "vllm_default", "fused"), slow, "another backend has its own names");
}
