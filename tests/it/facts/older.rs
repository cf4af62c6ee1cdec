//! Facts that are older than the data: no error, and one finding for each novelty. All rows are synthetic.

use super::{gemm_under, sidecar};
use crate::common::{Run, Tree, gemm};

const VERSIONS: [&str; 2] = ["0.24.0", "0.25.0"];

/// Writes a table of a version with its sidecar. `rows` start behind the device and end before their last digit.
fn table(tree: &Tree, family: &str, name: &str, version: &str, columns: &str, rows: &[&str]) {
    let dir = format!("systems/data/h200_sxm/{family}/vllm/{version}");
    let last = &version[3..4];
    let rows = rows.iter().map(|row| format!("VLLM,{version},NVIDIA H200,{row}{last}\n"));
    let head = "framework,version,device,op_name,kernel_source,";
    let text = format!("{head}{columns}\n{}", rows.collect::<String>());
    tree.file(&format!("{dir}/{name}.txt"), text);
    let meta = sidecar(name).replace("0.24.0", version);
    tree.file(&format!("{dir}/collection_meta.yaml"), meta);
}

#[test]
fn facts_of_two_months_ago_are_no_error_in_newer_data() {
    let tree = Tree::new();
    let moe = "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,default_eligible,latency";
    let rows = [
        "moe,triton,fp8,1,128,128,2,8,1,1,uniform,true,0.5",
        "moe,trtllm,fp8,1,128,128,2,8,1,1,uniform,false,0.9",
    ];
    table(&tree, "moe", "moe_perf", "0.24.0", moe, &rows);
    let exchange = "comm_backend,phase,comm_dtype,ep_size,node_num,hidden_size,topk,num_experts,num_tokens,transmit_us,notify_us,latency";
    let rows = ["moe_a2a,k,deepep,combine,fp4,2,1,4096,8,256,1,20.0,0.5,20.0"];
    for version in VERSIONS {
        table(&tree, "comm", "moe_a2a_perf", version, exchange, &rows);
    }
    assert_eq!(tree.validate(&["--format", "json"]).findings(), [""; 0]);
    let older = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/older_facts");
    let found = tree.validate(&["--format", "json", "--rules", older]).findings();
    let expected = [
        "key-out-of-range info systems/data/h200_sxm/comm/vllm/0.24.0/moe_a2a_perf.txt",
        "duplicate-key warning systems/data/h200_sxm/moe/vllm/0.24.0/moe_perf.txt",
    ];
    assert_eq!(found, expected, "the copies and the unknown column are one novelty");
}

#[test]
fn a_novelty_of_sidecars_is_one_info() {
    let judged = |old: &str, new: &str| -> Run {
        let tree = Tree::new();
        for (version, latency) in VERSIONS.iter().zip([0.5, 0.7]) {
            let dir = format!("systems/data/h200_sxm/gemm/vllm/{version}");
            let rows = gemm(&[(1, latency), (2, latency + 0.1)]).replace("0.24.0", version);
            tree.file(&format!("{dir}/gemm_perf.txt"), rows);
            let meta = sidecar("gemm_perf").replace("0.24.0", version).replace(old, new);
            tree.file(&format!("{dir}/collection_meta.yaml"), meta);
        }
        tree.validate(&["--format", "json"])
    };
    assert_eq!(judged("", "").findings(), [""; 0]);
    for (rule, old, new) in [
        ("sidecar-invalid", "schema_version: 1", "schema_version: 3"),
        ("sidecar-invalid", "status: complete", "status: done"),
        ("sidecar-contradiction", "framework: vllm", "framework: newfw"),
    ] {
        let path = "systems/data/h200_sxm/gemm/vllm/0.24.0/collection_meta.yaml";
        assert_eq!(judged(old, new).findings(), [format!("{rule} info {path}")], "{new}");
    }
}

#[test]
fn the_tables_of_an_unknown_family_are_one_info() {
    let tree = Tree::new();
    gemm_under(&tree, "warp");
    let nccl = "nccl_dtype,num_gpus,message_size,latency";
    table(&tree, "warp", "nccl_perf", "0.25.0", nccl, &["all_reduce,nccl,half,2,1024,0.5"]);
    let only = ["--format", "json", "--only", "table-misplaced"];
    let path = "systems/data/h200_sxm/warp/vllm/0.24.0/gemm_perf.txt";
    assert_eq!(tree.validate(&only).findings(), [format!("table-misplaced info {path}")]);
    // The folder of another known family is wrong for each table by itself.
    tree.rename("systems/data/h200_sxm/warp", "systems/data/h200_sxm/attention");
    assert_eq!(tree.validate(&only).findings().len(), 2);
}
