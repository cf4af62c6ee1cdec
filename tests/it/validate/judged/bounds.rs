//! A row that is too fast for each bound beside one that is not. Synthetic rows.

use std::collections::BTreeSet;

use perfdb_gate::checks::rule::Rules;
use perfdb_gate::specs::{Library, Specs};

use super::{severity, told};
use crate::common::Tree;

/// The header of the columns that all tables have, and their values on a system.
const PLACE: &str = "framework,version,device,op_name,kernel_source";

/// A tree with one row of a table on a shipped system; `columns` and `row` follow those of every table.
fn tree(system: &str, table: &str, op: &str, columns: &str, row: &str) -> Tree {
    let tree = Tree::new();
    let facts = std::fs::read_to_string(format!("systems/{system}.yaml")).expect("shipped");
    tree.file(&format!("systems/{system}.yaml"), facts.replace("../data/", "data/"));
    let text = format!("{PLACE},{columns}\nVLLM,0.24.0,NVIDIA,{op},{row}\n");
    tree.file(&format!("systems/data/{system}/vllm/0.24.0/{table}.txt"), text);
    tree
}

fn judged(system: &str, table: &str, op: &str, columns: &str, row: &str) -> Option<String> {
    severity(&tree(system, table, op, columns, row), "below-speed-of-light")
}

#[test]
fn an_all_to_all_between_nodes_is_bounded_by_the_network_card() {
    let columns = "nccl_dtype,num_gpus,message_size,latency";
    let of = |system: &str, op: &str, gpus: u32, latency: f64| {
        let row = format!("NCCL,half,{gpus},1000000000,{latency}");
        told(&tree(system, "nccl_perf", op, columns, &row), "below-speed-of-light")
    };
    // Half of 2 GB at 50 GB/s: 20 ms.
    let (level, message) = of("h200_sxm", "alltoall", 16, 15.0).unwrap();
    assert_eq!(level, "warning");
    insta::assert_snapshot!(message, @"1 row takes less time than sending what leaves its node or rack takes at the network card's bandwidth, down to 75.0 % of it");
    assert_eq!(of("h200_sxm", "alltoall", 16, 21.0), None);
    assert_eq!(of("h200_sxm", "all_gather", 16, 15.0), None, "a switch or a ring sends less");
    assert_eq!(of("h200_sxm", "alltoall", 8, 15.0), None, "one node");
    assert_eq!(of("gb200", "alltoall", 16, 15.0), None, "one rack of one NVLink domain");
    // Half of 2 GB at 100 GB/s: 10 ms.
    assert_eq!(of("gb200", "alltoall", 144, 9.0).unwrap().0, "warning");
    assert_eq!(of("gb200", "alltoall", 144, 10.5), None);
}

#[test]
fn a_system_without_gpus_per_node_is_named_if_the_network_bound_is_unknown() {
    let columns = "nccl_dtype,num_gpus,message_size,latency";
    let tree = tree("h200_sxm", "nccl_perf", "alltoall", columns, "NCCL,half,16,1000000000,15");
    let facts = std::fs::read_to_string(tree.path().join("systems/h200_sxm.yaml")).unwrap();
    tree.file("systems/h200_sxm.yaml", facts.replace("num_gpus_per_node", "gpus"));
    let (_, message) = told(&tree, "below-speed-of-light").unwrap();
    assert!(message.ends_with("h200_sxm states no node.num_gpus_per_node"), "{message}");
}

#[test]
fn a_prefill_faster_than_the_rate_of_its_labelled_dtype_is_a_warning() {
    let columns = "mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency";
    let of = |dtypes: &str, latency: f64| {
        let row = format!("default,{dtypes},128,8,16384,1,0,{latency}");
        told(&tree("b200_sxm", "context_mla_perf", "mla", columns, &row), "below-speed-of-light")
    };
    // 88 TFLOP: 39.1 ms at 2,250 TFLOP/s in bfloat16, 19.5 ms in fp8.
    let (level, message) = of("bfloat16,fp8", 30.0).unwrap();
    assert_eq!(level, "warning");
    insta::assert_snapshot!(message, @"1 row takes less time than the arithmetic takes at the peak rate of mla_dtype (a kernel that computes in the cache's fp8 may be faster), down to 76.7 % of it");
    assert_eq!(of("bfloat16,fp8", 40.0), None);
    assert_eq!(of("fp8,fp8", 30.0), None);
    assert_eq!(of("bfloat16,fp8", 15.0).unwrap().0, "error");
    assert_eq!(of("bfloat16,bfloat16", 30.0).unwrap().0, "error");
}

