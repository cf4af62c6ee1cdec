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
fn facts_of_two_months_ago_cause_no_error_in_newer_data() {
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
fn a_new_field_of_sidecars_is_one_info() {
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

#[test]
fn any_framework_may_measure_a_library() {
    let tree = Tree::new();
    // One library that perfdb-gate knows and one that it does not know.
    for (backend, framework) in [("nccl", "SGLang"), ("nvshmem", "vllm")] {
        let dir = format!("systems/data/h200_sxm/comm/{backend}/2.29.7");
        let row = format!("{framework},2.29.7,NVIDIA H200,all_reduce,k,half,2,1024,0.5\n");
        let head = "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n";
        tree.file(&format!("{dir}/nccl_perf.txt"), format!("{head}{row}"));
        let meta =
            sidecar("nccl_perf").replace("framework: vllm", &format!("framework: {framework}"));
        tree.file(&format!("{dir}/collection_meta.yaml"), meta);
    }
    let only =
        ["--format", "json", "--only", "framework-mismatch", "--only", "sidecar-contradiction"];
    // Rows and sidecar of the unknown library are one novelty in two files.
    let expected = [
        "framework-mismatch warning systems/data/h200_sxm/comm/nccl/2.29.7/nccl_perf.txt",
        "framework-mismatch info systems/data/h200_sxm/comm/nvshmem/2.29.7/nccl_perf.txt",
    ];
    assert_eq!(tree.validate(&only).findings(), expected);
}

#[test]
fn an_unknown_figure_of_two_systems_is_one_info() {
    let tree = Tree::new();
    let yaml = include_str!("../../../systems/h200_sxm.yaml").replace("../data/", "data/");
    for name in ["h200_sxm", "h200_b"] {
        let yaml = yaml.replace("\ngpu:\n", "\ngpu:\n  warp_bw: 7\n").replace("h200_sxm", name);
        assert!(yaml.contains("warp_bw"));
        tree.file(&format!("systems/{name}.yaml"), yaml);
    }
    tree.file("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt", gemm(&[(1, 0.5)]));
    let found = tree.validate(&["--format", "json", "--only", "system-suspicious"]).findings();
    assert_eq!(found, ["system-suspicious info systems/h200_b.yaml"]);
}
