//! `perfdb-gate status`, run on small trees of synthetic rows.

use crate::common::snapshot::shown;
use crate::common::{Run, Tree, gemm, run};
use serde_json::{Value, json};

const LAYOUT: &str = "systems/data";

/// Two systems of a generation: the H200 has gemm in two versions, the H100 gemm and mla_bmm in one.
fn tree() -> Tree {
    let tree = Tree::new();
    let h100 = std::fs::read_to_string("systems/h100_sxm.yaml").expect("a shipped system");
    tree.file("systems/h100_sxm.yaml", h100.replace("../data/", "data/"));
    let of = |system: &str, family: &str, version: &str, file: &str| {
        format!("{LAYOUT}/{system}/{family}/vllm/{version}/{file}")
    };
    let device = |text: String| text.replace("NVIDIA H200", "NVIDIA H100 80GB HBM3");
    tree.file(
        &of("h200_sxm", "gemm", "0.22.0", "gemm_perf.txt"),
        gemm(&[(1, 0.5)]).replace("0.24.0", "0.22.0"),
    );
    tree.file(
        &of("h200_sxm", "gemm", "0.24.0", "gemm_perf.txt"),
        gemm(&[(1, 0.5), (2, 0.5), (2, 0.51)]),
    );
    tree.file(
        &of("h100_sxm", "gemm", "0.24.0", "gemm_perf.txt"),
        device(gemm(&[(1, 0.5), (2, 0.5)])),
    );
    let bmm = "framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n\
               VLLM,0.24.0,NVIDIA H100 80GB HBM3,mla_gen_pre,default,bfloat16,1,128,0.5\n";
    tree.file(&of("h100_sxm", "mla_bmm", "0.24.0", "mla_bmm_perf.txt"), bmm);
    tree
}

fn status(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let mut all = vec!["status", "--root", &root];
    all.extend(args);
    run(&all)
}

fn json(tree: &Tree, args: &[&str]) -> Value {
    let run = status(tree, &[&["--format", "json"], args].concat());
    assert_eq!(run.code(), 0, "{}", run.err());
    serde_json::from_str(&run.out()).expect("JSON")
}

fn cell<'a>(map: &'a Value, table: &str, system: &str) -> &'a Value {
    let systems = map["systems"].as_array().unwrap();
    let at = systems.iter().position(|name| name == system).unwrap();
    let row = map["tables"].as_array().unwrap().iter().find(|row| row["table"] == table).unwrap();
    &row["cells"][at]
}

#[test]
fn a_cell_of_the_map_counts_the_findings_of_validate() {
    let tree = tree();
    let map = json(&tree, &[]);
    assert_eq!(map["schema"], "perfdb-gate/health/v1");
    let gemm = cell(&map, "gemm", "h200_sxm");
    assert_eq!(gemm["versions"], json!(["vllm 0.24.0", "vllm 0.22.0"]));
    let found = tree.validate(&["--format", "json"]).json()["findings"].as_array().unwrap().clone();
    for (count, severity) in [("errors", "error"), ("warnings", "warning"), ("infos", "info")] {
        let is_own = |f: &&Value| {
            f["table"] == "gemm_perf" && f["system"] == "h200_sxm" && f["severity"] == severity
        };
        assert_eq!(gemm[count], found.iter().filter(is_own).count(), "{severity}");
    }
    assert_eq!(cell(&map, "mla_bmm", "h200_sxm"), &Value::Null, "the system has no such table");
    assert_ne!(cell(&map, "mla_bmm", "h100_sxm"), &Value::Null);
}

#[test]
fn the_map_of_tables_equals_its_snapshot() {
    let tree = tree();
    let markdown = status(&tree, &["--format", "markdown"]);
    let runs = [status(&tree, &[]), markdown, status(&tree, &["--quiet"])];
    insta::assert_snapshot!(shown(&runs));
}

#[test]
fn a_selection_limits_the_map_to_its_tables() {
    let tree = tree();
    let map = json(&tree, &["--system", "h200_sxm", "--version", "0.22.0"]);
    assert_eq!(map["systems"], json!(["h200_sxm"]));
    assert_eq!(cell(&map, "gemm", "h200_sxm")["versions"], json!(["vllm 0.22.0"]));
    assert_eq!(status(&tree, &["--system", "h20"]).code(), 2);
    assert_eq!(status(&tree, &["--backend", "sglang"]).code(), 2);
    assert_eq!(json(&tree, &["--threads", "1"]), json(&tree, &["--threads", "4"]));
}

#[test]
fn a_damaged_table_is_an_error_in_its_cell_of_the_map() {
    let tree = tree();
    tree.file(&format!("{LAYOUT}/h200_sxm/gemm/vllm/0.24.0/gemm_perf.txt"), "");
    let map = json(&tree, &[]);
    assert_eq!(cell(&map, "gemm", "h200_sxm")["worst"], "error");
}
