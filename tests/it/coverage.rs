//! What a table lacks against its neighbours, and what explains it: reuse, earlier versions, a
//! sidecar, a limit, a collector's failure ledger.

use crate::common::snapshot::{message, shown};
use crate::common::{GEMM, H200, Run, Tree};
use serde_json::{Value, json};

const H100: &str = include_str!("../../systems/h100_sxm.yaml");
const META: &str = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\n";

/// Synthetic gemm rows of some dtypes on a system, m in powers of two.
fn rows(device: &str, version: &str, dtypes: &[&str]) -> String {
    let mut text = GEMM.to_owned();
    for dtype in dtypes {
        for i in 0..8 {
            let (m, latency) = (1 << i, 0.005 + f64::from(i) / 1e4 + device.len() as f64 / 1e5);
            text +=
                &format!("VLLM,{version},{device},gemm,cutlass,{dtype},{m},128,128,{latency}\n");
        }
    }
    text
}

/// An H100 with bfloat16 and fp8, and an H200 with bfloat16 alone.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.file("systems/h100_sxm.yaml", H100.replace("../data/", "data/"));
    put(&tree, "h100_sxm", "0.24.0", &["bfloat16", "fp8"]);
    put(&tree, "h200_sxm", "0.24.0", &["bfloat16"]);
    tree
}

fn put(tree: &Tree, system: &str, version: &str, dtypes: &[&str]) {
    let device = if system == "h100_sxm" { "NVIDIA H100 80GB HBM3" } else { "NVIDIA H200" };
    let dir = format!("systems/data/{system}/gemm/vllm/{version}");
    tree.file(&format!("{dir}/gemm_perf.txt"), rows(device, version, dtypes));
    let meta = META.replace("0.24.0", version) + "tables: {gemm_perf: {status: complete}}\n";
    tree.file(&format!("{dir}/collection_meta.yaml"), meta);
}

fn judge(tree: &Tree, args: &[&str]) -> Run {
    let mut all = vec!["--format", "json", "--only", "coverage-hole"];
    all.extend(args);
    tree.validate(&all)
}

/// Severities of the findings.
fn severities(tree: &Tree, args: &[&str]) -> Vec<Value> {
    let run = judge(tree, args);
    let json: Value = serde_json::from_str(&run.out()).expect("a report");
    json["findings"].as_array().unwrap().iter().map(|f| f["severity"].clone()).collect()
}

#[test]
fn a_coverage_hole_names_its_values_and_the_references_with_them() {
    let tree = tree();
    let run = judge(&tree, &["--system", "h200_sxm"]);
    let hole = run.finding("coverage-hole");
    assert_eq!((&hole["severity"], &hole["rows"]), (&json!("warning"), &json!(8)));
    insta::assert_snapshot!(message(&hole), @"compared with 16 keys of h100_sxm 0.24.0: the loader finds no rows of gemm_dtype fp8 (8 keys, present in 1 of 1 nearest system)");
    assert_eq!(hole["evidence"]["holes"][0]["had_by"], json!(["h100_sxm 0.24.0"]));
    assert_eq!(hole["examples"][0]["key"]["gemm_dtype"], "fp8");
    assert!(severities(&tree, &["--system", "h100_sxm"]).is_empty());
}

#[test]
fn keys_served_from_another_version_or_backend_are_not_a_hole() {
    let earlier = tree();
    put(&earlier, "h200_sxm", "0.22.0", &["fp8"]);
    assert!(severities(&earlier, &[]).is_empty(), "an earlier version fills it");

    let later = tree();
    put(&later, "h200_sxm", "0.24.0", &["bfloat16", "fp8"]);
    put(&later, "h200_sxm", "0.22.0", &["bfloat16"]);
    assert!(severities(&later, &[]).is_empty(), "a newer version supersedes it");

    // No version, so no earlier one: only a declaration makes it a donor.
    let reused = tree();
    put(&reused, "h200_sxm", "nightly", &["fp8"]);
    assert_eq!(severities(&reused, &[]), ["warning"]);
    let reuse = "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: nightly, reason: same kernels, approved_by: me}\n";
    reused.file("systems/data/h200_sxm/gemm/vllm/0.24.0/reuse.yaml", reuse);
    assert!(severities(&reused, &[]).is_empty(), "a donor fills it");
}

