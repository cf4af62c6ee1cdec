//! Cards: their fields, and contradictions between fields.

use super::{CARD, Cases, NONE, Traces, told, told_of};
use crate::common::run;

#[test]
fn a_field_of_a_card_at_the_wrong_level_is_named_with_its_place() {
    let executor = CARD.find("Model-executor:").unwrap();
    let end = CARD.find("metric_source:").unwrap();
    let inside: String = CARD[executor..end].lines().map(|l| format!("  {l}\n")).collect();
    let text = format!("{}{inside}{}", &CARD[..executor], &CARD[end..]);
    let traces = Traces::new();
    traces.file("qwen3-tp4/qwen3-tp4.yaml", text);
    insta::assert_snapshot!(traces.told().join("\n"), @"error card-invalid: Model-executor is inside workload, but it belongs at the top level (line 29)");
    // A field alone, too.
    insta::assert_snapshot!(told_of(
            "x",
            &[
                ("      total_count: 4\n", ""),
                ("    driver_version", "    total_count: 4\n    driver_version")
            ]
        ).join("\n"), @"error card-invalid: total_count is inside workload.hardware, but it belongs inside workload.hardware.xpu_spec (line 27)");
    // What it holds is judged all the same.
    let traces = Traces::new();
    let text = format!("{}{inside}{}", &CARD[..executor], &CARD[end..]);
    traces.file("qwen3-tp2/qwen3-tp2.yaml", text);
    insta::assert_snapshot!(traces.told().join("\n"), @"
    error card-contradiction: its directory says tp 2, but the file says 4 (line 35)
    error card-invalid: Model-executor is inside workload, but it belongs at the top level (line 29)
    ");
}

#[test]
fn wrong_types_unknown_values_and_missing_fields_of_a_card_are_reported() {
    let mut cases = Cases::default();
    for (replaced, kind) in [
        (("    tp: 4\n", ""), "error card-invalid"),
        (("    tp: 4\n", "    tps: 4\n"), "error card-invalid"),
        (("tp: 4", "tp: '4'"), "error card-invalid"),
        (("tp: 4", "tp: 0"), "error card-invalid"),
        (("tp: 4", "tp: 3.5"), "error card-invalid"),
        (("moe: false", "moe: 'no'"), "error card-invalid"),
        (("phase: inference", "phase: prefill"), "error card-invalid"),
        (("precision: bf16", "precision: bf17"), "warning card-invalid"),
        (("batch_size: 8", "batch_size: TBD"), "warning card-invalid"),
        (("        - 200\n", "        - N/A\n"), "warning card-invalid"),
        (("batch_size: 8", "batch_size: .nan"), "error unreadable"),
        (("batch_size: 8", "batch_size: {a: 1}"), "error card-invalid"),
        (("description: Synthetic.", "description: [1, 2]"), "error card-invalid"),
    ] {
        let told = told_of("qwen3", &[replaced]);
        assert_eq!(told.len(), 1, "{replaced:?}: {told:?}");
        cases.add(&format!("{replaced:?}"), kind, &told);
    }
    insta::assert_snapshot!(cases.0);
    // A list of sizes is fine, and no one size.
    assert_eq!(told_of("qwen3-batch4", &[("batch_size: 8", "batch_size: [1, 2, 4]")]), NONE);
    // A template wants nothing filled in, but its types hold.
    let traces = Traces::new();
    let template = CARD.replace("batch_size: 8", "batch_size:").replace("Synthetic.", "");
    traces.file("workload_card_template.yaml", &template);
    assert_eq!(traces.told(), NONE);
    traces.file("workload_card_template.yaml", template.replace("tp: 4", "tp: [4]"));
    assert_eq!(traces.told().len(), 1);
}

#[test]
fn the_gpu_count_of_a_card_is_the_product_of_its_parallel_degrees() {
    let told = |plan: &[(&str, &str)]| told_of("x", plan);
    let total = |n: &'static str| ("total_count: 4", n);
    insta::assert_snapshot!(told(&[total("total_count: 8")]).join("\n"), @"error card-contradiction: total_count 8 is the sum of the parallel degrees, but must be their product, 4 (line 26)");
    insta::assert_snapshot!(told(&[total("total_count: 12")]).join("\n"), @"error card-contradiction: total_count 12 is neither the product of the parallel degrees, 4, nor that times ep 1 (line 26)");
    insta::assert_snapshot!(told(&[total("total_count: 16"), ("count_per_node: 4", "count_per_node: 16")]).join("\n"), @"warning card-contradiction: total_count 16 counts all GPUs of the host, but the plan uses 4 (line 26)");
    // Of a host of 8 too, though 4 + 1 + 1 + 1 + 1 is 8.
    insta::assert_snapshot!(told(&[total("total_count: 8"), ("count_per_node: 4", "count_per_node: 8")]).join("\n"), @"warning card-contradiction: total_count 8 counts all GPUs of the host, but the plan uses 4 (line 26)");
    let told = told_of("x", &[total("total_count: 6"), ("tp: 4", "tp: 6")]);
    insta::assert_snapshot!(told.join("\n"), @"error card-contradiction: count_per_node 4 does not divide total_count 6 (line 27)");
    // Experts across the plan's units, or times them.
    let moe = ("moe: false", "moe: true");
    let ep = ("ep: 1", "ep: 4");
    assert_eq!(told_of("x", &[moe, ep]), NONE);
    insta::assert_snapshot!(told_of("x", &[moe, ("ep: 1", "ep: 3")]).join("\n"), @"error card-contradiction: ep 3 does not divide the 4 units across which the experts are distributed (line 38)");
    assert_eq!(told_of("x", &[moe, ep, ("    tp: 4", "    tp: 1")]), NONE);
    insta::assert_snapshot!(told_of("x", &[ep]).join("\n"), @"error card-contradiction: moe is false, but ep is 4 (line 38)");
}

#[test]
fn labels_in_the_folder_name_of_a_card_must_match_its_fields() {
    let mut cases = Cases::default();
    for (name, kind) in [
        ("qwen3-dp_1_tp_4-batch8-in896", None),
        ("qwen3-mscclpp-4gpu-tp4", None),
        ("qwen3-vllm-b200-tp4", None),
        ("qwen3-b_4", Some("error card-contradiction")),
        ("qwen3-fsdp_4-hybrid_fsdp_tp_8", None),
        ("qwen3-tp_2-x", Some("error card-contradiction")),
        ("qwen3-vllmPP2-x", Some("error card-contradiction")),
        ("qwen3-batch128", Some("error card-contradiction")),
        ("qwen3-in512", Some("error card-contradiction")),
    ] {
        let told = told_of(name, &[]);
        assert_eq!(told.len(), usize::from(kind.is_some()), "{name}: {told:?}");
        if let Some(kind) = kind {
            cases.add(name, kind, &told);
        }
    }
    insta::assert_snapshot!(cases.0);
    // The folder that is asked for has a name, too.
    let traces = Traces::new();
    traces.file("qwen3-tp2/workload_card.yaml", CARD);
    let folder = traces.path().join("qwen3-tp2").display().to_string();
    let alone = run(&["validate", "--traces", &folder, "--format", "json"]);
    insta::assert_snapshot!(told(&alone.json()).join("\n"), @"error card-contradiction: its directory says tp 2, but the file says 4 (line 35)");
    // What the card does not state is doubtful, and so is the name of where its traces are.
    insta::assert_snapshot!(told_of("qwen3-ep_4", &[("    ep: 1\n", "")]).join("\n"), @"warning card-contradiction: its directory says ep 4, but the file does not say, which means 1");
    insta::assert_snapshot!(told_of("x", &[("trace_url:", "trace_url: /data/qwen3-tp2")]).join("\n"), @"warning card-contradiction: trace_url says tp 2, but the file says 4 (line 35)");
    assert_eq!(
        told_of("x", &[("trace_url:", "trace_url: https://example.org/d/1PjM-b7_x-tp2")]),
        NONE
    );
}

#[test]
fn inconsistent_hardware_of_a_card_is_a_warning() {
    let mut cases = Cases::default();
    for (replaced, kind) in [
        (("- 2400", "- 300"), "warning card-implausible"),
        (("- 200\n", "- 25000\n"), "warning card-implausible"),
        (("cuda_12.8", "cuda_10.2"), "warning card-implausible"),
        (("cuda_12.8", "rocm_6.0"), "warning card-implausible"),
        (("nvidia_a100", "nvidia_x9"), "warning card-implausible"),
        (("nvidia_a100", "tpu_v6e"), "info card-implausible"),
        (("nvidia_a100", "nvidia_b200"), "warning card-implausible"),
    ] {
        let told = told_of("x", &[replaced]);
        assert!(!told.iter().any(|t| t.starts_with("error")), "{replaced:?}: {told:?}");
        cases.add(&format!("{replaced:?}"), kind, &told);
    }
    insta::assert_snapshot!(cases.0);
    for fine in ["2000", "4800"] {
        assert_eq!(told_of("x", &[("- 2400", &format!("- {fine}"))]), NONE);
    }
    assert_eq!(told_of("x", &[("cuda_12.8", "cuda_12.x")]), NONE);
}

#[test]
fn token_metrics_of_a_training_card_are_an_error() {
    let training = ("phase: inference", "phase: training");
    let told = told_of("x", &[training, ("vllm_bench_latency", "step_time, ttft")]);
    insta::assert_snapshot!(told.join("\n"), @"error card-contradiction: phase is training, but token metrics (TTFT, TPOT) are requested: step_time ttft (line 43)");
    assert_eq!(told_of("x", &[training]), NONE);
}
