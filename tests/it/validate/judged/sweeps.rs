//! Signs in the sweep of a single table: series whose latency does not grow, parts of the key that change nothing, and last
//! steps that are too long. Synthetic rows.

use super::told;
use crate::common::{GEMM, Tree};

/// The message of the rule on slices about a table of one system.
fn says(files: &[(&str, &str, String)]) -> Option<String> {
    let tree = Tree::new();
    for (version, table, rows) in files {
        tree.file(&format!("systems/data/h200_sxm/{version}/{table}.txt"), rows.clone());
    }
    told(&tree, "slice-implausible").map(|(severity, message)| format!("{severity}: {message}"))
}

/// A table of a module that runs prefill attention with its projections, with the latency in ms that `of` returns for
/// the heads and the length.
fn module(backend: &str, version: &str, of: impl Fn(u64, u64) -> f64) -> String {
    let mut rows = "framework,version,device,op_name,kernel_source,model,architecture,mla_dtype,kv_cache_dtype,gemm_type,num_heads,batch_size,isl,tp_size,step,latency\n".to_owned();
    for heads in [16, 32, 64, 128] {
        for isl in (0..16).map(|power| 1_u64 << power) {
            let (tp, latency) = (128 / heads, of(heads, isl));
            rows += &format!(
                "{backend},{version},NVIDIA H200,mla_context_module,default,deepseek-ai/DeepSeek-V3,DeepseekV3ForCausalLM,bfloat16,bfloat16,bfloat16,{heads},1,{isl},{tp},0,{latency:.6}\n"
            );
        }
    }
    rows
}

/// The time of the module's work.
fn work(heads: u64, isl: u64) -> f64 {
    (heads * isl * (4096 + isl)) as f64 / 4e9
}

#[test]
fn a_flat_table_is_reported_and_its_fast_peer_is_not() {
    let graph = || module("VLLM", "0.24.0", |heads, isl| 0.03 + work(heads, isl));
    let eager = |floor: f64| module("SGLang", "0.5.14", move |heads, isl| floor + work(heads, isl));
    let both = |floor: f64| {
        says(&[
            ("vllm/0.24.0", "mla_context_module_perf", graph()),
            ("sglang/0.5.14", "mla_context_module_perf", eager(floor)),
        ])
    };
    let message = both(0.65).unwrap();
    assert!(
        message.starts_with(
            "warning: 4 of 4 series take the same time over 256 times the work and more (0.7"
        ),
        "{message}"
    );
    assert!(message.contains("where vllm 0.24.0 takes 0.03"), "{message}");
    assert!(message.ends_with("a query can ask for this version"), "{message}");
    assert_eq!(both(0.1), None, "not far above its sibling");
    let alone = says(&[("sglang/0.5.14", "mla_context_module_perf", eager(0.65))]);
    assert_eq!(alone, None, "nothing says how long the module takes");
}

#[test]
fn a_constant_in_every_latency_of_a_kernel_is_reported() {
    let gemm = |constant: f64, slow: f64| {
        let mut rows = GEMM.to_owned();
        for (n, k) in [(4096, 4096), (7168, 2048), (2048, 7168), (4096, 2048)] {
            for m in (0..15).map(|power| 1_u64 << power) {
                let need = (2 * m * n * k) as f64 / 989e9;
                let latency = constant + slow * (0.004 + need / 0.7);
                rows += &format!(
                    "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},{k},{latency:.6}\n"
                );
            }
        }
        says(&[("vllm/0.24.0", "gemm_perf", rows)])
    };
    let flushed = gemm(0.085, 1.0).unwrap();
    assert!(flushed.starts_with("warning: 4 of 4 series take the same time"), "{flushed}");
    assert_eq!(gemm(0.03, 1.0), None, "a few launches");
    assert_eq!(gemm(0.0, 1.0), None);
}

/// Decode attention with and without windows, with the latency in ms that `of` returns for the window, the batch and the
/// length.
fn decode(of: impl Fn(u64, u64, u64) -> f64) -> Option<String> {
    let mut rows = "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency\n".to_owned();
    for window in [0, 128, 8192] {
        for batch in [1, 2, 4, 8, 16, 32, 64] {
            for step in (4..18).map(|power| (1_u64 << power) - 1) {
                let latency = of(window, batch, step);
                rows += &format!(
                    "SGLang,0.5.14,NVIDIA H200,generation_attention,default,{batch},1,64,8,128,{window},1,bfloat16,bfloat16,{step},{latency:.6}\n"
                );
            }
        }
    }
    says(&[("sglang/0.5.14", "generation_attention_perf", rows)])
}

/// The time that reading the keys and values of some tokens takes.
fn reading(batch: u64, tokens: u64) -> f64 {
    0.004 + (batch * tokens * 4096) as f64 / 3.6e9
}

#[test]
fn a_window_that_the_kernel_ignores_is_reported() {
    let ignored = decode(|window, batch, step| {
        let tokens = if window == 128 { step.min(window) } else { step };
        reading(batch, tokens) * (1.0 + (step % 7) as f64 / 1e3)
    });
    let message = ignored.unwrap();
    assert!(message.starts_with("warning: window_size 8192 takes as long as 0 at"), "{message}");
    let honoured =
        |window, batch, step: u64| reading(batch, if window > 0 { step.min(window) } else { step });
    assert_eq!(decode(honoured), None);
    let noisy = |window: u64, batch, step| reading(batch, step) * (1.0 + window as f64 / 1e5);
    let message = decode(noisy).unwrap();
    assert!(message.contains("window_size 128"), "8 % more is beyond the noise: {message}");
}

#[test]
fn a_sudden_rise_at_the_end_of_many_series_is_reported() {
    let decode = |cliff: f64, grows: bool, ends: &[u64]| {
        let mut rows = "framework,version,device,op_name,kernel_source,mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency\n".to_owned();
        for (number, step) in (0..18).map(|number| 63 + 1024 * number).enumerate() {
            let end = ends[number % ends.len()];
            for batch in (0..11).map(|power| 1_u64 << power).filter(|batch| *batch <= end) {
                let at_end = if batch >= 512 { cliff } else { 1.0 };
                let work = if grows { batch } else { batch.min(512) };
                let latency = (0.005 + (work * (step + 64) * 1152) as f64 / 3.6e9) * at_end;
                rows += &format!(
                    "SGLang,0.5.14,NVIDIA H200,generation_mla,default,bfloat16,bfloat16,16,{batch},1,8,{step},{latency:.6}\n"
                );
            }
        }
        says(&[("sglang/0.5.14", "generation_mla_perf", rows)])
    };
    let message = decode(3.0, true, &[512]).unwrap();
    let start = "warning: the step from 256 to 512 along batch_size takes 3.0 times as long";
    assert!(message.starts_with(start), "{message}");
    assert!(message.contains("the median of 18 series that end there"), "{message}");
    assert_eq!(decode(1.0, true, &[512]), None);
    assert_eq!(decode(3.0, true, &[1024]), None, "another kernel takes over from 512 on");
    let both = [1024, 512];
    assert_eq!(decode(3.0, true, &both), None, "the same, and some series end there");
    assert!(decode(3.0, false, &both).is_some(), "launches are timed from 512 on");
}