#[test]
fn a_hole_in_a_partial_collection_is_an_info() {
    let tree = tree();
    let meta = META.to_owned() + "tables: {gemm_perf: {status: partial}}\n";
    tree.file("systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml", meta);
    assert_eq!(severities(&tree, &[]), ["info"]);
}

#[test]
fn a_hole_under_a_case_plan_that_no_reference_ran_is_an_info() {
    let tree = tree();
    let state = |system: &str, plan: &str| {
        let meta = META.to_owned()
            + &format!("tables: {{gemm_perf: {{status: complete, case_plan_hash: {plan}}}}}\n");
        let folder = format!("systems/data/{system}/gemm/vllm/0.24.0");
        tree.file(&format!("{folder}/collection_meta.yaml"), meta);
    };
    state("h200_sxm", "aa");
    assert_eq!(severities(&tree, &[]), ["warning"], "the reference states none");
    state("h100_sxm", "bb");
    assert_eq!(severities(&tree, &[]), ["info"]);
    state("h100_sxm", "aa");
    assert_eq!(severities(&tree, &[]), ["warning"], "the same plan");
}

#[test]
fn a_classified_failure_explains_the_missing_keys_of_its_case() {
    let tree = tree();
    let failure = |m: u32, class: &str, dtype: &str| {
        json!({
            "module": "vllm.gemm", "task_id": m, "classification": class, "error_type": "RuntimeError",
            "task_params": format!("GemmCase(m={m}, n=128, k=128, gemm_type='{dtype}')"),
            "group": "|fp8", "timestamp": "2026-01-01T00:00:00"
        })
    };
    let ledger = |name: &str, class: &str, dtype: &str| {
        let failures: Vec<Value> = (0..8).map(|i| failure(1 << i, class, dtype)).collect();
        tree.file(&format!("{name}/errors_vllm.gemm.json"), json!(failures).to_string());
        tree.path().join(name).display().to_string()
    };
    let classified = ledger("logs", "unexpected", "fp8");
    let many = judge(&tree, &["--ledger", &classified]);
    assert_eq!(many.code(), 2);
    let run = judge(&tree, &["--system", "h200_sxm", "--ledger", &classified]);
    let hole = run.finding("coverage-hole");
    assert_eq!(hole["severity"], "info");
    insta::assert_snapshot!(message(&hole), @"compared with 16 keys of h100_sxm 0.24.0: 8 keys are missing because of a classified failure, RuntimeError");
    for (name, class, dtype) in
        [("unresolved", "unresolved_from_checkpoint", "fp8"), ("other", "unexpected", "nvfp4")]
    {
        let folder = ledger(name, class, dtype);
        assert_eq!(severities(&tree, &["--system", "h200_sxm", "--ledger", &folder]), ["warning"]);
    }

    let missing = judge(&tree, &["--ledger", "/no/such/folder"]);
    assert_eq!(missing.code(), 2);
    let empty = tree.path().join("systems").display().to_string();
    let empty = judge(&tree, &["--ledger", &empty]);
    insta::assert_snapshot!(shown([&many, &missing, &empty]), @"
    $ perfdb-gate validate --root [tmp] --format json --only coverage-hole --ledger [tmp]/logs
    2> perfdb-gate: --ledger applies to one system, but 2 are checked
    2> hint: select the system of the log with --system
    (exit 2)

    $ perfdb-gate validate --root [tmp] --format json --only coverage-hole --ledger /no/such/folder
    2> perfdb-gate: /no/such/folder: No such file or directory (os error 2)
    2> hint: --ledger takes a collector's log directory, with its errors_<module>.json and collection_summary_<backend>.json
    (exit 2)

    $ perfdb-gate validate --root [tmp] --format json --only coverage-hole --ledger [tmp]/systems
    2> perfdb-gate: [tmp]/systems: the directory does not contain a failure ledger
    2> hint: --ledger takes a collector's log directory, with its errors_<module>.json and collection_summary_<backend>.json
    (exit 2)
    ");
}

#[test]
fn a_declared_limit_explains_the_missing_keys_that_it_forbids() {
    let tree = tree();
    let limit = |predicate: &str| {
        let entry = "limits:\n- id: ours\n  tables: [gemm]\n  reason: Synthetic.\n  where: ";
        tree.file("my/limits.yaml", format!("{entry}{predicate}\n"));
        tree.path().join("my").display().to_string()
    };
    let rules = limit("gemm_dtype = 'fp8' AND version = '0.24.0' AND gpu.sm_version < 100");
    let run = judge(&tree, &["--rules", &rules]);
    let hole = run.finding("coverage-hole");
    assert_eq!(hole["severity"], "info");
    assert_eq!(hole["evidence"]["explained"][0]["reason"], "Synthetic.");
    limit("gemm_dtype = 'fp8' AND m > 64");
    assert_eq!(severities(&tree, &["--rules", &rules]), ["warning"], "it explains a part");

    let wrong = ["gemm_dtype = 5", "moe_dtype = 'fp8'", "gpu.sm_versoin < 90", "m <"];
    let runs = wrong.map(|predicate| {
        limit(predicate);
        judge(&tree, &["--rules", &rules])
    });
    assert!(runs.iter().all(|run| run.code() == 2));
    insta::assert_snapshot!(shown(&runs), @"
    $ perfdb-gate validate --root [tmp] --format json --only coverage-hole --rules [tmp]/my
    2> perfdb-gate: [tmp]/my/limits.yaml: line 5: the two sides of a comparison have different types in `gemm_dtype = 5`, of gemm_perf
    2> hint: CONTRIBUTING.md lists what a limit can read
    (exit 2)

    $ perfdb-gate validate --root [tmp] --format json --only coverage-hole --rules [tmp]/my
    2> perfdb-gate: [tmp]/my/limits.yaml: line 5: `moe_dtype = 'fp8'` reads moe_dtype, which is not a key part of its tables
    2> hint: CONTRIBUTING.md lists what a limit can read
    (exit 2)

    $ perfdb-gate validate --root [tmp] --format json --only coverage-hole --rules [tmp]/my
    2> perfdb-gate: [tmp]/my/limits.yaml: line 5: `gpu.sm_versoin < 90` reads gpu.sm_versoin, which is not a figure of any system
    2> hint: CONTRIBUTING.md lists what a limit can read
    (exit 2)

    $ perfdb-gate validate --root [tmp] --format json --only coverage-hole --rules [tmp]/my
    2> perfdb-gate: [tmp]/my/limits.yaml: sql parser error: Expected: an expression, found: EOF in `m <` at line 5, column 10
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)
    ");
}

/// No table changes, and none is judged by itself: they are held against each other by what the YAML says.
#[test]
fn a_changed_figure_can_make_a_limit_explain_a_hole_or_no_longer_explain_it() {
    let tree = tree();
    tree.file(
        "my/limits.yaml",
        "limits:\n- id: ours\n  tables: [gemm]\n  reason: Synthetic.\n  where: gpu.mem_capacity < 1e11\n",
    );
    let rules = tree.path().join("my").display().to_string();
    let larger = H200.replace("../data/", "data/");
    let smaller = larger.replace("mem_capacity: 151397597184", "mem_capacity: 75000000000");
    assert_ne!(larger, smaller);
    tree.file("systems/h200_sxm.yaml", &smaller);
    tree.commit();
    let of_head = ["--rules", &rules, "--system", "h200_sxm"];
    assert_eq!(severities(&tree, &of_head), ["info"]);
    let only = ["--base-ref", "main", "--only", "coverage-hole", "--rules", &rules];
    tree.file("systems/h200_sxm.yaml", &larger);
    let news = tree.sanity(&only).json();
    let hole = &news["findings"][0];
    assert_eq!((&hole["severity"], &hole["state"]), (&json!("warning"), &json!("new")), "{news:#}");
    tree.commit();
    tree.file("systems/h200_sxm.yaml", &smaller);
    let news = tree.sanity(&only).json();
    // The hole is still there, and milder.
    assert_eq!((&news["findings"], &news["repaired"]), (&json!([]), &json!([])), "{news:#}");
}
