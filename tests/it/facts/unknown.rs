//! Tables that no spec knows, and the forward-pass table with its seal.

use crate::common::Tree;
use crate::common::snapshot::message;

const WARP: &str = "systems/data/h200_sxm/vllm/0.24.0/warp_perf.txt";
const HEAD: &str = "framework,version,device,op_name,kernel_source,mode,side,notify_us,latency\n";

fn warp(rows: &[&str]) -> String {
    rows.iter()
        .fold(HEAD.to_owned(), |text, row| text + "VLLM,0.24.0,NVIDIA H200,warp,k," + row + "\n")
}

#[test]
fn a_table_without_a_spec_is_judged_only_by_general_rules() {
    let tree = Tree::new();
    // Zeros, sizes of zero, one key with two latencies: none of it is wrong for certain.
    tree.file(WARP, warp(&["a,0,0,0.5", "a,0,0,0.9", "b,1,0,0"]));
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.findings(), [format!("header-mismatch info {WARP}")]);
    insta::assert_snapshot!(message(&run.finding("header-mismatch")), @"no spec describes warp_perf: only measurements (notify_us in us, latency in ms) and repeated rows are checked; `perfdb-gate suggest` prints a first spec");
    tree.file(WARP, warp(&["a,1,0,0.5", "a,1,0,0.5", "b,1,-1,0.5", "b,2,1,nan"]));
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.code(), 1);
    insta::assert_snapshot!(message(&run.finding("duplicate-key")), @"1 row repeats an earlier row exactly, in every column");
    insta::assert_snapshot!(message(&run.finding("latency-not-positive")), @"notify_us is below zero in 1 row");
    insta::assert_snapshot!(message(&run.finding("latency-not-finite")), @"latency is NaN in 1 row");
    assert_eq!(run.findings().len(), 4, "{:?}", run.findings());
}

#[test]
fn a_table_without_measurements_is_only_decoded() {
    let tree = Tree::new();
    tree.file(WARP, "expert,share\n1,0.5\n1,0.5\n");
    let run = tree.validate(&["--format", "json", "--only", "header-mismatch"]);
    insta::assert_snapshot!(message(&run.finding("header-mismatch")), @"no spec describes warp_perf, and no column has the name of a measurement: the only check is that the file can be read");
}

const FPM: &str = "systems/data/h200_sxm/vllm/0.24.0/fpm_forward_perf.txt";
const SEAL: &str = "systems/data/h200_sxm/vllm/0.24.0/fpm_forward_perf.metadata.json";

/// Rows of the forward pass: a phase, a batch, its prefill and key-value tokens, how these were made.
fn forward(rows: &[(&str, u32, u32, u32, &str)]) -> String {
    let mut text = "cell_id,model_path,system,backend,backend_version,weight_quantization,gemm_quant_mode,\
                    moe_quant_mode,fmha_quant_mode,comm_quant_mode,kv_cache_dtype,tp,pp,dp,moe_tp,moe_ep,cp,\
                    moe_backend,attention_backend,enable_wideep,enable_eplb,workload_kind,batch_size,\
                    total_prefill_tokens,total_kv_read_tokens,partition_policy,kv_seed_regime,latency_ms\n"
        .to_owned();
    for (phase, batch, prefill, kv, seed) in rows {
        text += &format!(
            "c,acme/A,h200_sxm,vllm,0.24.0,fp8,fp8,fp8,bfloat16,half,bfloat16,1,1,1,1,1,1,auto,auto,false,false,\
             {phase},{batch},{prefill},{kv},balanced_v1,{seed},5.5\n"
        );
    }
    text
}

fn seal(text: &str, rows: usize, version: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    serde_json::json!({
        "schema_name": "aic_fpm_forward_perf", "schema_version": 6, "row_count": rows,
        "parquet_sha256": digest, "system": "h200_sxm", "backend": "vllm", "backend_version": version,
    })
    .to_string()
}

#[test]
fn a_forward_pass_table_must_match_its_sealing_sidecar() {
    let tree = Tree::new();
    let text = forward(&[("prefill", 1, 512, 0, "n/a"), ("decode", 8, 0, 4096, "real_kv")]);
    tree.file(FPM, &text);
    let missing = tree.validate(&["--format", "json"]);
    assert_eq!(missing.findings(), [format!("sidecar-missing error {FPM}")]);
    insta::assert_snapshot!(message(&missing.finding("sidecar-missing")), @"fpm_forward_perf.metadata.json is missing, and the loader refuses the table without it");
    tree.file(SEAL, seal(&text, 2, "0.24.0"));
    assert_eq!(tree.validate(&["--format", "json"]).findings(), [""; 0]);
    tree.file(SEAL, seal("another", 3, "0.25.0"));
    let run = tree.validate(&["--format", "json"]);
    insta::assert_snapshot!(message(&run.finding("sidecar-contradiction")), @"fpm_forward_perf.metadata.json says 3 rows, but the table has 2; SHA-256 [sha256], but that of the table is [sha256]; version 0.25.0, but the table is of 0.24.0");
    tree.file(SEAL, r#"{"schema_name": "other"}"#);
    let run = tree.validate(&["--format", "json"]);
    insta::assert_snapshot!(message(&run.finding("sidecar-invalid")), @"systems/data/h200_sxm/vllm/0.24.0/fpm_forward_perf.metadata.json: schema_name is other, not aic_fpm_forward_perf; schema_version is missing, not 6 or 7");
    // A newer loader may read another kind of seal.
    tree.file(SEAL, seal(&text, 2, "0.24.0").replace(":6,", ":8,"));
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(run.findings(), [format!("sidecar-invalid warning {FPM}")]);
    tree.file(SEAL, "{");
    let run = tree.validate(&["--format", "json"]);
    insta::assert_snapshot!(message(&run.finding("sidecar-invalid")), @"systems/data/h200_sxm/vllm/0.24.0/fpm_forward_perf.metadata.json: EOF while parsing an object at line 1 column 1");
}

#[test]
fn rows_of_a_forward_pass_are_judged_as_its_loader_reads_them() {
    let tree = Tree::new();
    let text = forward(&[
        ("decode", 8, 0, 4096, "real_kv"),
        ("decode", 8, 0, 4096, "real_kv"),
        ("decode", 9, 0, 8192, "fake_fallback"),
        ("decode", 16, 1, 4096, "real_kv"),
    ]);
    tree.file(FPM, &text);
    tree.file(SEAL, seal(&text, 4, "0.24.0"));
    let run = tree.validate(&["--format", "json"]);
    assert_eq!(
        run.findings(),
        [
            format!("duplicate-key error {FPM}"),
            format!("key-out-of-range warning {FPM}"),
            format!("kv-cache-not-filled warning {FPM}"),
        ]
    );
    insta::assert_snapshot!(message(&run.finding("kv-cache-not-filled")), @"attention read key-value entries that no prefill had written: kv_seed_regime is fake_fallback");
}
