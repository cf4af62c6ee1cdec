//! The report of a change by stages.

use crate::common::{Run, Tree, gemm, gemm_parquet, json_schema, run};
use perfdb_gate::checks::rule::Rules;
use perfdb_gate::specs::Library;
use serde_json::Value;

const TABLE: &str = "systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet";
const SIDECAR: &str = "systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml";
const META: &str =
    "runtime:\n  framework: vllm\n  version: 0.24.0\ntables:\n  gemm_perf:\n    status: complete\n";

/// A tree with a table of synthetic rows, committed.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.file(TABLE, gemm_parquet(&[(1, 0.5), (2, 0.51)]));
    tree.file(SIDECAR, META);
    tree.commit();
    tree
}

/// A run of `sanity` on the files on disk, or on the head that the arguments name.
fn compared(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    run(&[&["sanity", "--root", &root, "--base-ref", "main"], args].concat())
}

fn stages(tree: &Tree, args: &[&str]) -> Value {
    let run = compared(tree, &[&["--format", "stages"], args].concat());
    serde_json::from_str(&run.out()).unwrap_or_else(|e| panic!("{e}: {}", run.shown()))
}

/// `id status` of every stage.
fn statuses(document: &Value) -> Vec<String> {
    let stages = document["stages"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    stages.map(|stage| format!("{} {}", text(&stage["id"]), text(&stage["status"]))).collect()
}

fn reason(document: &Value, stage: usize) -> String {
    document["stages"][stage]["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn every_rule_belongs_to_one_stage() {
    let stages = std::fs::read_to_string("rules/stages.yaml").unwrap();
    let stages: Value = serde_yaml::from_str(&stages).unwrap();
    let stages = stages["stages"].as_array().unwrap().iter();
    let rules = stages.flat_map(|stage| stage["rules"].as_array().unwrap());
    let mut listed: Vec<&str> = rules.map(|rule| rule.as_str().unwrap()).collect();
    listed.sort_unstable();
    let rules = Rules::read(&Library::embedded()).unwrap();
    assert_eq!(listed, rules.ids().collect::<Vec<_>>());
}

#[test]
fn a_finding_fails_only_its_own_stage() {
    let tree = tree();
    tree.git(&["checkout", "-qb", "more"]);
    tree.file(TABLE, gemm_parquet(&[(1, 0.5), (2, 0.51), (4, -0.7)]));
    let head = tree.commit();
    let document = stages(&tree, &["--head-ref", "HEAD"]);
    assert_eq!(document["schema"], "perfdb-gate/stages/v1");
    assert_eq!(document["base"], tree.git(&["rev-parse", "main"]).as_str());
    assert_eq!(
        (document["head"].as_str(), document["verdict"].as_str()),
        (Some(&*head), Some("failed"))
    );
    assert_eq!(
        statuses(&document)[..3],
        ["artifact-integrity FAIL", "numerical-sanity PASS", "production-reachability PASS",]
    );
    let integrity = &document["stages"][0];
    assert_eq!(integrity["checked"]["rows"], 3);
    let rules = integrity["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str());
    assert!(rules.flatten().any(|rule| rule == "latency-not-positive"), "{integrity}");
    let reach = &document["stages"][2]["checked"];
    assert_eq!((reach["tables"].as_u64(), reach["rows"].as_u64()), (Some(1), Some(3)), "{reach}");
    let schema: Value = serde_json::from_str(&run(&["schema", "stages"]).out()).unwrap();
    assert_eq!(json_schema::faults(&schema, &document), Vec::<String>::new());

    // The files on disk have no commit, and a finding that is not to fail does not.
    let document = stages(&tree, &["--fail-on", "never"]);
    assert!(document["head"].is_null());
    assert_eq!(statuses(&document)[0], "artifact-integrity PASS");
}

#[test]
fn a_stage_with_skipped_rules_is_incomplete() {
    let tree = tree();
    tree.file(TABLE, gemm_parquet(&[(1, 0.5), (2, 0.51), (4, 0.52)]));
    let document = stages(&tree, &["--skip", "latency-spike", "--skip", "prediction-moved"]);
    assert_eq!(statuses(&document)[1], "numerical-sanity INCOMPLETE");
    assert!(reason(&document, 1).contains("latency-spike"), "{document}");
    assert_eq!(statuses(&document)[3], "behaviour-and-parity INCOMPLETE");

    // The loader does not read text, so no query reaches these rows.
    let text = Tree::new();
    text.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    text.commit();
    text.gemm("gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.51)]));
    let document = stages(&text, &[]);
    assert_eq!(statuses(&document)[2], "production-reachability INCOMPLETE", "{document}");
    assert!(reason(&document, 2).contains("reads only Parquet"), "{document}");
}

/// Rows of a version that no query can name count if a version that queries can name takes them.
#[test]
fn a_table_that_no_queried_version_reads_is_not_reached() {
    let tree = tree();
    let slots = "schema_version: 1\ndefaults: {vllm: {current: 0.25.0}}\n";
    tree.file("systems/query_versions.yaml", slots);
    tree.commit();
    tree.file(TABLE, gemm_parquet(&[(1, 0.5), (2, 0.51), (4, 0.52)]));
    let document = stages(&tree, &[]);
    assert_eq!(statuses(&document)[2], "production-reachability INCOMPLETE", "{document}");
    assert!(reason(&document, 2).contains("no version that a query can name"), "{document}");
    assert_eq!(document["stages"][2]["checked"]["served"], 0);

    let newer = TABLE.replace("0.24.0/gemm", "0.25.0/moe");
    tree.file(&newer, gemm_parquet(&[(1, 0.5)]));
    tree.commit();
    tree.file(TABLE, gemm_parquet(&[(1, 0.5), (2, 0.51), (4, 0.53)]));
    let document = stages(&tree, &[]);
    assert!(reason(&document, 2).is_empty(), "{document}");
    assert_eq!(document["stages"][2]["checked"]["served"], 3);
}

#[test]
fn a_stage_with_nothing_to_check_is_not_applicable() {
    let tree = tree();
    tree.file("README", "words");
    let document = stages(&tree, &[]);
    assert!(statuses(&document).iter().all(|line| line.ends_with(" NOT APPLICABLE")), "{document}");
    let run = |how: &str| tree.sanity(&["--base-ref", "main", "--inconclusive", how]).code();
    assert_eq!((run("fail"), run("pass"), run("unrelated")), (3, 0, 0));
}

#[test]
fn validate_has_no_stages_and_a_damaged_list_of_stages_is_an_error() {
    let tree = tree();
    let one = tree.validate(&["--report", "stages=stages.json"]);
    assert_eq!((one.code(), one.err().lines().count()), (2, 2), "{}", one.shown());
    assert!(one.err().contains("sanity --base-ref"), "{}", one.err());
    tree.file("rules/stages.yaml", "stages: []\n");
    tree.file(TABLE, gemm_parquet(&[(1, 0.5)]));
    let rules = tree.path().join("rules").display().to_string();
    let damaged = compared(&tree, &["--format", "stages", "--rules", &rules]);
    assert_eq!(damaged.code(), 2, "{}", damaged.shown());
    assert!(damaged.err().contains("others: true"), "{}", damaged.err());
}
