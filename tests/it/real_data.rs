//! Tests on the public database: `PERFDB_GATE_DATA=CLONE cargo test real_data -- --ignored`, where CLONE
//! is a clone of it with `main` checked out. Nothing of the database is in this repository.

use perfdb_gate::specs::Specs;

use crate::common::{Run, run};
use crate::docs;

/// The clone's path.
fn clone() -> String {
    std::env::var("PERFDB_GATE_DATA")
        .expect("set PERFDB_GATE_DATA to the path of a clone of the public database")
}

/// Runs on the clone's branch `main`.
fn validate(args: &[&str]) -> Run {
    let root = clone();
    let mut all = vec!["validate", "--root", &root, "--ref", "main", "--format", "json"];
    all.extend(args);
    run(&all)
}

#[test]
#[ignore = "needs a clone of the public database: PERFDB_GATE_DATA"]
fn every_table_of_the_public_database_has_a_spec_and_its_columns() {
    let run = validate(&["--only", "header-mismatch"]);
    // Two NCCL tables were written before identity columns were.
    let found = run.findings();
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found.iter().all(|f| f.starts_with("header-mismatch warning ")
        && f.ends_with("comm/nccl/2.23/nccl_perf.parquet")));
}

#[test]
#[ignore = "needs a clone of the public database: PERFDB_GATE_DATA"]
fn repeated_keys_of_the_public_database_are_the_known_ones() {
    let run = validate(&["--only", "duplicate-key"]);
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
#[ignore = "needs a clone of the public database: PERFDB_GATE_DATA"]
fn runs_on_single_systems_find_the_same_as_one_run_on_all() {
    let whole = validate(&[]);
    let mut parts: Vec<String> = Vec::new();
    for (system, _) in Specs::embedded().unwrap().systems.iter() {
        parts.extend(validate(&["--system", system]).findings());
    }
    let mut whole = whole.findings();
    whole.sort();
    parts.sort();
    assert_eq!(parts, whole);
}

#[test]
#[ignore = "needs a clone of the public database: PERFDB_GATE_DATA"]
fn the_figures_of_the_page_of_found_errors_are_reproducible() {
    let root = clone();
    let page = std::fs::read_to_string("docs/found.md").unwrap();
    let whole = run(&["validate", "--root", &root, "--format", "json"]);
    let count = |name: &str| whole.json()["summary"][name].clone();
    let says = format!("({} tables, ", count("tables"));
    assert!(page.contains(&says) && page.contains(&format!(" {} errors", count("errors"))));
    for (what, rows, command) in docs::caught() {
        let mut words = command.split_whitespace().skip(1);
        let mut args: Vec<&str> = Vec::new();
        while let Some(word) = words.next() {
            args.push(word);
            if word == "--root" {
                assert_eq!(words.next(), Some("aiconfigurator"));
                args.push(&root);
            }
        }
        args.extend(["--format", "json"]);
        let json = run(&args).json();
        let findings = json["findings"].as_array().unwrap();
        let errors = findings.iter().filter(|f| f["severity"] == "error");
        assert_eq!(errors.map(|f| f["rows"].as_u64().unwrap()).sum::<u64>(), rows, "{what}");
    }
}
