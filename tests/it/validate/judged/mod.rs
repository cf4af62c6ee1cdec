//! Findings that were judged by hand, and what the rules learned from that: synthetic rows of each kind.

mod bounds;
mod gaps;
mod levels;
mod lies;
mod signs;
mod sweeps;
mod units;

use crate::common::Tree;
use crate::common::snapshot::message;

/// A tree with a Blackwell system beside the H200.
fn blackwell() -> Tree {
    let tree = Tree::new();
    let facts = std::fs::read_to_string("systems/b200_sxm.yaml").expect("the shipped systems");
    tree.file("systems/b200_sxm.yaml", facts.replace("../data/", "data/"));
    tree
}

/// Severity and message of a rule's only finding; none where it finds nothing.
fn told(tree: &Tree, rule: &str) -> Option<(String, String)> {
    let run = tree.validate(&["--only", rule, "--format", "json"]);
    let found = run.json()["findings"].as_array().expect("findings").len();
    (found > 0).then(|| {
        let finding = run.finding(rule);
        (finding["severity"].as_str().expect("a severity").to_owned(), message(&finding))
    })
}

fn severity(tree: &Tree, rule: &str) -> Option<String> {
    told(tree, rule).map(|(severity, _)| severity)
}

#[test]
fn with_an_fp8_cache_the_bound_uses_the_rate_of_the_faster_dtype() {
    let prefill = |system: &str, latency: f64| {
        let tree = blackwell();
        let row = format!(
            "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,latency\n\
             VLLM,0.24.0,NVIDIA B200,context_attention,flashinfer,8,16384,64,8,128,1,bfloat16,fp8,0,{latency}\n"
        );
        tree.file(&format!("systems/data/{system}/vllm/0.24.0/context_attention_perf.txt"), row);
        severity(&tree, "below-speed-of-light")
    };
    // 35.2 TFLOP: 15.6 ms at 2,250 TFLOP/s in bfloat16, 7.8 ms in fp8.
    assert_eq!(prefill("b200_sxm", 9.0), None, "computed in fp8");
    assert_eq!(prefill("b200_sxm", 7.0).as_deref(), Some("error"));
    // 35.6 ms at 989 TFLOP/s, 17.8 ms in fp8, which Hopper's kernels stay far from.
    assert_eq!(prefill("h200_sxm", 30.0).as_deref(), Some("warning"));
    assert_eq!(prefill("h200_sxm", 17.0).as_deref(), Some("error"));
}

#[test]
fn a_decode_above_the_memory_bandwidth_is_an_error_unless_a_cache_explains_it() {
    let decode = |latency: f64| {
        let tree = blackwell();
        let row = format!(
            "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,attn_dtype,kv_cache_dtype,step,latency\n\
             TRTLLM,1.3.0,NVIDIA B200,generation_attention,torch_flow,64,1,64,8,128,1,bfloat16,bfloat16,16384,{latency}\n"
        );
        tree.file("systems/data/b200_sxm/trtllm/1.3.0/generation_attention_perf.txt", row);
        told(&tree, "below-speed-of-light")
    };
    // 4.3 GB: 0.558 ms at 7.7 TB/s.
    assert_eq!(decode(0.57), None);
    assert_eq!(decode(0.52).unwrap().0, "warning");
    let (severity, message) = decode(0.3).unwrap();
    assert_eq!(severity, "error");
    insta::assert_snapshot!(message, @"1 row takes less time than reading its data takes at the memory bandwidth, down to 53.8 % of it (14.3 TB/s on a GPU of 7.7 TB/s); no cache explains this");
}

#[test]
fn a_fast_point_with_the_latency_of_its_peers_is_not_a_drop() {
    let rows = |version: &str, middle: f64, others: f64| {
        let rows: Vec<(u64, f64)> =
            (1..=9).map(|m| (m, if m == 5 { middle } else { others })).collect();
        crate::common::gemm(&rows).replace("0.24.0", version)
    };
    let of = |peer: f64| {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", rows("0.24.0", 0.03, 0.3));
        let path = "systems/data/h200_sxm/vllm/0.22.0/gemm_perf.txt";
        tree.file(path, rows("0.22.0", peer, peer));
        told(&tree, "latency-drop")
    };
    assert_eq!(of(0.04), None, "its neighbours are slow");
    let (severity, message) = of(0.28).unwrap();
    assert_eq!(severity, "info");
    insta::assert_snapshot!(message, @"1 point is faster than its neighbours along column m, by up to 10.0×");
}

/// A text table of MLA prefill, a row for each `tp_size` at ten lengths.
fn chains(latency: impl Fn(u64, u64) -> f64) -> String {
    let header = "framework,version,device,op_name,kernel_source,mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency\n";
    let row = |tp: u64, i: u64| {
        let isl = i * 1024;
        let latency = i as f64 * latency(tp, i);
        format!(
            "SGLang,0.5.14,NVIDIA H200,mla_context,fa3,bfloat16,bfloat16,16,4,{isl},{tp},0,{latency}\n"
        )
    };
    let rows = [4, 8].into_iter().flat_map(|tp| (1..=40).map(move |i| (tp, i)));
    header.to_owned() + &rows.map(|(tp, i)| row(tp, i)).collect::<String>()
}

