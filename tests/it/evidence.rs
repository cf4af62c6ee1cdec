//! The evidence that a change of collectors owes, on a tree with synthetic collectors and rows.

use crate::common::{Tree, gemm_parquet, run};
use serde_json::{Value, json};

const FAMILY: &str = "systems/data/h200_sxm/gemm/vllm";
const META: &str = "runtime:\n  framework: vllm\n  version: VERSION\ntables:\n  gemm_perf:\n    status: complete\n";

const FILES: [(&str, &str); 8] = [
    (
        "collector/evidence_policy.yaml",
        "schema_version: 1\nthresholds: {parquet_diff_median_pct: 5}\n\
         system_generations: {hopper: [h100_sxm, h200_sxm]}\nevidence_systems: {hopper: h200_sxm}\nrules:\n  \
         pin_version: {requirement: recollect_or_declared_reuse}\n  \
         collector_code: {requirement: before_after_diff}\n  case_plan: {requirement: collect_new_cases_only}\n",
    ),
    (
        "collector/framework_manifest.yaml",
        "schema_version: 2\nframeworks:\n  vllm:\n    source_repo: a\n    \
         default: {version: \"0.24.0\", images: {default: \"a@sha256:1\"}}\n    \
         families:\n      moe: {version: \"0.26.0\", images: {default: b}}\n",
    ),
    (
        "collector/op_backend_catalog.yaml",
        "schema_version: 1\nfamilies:\n- {family: gemm, op_files: [gemm_perf]}\n- {family: moe, op_files: [moe_perf]}\n",
    ),
    (
        "collector/hash_closures.yaml",
        "collector.vllm.collect_gemm:\n- collector/cases/base_ops/gemm.yaml\n- __model_cases__\n",
    ),
    (
        "collector/provenance.py",
        "A = ('b',)\nSHARED_CORE: tuple[str, ...] = (\n    \"collector/helper.py\",  # shared (by all)\n    \
         \"collector/case_generator.py\",\n)\n",
    ),
    ("collector/helper.py", "timed = 1\n"),
    (
        "collector/registry_types.py",
        "class PerfFile(str, Enum):\n    # tables\n    GEMM = \"gemm_perf.txt\"\n\n\nclass OpEntry:\n    X = \"y\"\n",
    ),
    (
        "collector/vllm/registry.py",
        "REGISTRY: list[OpEntry] = [\n    # OpEntry(module=\"none\")\n    OpEntry(\n        op=\"gemm\",\n        \
         module=\"collector.vllm.collect_gemm\",\n        perf_filename=PerfFile.GEMM,\n        \
         unverified_sms=(80, 90),\n    ),\n]\n\nREGISTRY_XPU = [\n    OpEntry(op=\"gemm\"),\n]\n",
    ),
];

fn table(tree: &Tree, version: &str, rows: &[(u64, f64)]) {
    tree.file(&format!("{FAMILY}/{version}/gemm_perf.parquet"), gemm_parquet(rows));
    tree.file(
        &format!("{FAMILY}/{version}/collection_meta.yaml"),
        META.replace("VERSION", version),
    );
}

fn tree() -> Tree {
    let tree = Tree::new();
    table(&tree, "0.24.0", &[(1, 0.5), (2, 0.51)]);
    FILES.iter().for_each(|(path, text)| drop(tree.file(path, text)));
    tree.file("collector/cases/base_ops/gemm.yaml", "m: [1, 2]\n");
    tree.file("collector/cases/models/one.yaml", "model: one\n");
    tree.commit();
    tree
}

fn edit(tree: &Tree, path: &str, from: &str, to: &str) {
    let text = std::fs::read_to_string(tree.path().join(path)).unwrap();
    assert!(text.contains(from), "{text}");
    tree.file(path, text.replace(from, to));
}

/// What is due on the files on disk: reason, present, missing.
fn due(tree: &Tree) -> Vec<(String, usize, usize)> {
    let evidence = tree.sanity(&["--base-ref", "HEAD"]).json()["evidence"].clone();
    assert!(evidence["failed"].is_null(), "{evidence}");
    let count = |value: &Value| value.as_array().unwrap().len();
    let due = evidence["due"].as_array().unwrap().iter();
    let due = due.map(|d| {
        (d["reason"].as_str().unwrap().to_owned(), count(&d["present"]), count(&d["missing"]))
    });
    due.collect()
}

/// The report for people on the files on disk.
fn human(tree: &Tree) -> String {
    let root = tree.path().display().to_string();
    run(&["sanity", "--root", &root, "--base-ref", "HEAD"]).out()
}

