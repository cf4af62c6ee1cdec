//! The rule `support-matrix` through the command line, on small trees of synthetic rows and lines.

use crate::common::snapshot::message;
use crate::common::{Tree, gemm};

const MATRIX: &str = "systems/support_matrix/h200_sxm.csv";
const HEAD: &str =
    "HuggingFaceID,Architecture,System,Backend,Version,Mode,Status,ErrMsg,Command,Source\n";

fn line(model: &str, backend: &str, version: &str, status: &str, source: &str) -> String {
    format!("acme/{model},{model},h200_sxm,{backend},{version},agg,{status},,plan,{source}\n")
}

/// gemm of vLLM 0.22.0 and 0.24.0.
fn tree() -> Tree {
    let tree = Tree::new();
    for version in ["0.22.0", "0.24.0"] {
        let text = gemm(&[(1, 0.5)]).replace("0.24.0", version);
        tree.file(&format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt"), text);
    }
    tree
}

/// What is said of a matrix with these lines; empty where nothing is.
fn said(tree: &Tree, lines: &[String]) -> String {
    tree.file(MATRIX, HEAD.to_owned() + &lines.concat());
    let run = tree.validate(&["--only", "support-matrix", "--format", "json"]);
    let json = run.json();
    let findings = json["findings"].as_array().expect("findings");
    assert!(findings.len() < 2 && findings.iter().all(|f| f["path"] == MATRIX), "{json}");
    findings.first().map_or_else(String::new, |f| f["message"].as_str().unwrap().to_owned())
}

#[test]
fn a_pass_in_the_support_matrix_needs_data_and_tables() {
    let tree = tree();
    let ok = line("A", "vllm", "0.24.0", "PASS", "silicon");
    assert_eq!(said(&tree, std::slice::from_ref(&ok)), "");
    // Not from silicon, or no pass: nothing is claimed of the data.
    let other = [
        line("Qwen3ForCausalLM", "vllm", "0.24.0", "HYBRID_PASS", "xshape"),
        line("Qwen3ForCausalLM", "vllm", "0.25.0", "FAIL", ""),
    ];
    assert_eq!(said(&tree, &other), "");
    let lacking = line("Qwen3ForCausalLM", "vllm", "0.24.0", "PASS", "silicon");
    insta::assert_snapshot!(said(&tree, std::slice::from_ref(&lacking)), @"acme/Qwen3ForCausalLM: the matrix says PASS from silicon at vllm 0.24.0, which does not serve context_attention_perf, generation_attention_perf");
    // An earlier version serves the later one.
    for table in ["context_attention_perf", "generation_attention_perf"] {
        tree.file(&format!("systems/data/h200_sxm/vllm/0.22.0/{table}.txt"), gemm(&[(1, 0.5)]));
    }
    assert_eq!(said(&tree, &[lacking]), "");
    let absent = [ok, line("A", "sglang", "0.5.14", "PASS", "silicon")];
    insta::assert_snapshot!(said(&tree, &absent), @"the matrix says PASS from silicon in 1 line at sglang 0.5.14, which has no data");
}

#[test]
fn a_pass_may_use_tables_that_another_backend_shares() {
    let tree = tree();
    let sglang = gemm(&[(1, 0.5)]).replace("VLLM,0.24.0", "SGLang,0.5.14");
    tree.file("systems/data/h200_sxm/sglang/0.5.14/mamba2_perf.txt", sglang);
    let lines = ["vllm", "sglang"].map(|backend| {
        let version = if backend == "vllm" { "0.24.0" } else { "0.5.14" };
        line("A", backend, version, "PASS", "silicon")
    });
    assert_eq!(said(&tree, &lines), "", "without a manifest nothing says what is not lent");
    let manifest = |frameworks: &str| {
        format!(
            "groups:\n- {{op_file: gemm_perf.parquet, kernel_source: k, tier: shared, frameworks: [{frameworks}]}}\n"
        )
    };
    tree.file("systems/perf_data_reuse_manifest.yaml", manifest("vllm"));
    insta::assert_snapshot!(said(&tree, &lines), @"acme/A: the matrix says PASS from silicon at sglang 0.5.14, which does not serve gemm_perf");
    tree.file("systems/perf_data_reuse_manifest.yaml", manifest("sglang, vllm"));
    assert_eq!(said(&tree, &lines), "");
}

#[test]
fn a_version_with_data_needs_a_line_in_the_support_matrix() {
    let tree = tree();
    let of = |version: &str| line("A", "vllm", version, "FAIL", "");
    insta::assert_snapshot!(said(&tree, &[of("0.22.0")]), @"the matrix has no line for vllm 0.24.0, which has data");
    assert_eq!(said(&tree, &[of("0.24.0")]), "", "older versions are not listed any more");
    let other = line("A", "trtllm", "1.3.0", "FAIL", "");
    insta::assert_snapshot!(said(&tree, &[other]), @"the matrix has no line for vllm 0.22.0, 0.24.0, which has data");
    // NCCL is a library, not what a model is planned for.
    tree.file("systems/data/h200_sxm/nccl/2.29.2/nccl_perf.txt", gemm(&[(1, 0.5)]));
    assert_eq!(said(&tree, &[of("0.24.0")]), "");
}

#[test]
fn an_invalid_support_matrix_is_a_finding() {
    let tree = tree();
    tree.file(MATRIX, "model,status\na,PASS\n");
    let run = tree.validate(&["--only", "facts-invalid", "--format", "json"]);
    let finding = run.finding("facts-invalid");
    assert_eq!(finding["severity"], "error");
    insta::assert_snapshot!(message(&finding), @"cannot be read: CSV deserialize error: record 1 (line: 2, byte: 13): missing field `HuggingFaceID`");
    // Of a part of the system nothing can be said to be missing.
    let part =
        tree.validate(&["--only", "support-matrix", "--version", "0.24.0", "--format", "json"]);
    assert_eq!(part.findings(), [""; 0]);
}

#[test]
fn an_added_version_without_a_support_matrix_line_is_a_new_finding() {
    let tree = tree();
    tree.file(MATRIX, HEAD.to_owned() + &line("A", "vllm", "0.22.0", "FAIL", ""));
    let base = tree.commit();
    let text = gemm(&[(1, 0.5)]).replace("0.24.0", "0.25.0");
    tree.file("systems/data/h200_sxm/vllm/0.25.0/gemm_perf.txt", text);
    let run = tree.sanity(&["--base-ref", &base, "--only", "support-matrix"]);
    let finding = run.finding("support-matrix");
    assert_eq!(finding["new"], true, "{finding}");
    insta::assert_snapshot!(message(&finding), @"the matrix has no line for vllm 0.24.0, 0.25.0, which has data");
}

#[test]
fn a_version_without_a_matrix_line_is_an_info_and_declared_reuse_counts_as_data() {
    let tree = tree();
    tree.file(MATRIX, HEAD.to_owned() + &line("A", "vllm", "0.22.0", "FAIL", ""));
    let run = || tree.validate(&["--only", "support-matrix", "--format", "json"]);
    assert_eq!(run().finding("support-matrix")["severity"], "info");
    let reused = line("A", "vllm", "0.26.0", "PASS", "silicon");
    tree.file(MATRIX, HEAD.to_owned() + &line("A", "vllm", "0.24.0", "FAIL", "") + &reused);
    assert_eq!(run().finding("support-matrix")["severity"], "warning", "no data at 0.26.0");
    tree.file("systems/data/h200_sxm/vllm/0.26.0/SHARED_LAYER_REUSE.txt", "of 0.24.0\n");
    assert_eq!(run().findings(), [""; 0]);
}