#[test]
fn copies_of_overlapping_sweeps_are_infos_until_many_contradict() {
    let of = |text: String| {
        let tree = Tree::new();
        tree.file("systems/data/h200_sxm/sglang/0.5.14/context_mla_perf.txt", text);
        told(&tree, "duplicate-key").unwrap()
    };
    let (severity, message) = of(chains(|tp, i| if tp == 8 && i == 3 { 2.0 } else { 1.0 }));
    assert_eq!(severity, "info");
    insta::assert_snapshot!(message, @"40 rows repeat the key of an earlier row; the loader uses the first and drops the others; 1 key has copies that differ by more than 10 % (up to 2.00×); the copies differ in tp_size, and sweeps overlap there by design");
    assert_eq!(of(chains(|tp, i| if tp == 8 && i < 9 { 2.0 } else { 1.0 })).0, "error");
    // The same chain twice is a run appended, which nothing designed.
    let again = |tp| chains(move |_, _| 1.0).replace(",8,0,", &format!(",{tp},0,"));
    assert_eq!(of(again(4)).0, "warning");
}

#[test]
fn copies_that_reruns_explain_are_a_warning_not_an_error() {
    let of = |factor: f64| {
        let tree = Tree::new();
        let rows: Vec<(u64, f64)> = (1..=12).map(|m| (m, 0.3)).collect();
        let again: Vec<(u64, f64)> = rows.iter().map(|(m, t)| (*m, t * factor)).collect();
        tree.gemm("gemm_perf.txt", crate::common::gemm(&[rows, again].concat()));
        severity(&tree, "duplicate-key").unwrap()
    };
    assert_eq!(of(1.11), "warning", "1.127 is the 99th percentile of reruns below 1 ms");
    assert_eq!(of(1.5), "error");
}

#[test]
fn models_with_different_native_heads_share_no_key() {
    let header = "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,batch_size,isl,tp_size,step,latency\n";
    let row = |model: &str| {
        format!(
            "VLLM,0.27.0,NVIDIA H200,mla_context_module,default,{model},a,bfloat16,bfloat16,bfloat16,16,1,64,1,0,1.0\n"
        )
    };
    let of = |models: [&str; 2]| {
        let tree = Tree::new();
        let rows = header.to_owned() + &models.map(row).concat();
        tree.file("systems/data/h200_sxm/vllm/0.27.0/mla_context_module_perf.txt", rows);
        told(&tree, "duplicate-key")
    };
    assert_eq!(of(["deepseek-ai/DeepSeek-V3", "moonshotai/Kimi-K3"]), None);
    let (severity, message) = of(["deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-R1"]).unwrap();
    assert_eq!(severity, "warning");
    insta::assert_snapshot!(message, @"1 row repeats the key of an earlier row; the loader uses the first and drops the others; the copies differ in model, which is not part of the key: deepseek-ai/DeepSeek-R1, deepseek-ai/DeepSeek-V3");
}

#[test]
fn rows_without_power_are_not_an_error_and_their_share_is_reported() {
    let of = |rows: &str| {
        let tree = Tree::new();
        let header = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency,power,power_limit\n";
        tree.gemm("gemm_perf.txt", header.to_owned() + rows);
        tree
    };
    let row = |dtype: &str, m: u32, power: &str| {
        format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,{dtype},{m},128,128,0.5,{power}\n")
    };
    let pairs =
        of(&(row("bfloat16", 1, "310.5,700") + &row("fp8", 1, "0.0,0.0") + &row("fp8", 2, ",")));
    assert_eq!(severity(&pairs, "power-out-of-range"), None);
    assert_eq!(severity(&pairs, "power-limit-mismatch"), None);
    let (level, message) = told(&pairs, "power-coverage").unwrap();
    assert_eq!(level, "info");
    insta::assert_snapshot!(message, @"1 of 3 rows have a power reading: none of 2 in gemm_dtype=fp8");
    let zero = of(&(row("bfloat16", 1, "310.5,700") + &row("fp8", 1, "0.0,700")));
    assert_eq!(severity(&zero, "power-out-of-range").as_deref(), Some("error"));
}

#[test]
fn zero_power_at_zero_latency_is_an_info() {
    let header = "framework,version,device,op_name,kernel_source,quant_dtype,m,k,latency,power,power_limit\n";
    let row = |m: u32, rest: &str| {
        format!("VLLM,0.24.0,NVIDIA H200,compute_scale,default,fp8,{m},128,{rest}\n")
    };
    let of = |rest: &str| {
        let tree = Tree::new();
        let rows = header.to_owned() + &row(1, "0.002,250.5,700") + &row(2, rest);
        tree.file("systems/data/h200_sxm/vllm/0.24.0/computescale_perf.txt", rows);
        severity(&tree, "power-out-of-range")
    };
    assert_eq!(of("0.0,0.0,700").as_deref(), Some("info"));
    assert_eq!(of("0.002,0.0,700").as_deref(), Some("error"));
}

#[test]
fn a_point_that_is_fast_at_the_end_of_every_axis_is_not_a_drop() {
    let moe = |backend: &str, first: f64| {
        let header = "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency\n";
        let row = |tokens: u32| {
            let latency = if tokens == 1 { first } else { 0.5 + f64::from(tokens) / 1000.0 };
            format!(
                "{backend},1.0.0,NVIDIA H200,moe,k,bfloat16,{tokens},2048,768,8,128,1,1,power_law_1.2,{latency}\n"
            )
        };
        header.to_owned() + &(0..8).map(|i| row(1 << i)).collect::<String>()
    };
    let tree = Tree::new();
    let path = |backend: &str| format!("systems/data/h200_sxm/{backend}/1.0.0/moe_perf.txt");
    tree.file(&path("trtllm"), moe("TRTLLM", 0.02));
    assert_eq!(told(&tree, "latency-drop"), None, "an expert may be idle");
}