#[test]
fn a_changed_table_alone_owes_nothing() {
    let tree = tree();
    table(&tree, "0.24.0", &[(1, 0.5), (2, 0.52)]);
    assert_eq!(due(&tree), []);
}

#[test]
fn a_new_pin_owes_its_data_or_declared_reuse() {
    let tree = tree();
    edit(&tree, "collector/framework_manifest.yaml", "0.24.0", "0.25.0");
    assert_eq!(due(&tree), [("pin_version".to_owned(), 0, 1)]);
    let said = human(&tree);
    let line = "Evidence due: 1 requirement, 1 without evidence: vllm gemm (pin_version, \
                recollect_or_declared_reuse): h200_sxm gemm_perf is missing";
    assert!(said.contains(line), "{said}");
    let reuse = "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: 0.24.0, reason: same, approved_by: me}\n";
    let declared = tree.file(&format!("{FAMILY}/0.25.0/reuse.yaml"), reuse);
    assert_eq!(due(&tree), [("pin_version".to_owned(), 1, 0)]);
    std::fs::remove_file(declared).unwrap();
    table(&tree, "0.25.0", &[(1, 0.5)]);
    assert_eq!(due(&tree), [("pin_version".to_owned(), 1, 0)]);

    // The pin of another family, and one of an image whose version stays.
    tree.commit();
    edit(&tree, "collector/framework_manifest.yaml", "0.26.0", "0.27.0");
    assert_eq!(due(&tree), []);
    edit(&tree, "collector/framework_manifest.yaml", "sha256:1", "sha256:2");
    assert_eq!(due(&tree), [("pin_version".to_owned(), 0, 1)]);
}

#[test]
fn code_and_cases_owe_a_new_table() {
    let tree = tree();
    edit(&tree, "collector/helper.py", "1", "2");
    assert_eq!(due(&tree), [("collector_code".to_owned(), 0, 1)]);
    table(&tree, "0.24.0", &[(1, 0.5), (2, 0.52)]);
    assert_eq!(due(&tree), [("collector_code".to_owned(), 1, 0)]);
    tree.commit();
    tree.file("collector/cases/models/two.yaml", "model: two\n");
    let both = [("collector_code".to_owned(), 0, 1), ("case_plan".to_owned(), 0, 1)];
    assert_eq!(due(&tree), both);
    let root = tree.path().display().to_string();
    let args = ["status", "--root", &root, "--evidence", "--base-ref", "HEAD", "--format"];
    let status = run(&[&args[..], &["json"]].concat());
    assert_eq!(status.code(), 0, "{}", status.shown());
    let status: Value = serde_json::from_str(&status.out()).unwrap();
    assert_eq!(status["due"][0]["missing"], json!(["h200_sxm gemm_perf"]));
    assert!(
        run(&[&args[..], &["markdown"]].concat())
            .out()
            .contains("| vllm | gemm | `collector_code` |")
    );
}

#[test]
fn what_cannot_be_read_is_not_nothing() {
    let spoilt = [
        ("collector/vllm/registry.py", "module=\"collector.vllm.collect_gemm\"", "versions=(1)"),
        ("collector/vllm/registry.py", "PerfFile.GEMM", "PerfFile.NONE"),
        ("collector/hash_closures.yaml", "collect_gemm", "collect_moe"),
        ("collector/provenance.py", "SHARED_CORE", "CORE"),
        ("collector/framework_manifest.yaml", "frameworks:", "frames:"),
    ];
    for (path, from, to) in spoilt {
        let tree = tree();
        edit(&tree, path, from, to);
        let evidence = tree.sanity(&["--base-ref", "HEAD"]).json()["evidence"].clone();
        assert!(
            evidence["failed"].as_str().is_some_and(|why| why.contains(path)),
            "{path}: {evidence}"
        );
    }
}

#[test]
fn a_tree_without_a_policy_says_nothing() {
    let tree = tree();
    tree.remove("collector/evidence_policy.yaml");
    tree.commit();
    edit(&tree, "collector/helper.py", "1", "2");
    assert!(tree.sanity(&["--base-ref", "HEAD"]).json()["evidence"].is_null());
    let root = tree.path().display().to_string();
    let status = run(&["status", "--root", &root, "--evidence", "--base-ref", "HEAD"]);
    assert_eq!(status.code(), 0);
    insta::assert_snapshot!(status.out(), @"the base has no collector/evidence_policy.yaml, so it requires no evidence");
}
