//! The audit of a change. All rows are synthetic.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::common::{Tree, gemm};

const NEW: &str = "systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt";
const GONE: &str = "systems/data/h200_sxm/vllm/0.22.0/gemm_perf.txt";

/// A change that doubles a latency of one table, repeats a row in it and deletes another table.
fn change() -> Tree {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.01), (2, 0.02), (4, 0.04)]));
    tree.file(GONE, gemm(&[(1, 0.01)]).replace("0.24.0", "0.22.0"));
    tree.commit();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.01), (2, 0.02), (4, 0.08), (4, 0.16)]));
    tree.remove(GONE);
    tree
}

fn audit(tree: &Tree) -> (Value, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("audit.json");
    let report = format!("audit={}", file.display());
    tree.sanity(&["--base-ref", "main", "--report", &report]);
    let bytes = std::fs::read(file).unwrap();
    (serde_json::from_slice(&bytes).unwrap(), bytes)
}

#[test]
fn an_audit_lists_contents_and_verdicts_deterministically() {
    let tree = change();
    let (audit, bytes) = audit(&tree);
    assert_eq!(audit["schema"], "perfdb-gate/audit/v1");
    let table = |path: &str| {
        let mut tables = audit["tables"].as_array().unwrap().iter();
        tables.find(|table| table["path"] == path).unwrap()
    };
    let changed = table(NEW);
    let text = std::fs::read(tree.path().join(NEW)).unwrap();
    let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(changed["after"]["sha256"], digest);
    assert_eq!(changed["after"]["bytes"], text.len());
    assert_eq!((&changed["before"]["rows"], &changed["after"]["rows"]), (&json!(3), &json!(4)));
    assert_eq!(changed["after"]["key"], json!(["gemm_dtype", "k", "m", "n"]));
    let columns = |state: &str, column: &str| changed[state]["columns"][column].clone();
    assert_eq!(columns("after", "m")["type"], "int");
    assert_eq!(columns("after", "m")["range"], json!([1, 4]));
    assert_eq!(columns("before", "latency")["range"], json!([0.01, 0.04]));
    assert_eq!(columns("after", "latency")["range"], json!([0.01, 0.16]));
    assert_eq!(columns("after", "gemm_dtype")["texts"], json!(["bfloat16"]));
    assert_eq!(
        changed["after"]["slices"],
        json!([{"slice": {"gemm_dtype": "bfloat16"}, "rows": 4}])
    );
    let verdict = |rule: &str| changed["verdicts"][rule].clone();
    assert_eq!(verdict("duplicate-key"), json!({"rows": 4, "clean": false, "findings": 1}));
    assert_eq!(verdict("latency-not-positive"), json!({"rows": 4, "clean": true, "findings": 0}));
    assert_eq!(verdict("copied-table")["clean"], true, "it compares tables");
    assert_eq!(verdict("sidecar-missing"), Value::Null, "it reads no rows");
    let gone = table(GONE);
    assert_eq!((&gone["after"], &gone["before"]["rows"]), (&Value::Null, &json!(1)));
    assert_eq!(gone["verdicts"], json!({}));
    assert!(audit["findings"].as_array().unwrap().iter().any(|f| f["rule"] == "duplicate-key"));
    assert_eq!(self::audit(&tree).1, bytes);
}

#[test]
fn an_audit_needs_a_base_commit() {
    let run = change().validate(&["--format", "audit"]);
    assert_eq!(run.code(), 2);
    insta::assert_snapshot!(run.err(), @r"
    perfdb-gate: stages and audits are of a change, and this command judges one state
    hint: `perfdb-gate sanity --base-ref REF` compares a change with its base
    ");
}