/// A table, its columns, a row with `T` for its time, a time below its bound, one above it, and the severity below it.
type BoundCase = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Rows on H200: 4.8 TB/s, 50 GB/s over the network.
const CASES: &[BoundCase] = &[
    (
        "wideep_deepep_ll_perf",
        "node_num,hidden_size,num_token,num_topk,num_experts,combine_avg_t_us,combine_bandwidth_gbps,dispatch_avg_t_us,dispatch_bandwidth_gbps",
        "deepep,2,7168,128,8,256,200,70,T,70",
        "60",
        "80",
    ),
    (
        "wideep_deepep_normal_perf",
        "node_num,hidden_size,num_token,num_topk,num_experts,dispatch_sms,combine_sms,dispatch_transmit_us,dispatch_notify_us,combine_transmit_us,combine_notify_us",
        "deepep,2,7168,4096,8,256,20,20,T,10,900,10",
        "250",
        "300",
    ),
    (
        "moe_a2a_perf",
        "comm_backend,phase,comm_dtype,ep_size,node_num,hidden_size,topk,num_experts,num_tokens,sms,transmit_us,notify_us,latency",
        "deepep,deepep_ht,dispatch,default,16,2,7168,8,256,4096,0,T,0,T",
        "100",
        "150",
    ),
    (
        "generation_mla_perf",
        "mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency",
        "default,bfloat16,bfloat16,16,512,1,1,16383,T",
        "1.9",
        "2.1",
    ),
    (
        "moe_perf",
        "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency",
        "triton,bfloat16,1,7168,2048,8,256,1,1,balanced,T",
        "0.09",
        "0.1",
    ),
    ("scale_matrix_perf", "m,k,quant_dtype,latency", "cuda,65536,16384,fp8,T", "0.6", "0.7"),
    (
        "mhc_module_perf",
        "architecture,num_tokens,hc_mult,hidden_size,latency",
        "tilelang,DeepseekV4ForCausalLM,65536,4,7168,T",
        "0.9",
        "1.0",
    ),
    (
        "gdn_perf",
        "phase,batch_size,seq_len,num_tokens,d_model,d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,model_name,latency",
        "fused_recurrent_gated_delta_rule,generation,1024,1,1024,4096,4,16,128,64,128,m,T",
        "0.8",
        "0.9",
    ),
    (
        "kda_perf",
        "phase,batch_size,seq_len,num_tokens,d_model,d_conv,num_k_heads,head_k_dim,num_v_heads,head_v_dim,model_name,latency",
        "fused_kda_decode,generation,1024,1,1024,4096,4,64,128,64,128,m,T",
        "0.8",
        "0.9",
    ),
    (
        "mamba2_perf",
        "phase,batch_size,seq_len,num_tokens,d_model,d_state,d_conv,nheads,head_dim,n_groups,chunk_size,model_name,latency",
        "mamba_chunk_scan_combined,context,64,8192,524288,4096,128,4,128,64,8,256,m,T",
        "3.9",
        "4.1",
    ),
];

#[test]
fn a_row_below_a_bound_is_a_warning_and_a_row_above_it_has_no_finding() {
    for (table, columns, row, below, above) in CASES {
        let of = |time: &str| judged("h200_sxm", table, "pre", columns, &row.replace('T', time));
        assert_eq!(of(below).as_deref(), Some("warning"), "{table}");
        assert_eq!(of(above), None, "{table}");
    }
}

#[test]
fn an_mlp_below_its_arithmetic_bound_is_an_error() {
    let of = |time: &str| {
        let (columns, row) = (
            "quant_type,num_token,hidden_size,intermediate_size,avg_ms",
            "x,fp8_block,16384,7168,2048,",
        );
        judged("h200_sxm", "wideep_context_mlp_perf", "mlp", columns, &format!("{row}{time}"))
    };
    // 962 GFLOP: 0.49 ms at 1,978 TFLOP/s.
    assert_eq!(of("0.4").as_deref(), Some("error"));
    assert_eq!(of("0.5"), None);
}

#[test]
fn the_speed_of_light_rule_names_exactly_the_tables_without_a_bound() {
    let rules = Rules::with_examples(&Library::embedded()).unwrap();
    let rule = rules.all().find(|rule| rule.id == "below-speed-of-light").unwrap();
    let said = rule.details.join(" ");
    let words: BTreeSet<&str> = said.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    for spec in Specs::embedded().unwrap().tables.values() {
        assert_eq!(spec.bounds.is_empty(), words.contains(&*spec.name), "{}", spec.name);
    }
}
