//! The public database, where a clone of it is at hand: set PERFDB_GATE_DATA to its path.
//!
//! Nothing of it is in this repository, so these tests say that they were skipped without it.

mod common;

use perfdb_gate::spec::Specs;

/// Runs on the clone's branch `main`, or says that there is none.
fn validate(args: &[&str]) -> Option<common::Run> {
    let Ok(root) = std::env::var("PERFDB_GATE_DATA") else {
        eprintln!("skipped: PERFDB_GATE_DATA names no clone of the public database");
        return None;
    };
    let mut all = vec!["validate", "--root", &root, "--ref", "main", "--format", "json"];
    all.extend(args);
    Some(common::run(&all))
}

#[test]
fn every_table_has_a_spec_and_its_columns() {
    let Some(run) = validate(&["--only", "header-mismatch"]) else { return };
    // Two NCCL tables were written before identity columns were.
    let found = run.findings();
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|f| f.starts_with("header-mismatch warning ")
        && f.ends_with("comm/nccl/2.23/nccl_perf.parquet")));
}

#[test]
fn the_loaders_key_repeats_where_it_is_known_to() {
    let Some(run) = validate(&["--only", "duplicate-key"]) else { return };
    let json = run.json();
    let findings = json["findings"].as_array().unwrap();
    let rows = |path: &str| {
        let found = findings.iter().find(|f| f["path"].as_str().unwrap().ends_with(path));
        found.map(|f| f["rows"].as_u64().unwrap())
    };
    assert_eq!(rows("h200_sxm/moe/sglang/0.5.10/moe_perf.parquet"), Some(8505));
    assert_eq!(
        rows("b200_sxm/attention/sglang/0.5.14/generation_attention_perf.parquet"),
        Some(6478)
    );
    assert_eq!(
        rows("h100_sxm/sparse_attention/sglang/0.5.14/dsa_context_module_perf.parquet"),
        Some(46_771)
    );
    assert_eq!(rows("h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet"), None);
}

#[test]
fn a_run_on_one_system_finds_what_the_whole_run_finds_there() {
    let Some(whole) = validate(&[]) else { return };
    let mut parts: Vec<String> = Vec::new();
    for system in Specs::embedded().unwrap().systems.keys() {
        if let Some(run) = validate(&["--system", system]) {
            parts.extend(run.findings());
        }
    }
    let mut whole = whole.findings();
    whole.sort();
    parts.sort();
    assert_eq!(parts, whole);
}
