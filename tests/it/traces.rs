//! `validate --traces` and traces in `sanity`, through the command line. All files are synthetic.

use std::path::Path;

use crate::common::{self, Run, run};
use serde_json::Value;
use tempfile::TempDir;

/// A folder of traces.
struct Traces(TempDir);

impl Traces {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, bytes).expect("a file");
        self
    }

    fn judge(&self, args: &[&str]) -> Run {
        let root = self.path().display().to_string();
        let mut all = vec!["validate", "--traces", &root];
        all.extend(args);
        run(&all)
    }

    /// `severity rule: message` of every finding.
    fn told(&self) -> Vec<String> {
        let run = self.judge(&["--format", "json"]);
        assert_eq!(run.err(), "", "nothing is said outside the report");
        told(&run.json())
    }
}

fn told(json: &Value) -> Vec<String> {
    let text = |f: &Value, name: &str| f[name].as_str().unwrap_or_default().to_owned();
    let one = |f: &Value| {
        let rule = text(f, "rule");
        let rule = rule.strip_prefix("trace-").unwrap_or(&rule).to_owned();
        format!("{} {rule}: {}", text(f, "severity"), text(f, "message"))
    };
    json["findings"].as_array().expect("findings").iter().map(one).collect()
}

/// A card in a directory of its name, with lines replaced.
fn card(name: &str, replaced: &[(&str, &str)]) -> (String, String) {
    let mut text = CARD.to_owned();
    for (from, to) in replaced {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    (format!("{name}/{name}.yaml"), text)
}

const CARD: &str = "\
version: 1
description: Synthetic.
hf_url: https://example.org/org/qwen3-4b
trace_url:
workload:
  model:
    phase: inference
    moe: false
    granularity: model_fwd
    model_family: qwen3-4b
    precision: bf16
  data:
    batch_size: 8
    seq_len: 1024
    input_len: 896
    dataset: random
  hardware:
    network_topo:
      topology: slingshot
      bandwidth_gbps:
        - 200
        - 2400
    xpu_spec:
      type: GPU
      model: nvidia_a100
      total_count: 4
      count_per_node: 4
    driver_version: cuda_12.8
Model-executor:
  framework:
    name: vllm
  model_plan_parallelization:
    dp_replicate: 1
    dp_shard: 1
    tp: 4
    pp: 1
    cp: 1
    ep: 1
  communication_library:
    name: NCCL
metric_source:
  traces: [nsys]
  metrics_specific_trace: [vllm_bench_latency]
";

/// What is told of a card in a directory of a name.
fn told_of(name: &str, replaced: &[(&str, &str)]) -> Vec<String> {
    let traces = Traces::new();
    let (path, text) = card(name, replaced);
    traces.file(&path, text).told()
}

const NONE: [&str; 0] = [];

#[test]
fn a_whole_card_is_clean_and_counts() {
    let traces = Traces::new();
    let (path, text) = card("qwen3-4b-vllm-tp4-batch8", &[]);
    traces.file(&path, &text);
    let run = traces.judge(&["--format", "json"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    assert_eq!(run.json()["command"], "validate");
    assert_eq!(told(&run.json()), NONE);
    let human = traces.judge(&[]).out();
    assert!(human.contains("1 file, 0 rows judged"), "{human}");
}

#[test]
fn nothing_to_check_is_never_green() {
    let traces = Traces::new();
    traces.file("notes.yaml", "a: 1\n").file("table.csv", "m,latency\n1,2\n");
    let run = traces.judge(&[]);
    assert_eq!(run.code(), 3);
    assert!(run.out().contains("nothing was checked"), "{}", run.out());
    let missing = common::run(&["validate", "--traces", "/no/such/folder"]);
    assert_eq!(missing.code(), 2);
    assert!(missing.err().contains("hint: --traces takes"), "{}", missing.err());
}

#[test]
fn what_belongs_to_a_database_is_not_mixed_in() {
    let traces = Traces::new();
    let run = traces.judge(&["--system", "h200_sxm"]);
    assert_eq!(run.code(), 2);
    let other = traces.judge(&["--only", "duplicate-key"]);
    assert!(other.err().contains("no rule is left to run"), "{}", other.err());
    let tree = common::Tree::new();
    tree.gemm("gemm_perf.txt", common::gemm(&[(1, 0.5), (2, 0.6)]));
    let alone = tree.validate(&["--only", "trace-card-invalid"]);
    assert!(alone.err().contains("--traces"), "{}", alone.err());
    let report = tree.validate(&["--format", "junit"]).out();
    assert!(!report.contains("trace-card"), "no suite of rules that did not run");
}

#[test]
fn fields_are_looked_for_where_they_belong() {
    let executor = CARD.find("Model-executor:").unwrap();
    let end = CARD.find("metric_source:").unwrap();
    let inside: String = CARD[executor..end].lines().map(|l| format!("  {l}\n")).collect();
    let text = format!("{}{inside}{}", &CARD[..executor], &CARD[end..]);
    let traces = Traces::new();
    traces.file("qwen3-tp4/qwen3-tp4.yaml", text);
    assert_eq!(
        traces.told(),
        [
            "error card-invalid: Model-executor stands below workload, it belongs at the top, line 29"
        ]
    );
    // A field alone, too.
    assert_eq!(
        told_of(
            "x",
            &[
                ("      total_count: 4\n", ""),
                ("    driver_version", "    total_count: 4\n    driver_version")
            ]
        ),
        [
            "error card-invalid: total_count stands below workload.hardware, it belongs below workload.hardware.xpu_spec, line 27"
        ]
    );
    // What it holds is judged all the same.
    let traces = Traces::new();
    let text = format!("{}{inside}{}", &CARD[..executor], &CARD[end..]);
    traces.file("qwen3-tp2/qwen3-tp2.yaml", text);
    let told = traces.told();
    assert!(
        told.contains(
            &"error card-contradiction: its directory says tp 2, the file says 4, line 35"
                .to_owned()
        ),
        "{told:?}"
    );
}

#[test]
fn types_enums_and_what_is_missing() {
    for (replaced, says) in [
        (
            ("    tp: 4\n", ""),
            "error card-invalid: missing: Model-executor.model_plan_parallelization.tp",
        ),
        (
            ("    tp: 4\n", "    tps: 4\n"),
            "error card-invalid: missing: Model-executor.model_plan_parallelization.tp (tps is no field), line 35",
        ),
        (
            ("tp: 4", "tp: '4'"),
            "error card-invalid: Model-executor.model_plan_parallelization.tp is '4' instead of a whole number, line 35",
        ),
        (
            ("tp: 4", "tp: 0"),
            "error card-invalid: Model-executor.model_plan_parallelization.tp is 0, the least is 1, line 35",
        ),
        (
            ("tp: 4", "tp: 3.5"),
            "error card-invalid: Model-executor.model_plan_parallelization.tp is 3.5 instead of a whole number, line 35",
        ),
        (
            ("moe: false", "moe: 'no'"),
            "error card-invalid: workload.model.moe is 'no' instead of true or false, line 8",
        ),
        (
            ("phase: inference", "phase: prefill"),
            "error card-invalid: workload.model.phase is 'prefill', none of training, inference, serving, line 7",
        ),
        (("precision: bf16", "precision: bf17"), "warning card-invalid"),
        (
            ("batch_size: 8", "batch_size: TBD"),
            "warning card-invalid: not filled in: workload.data.batch_size ('TBD'), line 13",
        ),
        (
            ("        - 200\n", "        - N/A\n"),
            "warning card-invalid: not filled in: workload.hardware.network_topo.bandwidth_gbps ('N/A'), line 21",
        ),
        (("batch_size: 8", "batch_size: .nan"), "error unreadable: non-finite float"),
        (("batch_size: 8", "batch_size: {a: 1}"), "error card-invalid"),
        (
            ("description: Synthetic.", "description: [1, 2]"),
            "error card-invalid: description is a list instead of a text, line 2",
        ),
    ] {
        let told = told_of("qwen3", &[replaced]);
        assert!(told.len() == 1 && told[0].starts_with(says), "{replaced:?}: {told:?}");
    }
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
fn counts_are_products() {
    let told = |plan: &[(&str, &str)]| told_of("x", plan);
    let total = |n: &'static str| ("total_count: 4", n);
    assert_eq!(
        told(&[total("total_count: 8")]),
        [
            "error card-contradiction: total_count 8 is the sum of the parallel degrees, their product is 4, line 26"
        ]
    );
    assert_eq!(
        told(&[total("total_count: 12")]),
        [
            "error card-contradiction: total_count 12 is neither the product of the parallel degrees, 4, nor that times ep 1, line 26"
        ]
    );
    assert_eq!(
        told(&[total("total_count: 16"), ("count_per_node: 4", "count_per_node: 16")]),
        [
            "warning card-contradiction: total_count 16 is that of the host, the plan uses 4, line 26"
        ]
    );
    // Of a host of 8 too, though 4 + 1 + 1 + 1 + 1 is 8.
    assert_eq!(
        told(&[total("total_count: 8"), ("count_per_node: 4", "count_per_node: 8")]),
        ["warning card-contradiction: total_count 8 is that of the host, the plan uses 4, line 26"]
    );
    let told = told_of("x", &[total("total_count: 6"), ("tp: 4", "tp: 6")]);
    assert_eq!(
        told,
        ["error card-contradiction: count_per_node 4 does not divide total_count 6, line 27"]
    );
    // Experts across the plan's units, or times them.
    let moe = ("moe: false", "moe: true");
    let ep = ("ep: 1", "ep: 4");
    assert_eq!(told_of("x", &[moe, ep]), NONE);
    assert_eq!(
        told_of("x", &[moe, ("ep: 1", "ep: 3")]),
        [
            "error card-contradiction: ep 3 does not divide the 4 units that experts lie across, line 38"
        ]
    );
    assert_eq!(told_of("x", &[moe, ep, ("    tp: 4", "    tp: 1")]), NONE);
    assert_eq!(
        told_of("x", &[ep]),
        ["error card-contradiction: moe is false and ep is 4, line 38"]
    );
}

#[test]
fn names_say_what_they_say_and_no_more() {
    for (name, says) in [
        ("qwen3-dp_1_tp_4-batch8-in896", &NONE[..]),
        ("qwen3-mscclpp-4gpu-tp4", &NONE),
        ("qwen3-vllm-b200-tp4", &NONE),
        (
            "qwen3-b_4",
            &["error card-contradiction: its directory says batch 4, the file says 8, line 13"],
        ),
        ("qwen3-fsdp_4-hybrid_fsdp_tp_8", &NONE),
        (
            "qwen3-tp_2-x",
            &["error card-contradiction: its directory says tp 2, the file says 4, line 35"],
        ),
        (
            "qwen3-vllmPP2-x",
            &["error card-contradiction: its directory says pp 2, the file says 1, line 36"],
        ),
        (
            "qwen3-batch128",
            &["error card-contradiction: its directory says batch 128, the file says 8, line 13"],
        ),
        (
            "qwen3-in512",
            &["error card-contradiction: its directory says in 512, the file says 896, line 15"],
        ),
    ] {
        assert_eq!(told_of(name, &[]), says, "{name}");
    }
    // The folder that is asked for has a name, too.
    let traces = Traces::new();
    traces.file("qwen3-tp2/workload_card.yaml", CARD);
    let folder = traces.path().join("qwen3-tp2").display().to_string();
    let alone = run(&["validate", "--traces", &folder, "--format", "json"]);
    assert_eq!(
        told(&alone.json()),
        ["error card-contradiction: its directory says tp 2, the file says 4, line 35"]
    );
    // What the card does not state is doubtful, and so is the name of where its traces are.
    assert_eq!(
        told_of("qwen3-ep_4", &[("    ep: 1\n", "")]),
        [
            "warning card-contradiction: its directory says ep 4, the file does not say, which counts as 1"
        ]
    );
    assert_eq!(
        told_of("x", &[("trace_url:", "trace_url: /data/qwen3-tp2")]),
        ["warning card-contradiction: trace_url says tp 2, the file says 4, line 35"]
    );
    assert_eq!(
        told_of("x", &[("trace_url:", "trace_url: https://example.org/d/1PjM-b7_x-tp2")]),
        NONE
    );
}

#[test]
fn hardware_that_does_not_go_together_is_a_warning() {
    for (replaced, says) in [
        (
            ("- 2400", "- 300"),
            "warning card-implausible: scale-up bandwidth 300 Gbit/s does not fit nvidia_a100",
        ),
        (("- 200\n", "- 25000\n"), "warning card-implausible: scale-out bandwidth 25000 Gbit/s"),
        (
            ("cuda_12.8", "cuda_10.2"),
            "warning card-implausible: driver_version cuda_10.2 does not know nvidia_a100",
        ),
        (
            ("cuda_12.8", "rocm_6.0"),
            "warning card-implausible: driver_version rocm_6.0 is no CUDA version",
        ),
        (("nvidia_a100", "nvidia_x9"), "warning card-implausible: nothing is known of nvidia_x9"),
        (("nvidia_a100", "tpu_v6e"), "info card-implausible: no system describes tpu_v6e"),
        (("nvidia_a100", "nvidia_b200"), "warning card-implausible: scale-up bandwidth 2400"),
    ] {
        let told = told_of("x", &[replaced]);
        assert!(told.iter().any(|t| t.starts_with(says)), "{replaced:?}: {told:?}");
        assert!(!told.iter().any(|t| t.starts_with("error")), "{replaced:?}: {told:?}");
    }
    for fine in ["2000", "4800"] {
        assert_eq!(told_of("x", &[("- 2400", &format!("- {fine}"))]), NONE);
    }
    assert_eq!(told_of("x", &[("cuda_12.8", "cuda_12.x")]), NONE);
}

#[test]
fn a_training_has_no_first_token() {
    let training = ("phase: inference", "phase: training");
    let told = told_of("x", &[training, ("vllm_bench_latency", "step_time, ttft")]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("error card-contradiction: phase is training"), "{told:?}");
    assert_eq!(told_of("x", &[training]), NONE);
}

const CONFIG: &str = "\
experiment_id: E1.2
description: Synthetic tensor parallelism TP=4 on 4 GPUs
model:
  name: org/qwen3-4b
  precision: bfloat16
parallelism: {tp: 4, pp: 1, dp_replicate: 1, dp_shard: 1, ep: 1}
data: {batch_size: 8, seq_len: 1024, max_tokens: 128}
warmup_iterations: 2
profile_iterations: 5
output_dir: traces/qwen3-4b-E1.2
";

#[test]
fn configs_against_themselves_their_names_and_their_cards() {
    let told = |name: &str, from: &str, to: &str| {
        let traces = Traces::new();
        traces.file(&format!("configs/{name}.yaml"), CONFIG.replace(from, to));
        traces.told()
    };
    assert_eq!(told("E1.2_qwen3_tp4", "", ""), NONE);
    for (name, from, to, says) in [
        (
            "E1.2_x",
            "on 4 GPUs",
            "on 8 GPUs",
            "error config-contradiction: the description tells of 8 GPUs, the product of the parallel degrees is 4",
        ),
        ("E1.2_x", "warmup", "gpus: 2\nwarmup", "error config-contradiction: 2 GPUs are asked for"),
        (
            "E1.2_qwen3_tp2",
            "",
            "",
            "error config-contradiction: its file's name says tp 2, the file says 4, line 6",
        ),
        (
            "E1.3_x",
            "",
            "",
            "error config-contradiction: its name says E1.3, experiment_id says E1.2, line 1",
        ),
        (
            "E1.2_x",
            "iterations: 5",
            "iterations: 0",
            "error config-invalid: profile_iterations is 0, the least is 1, line 9",
        ),
        ("E1.2_x", "batch_size: 8", "batch_size: 0", "error config-invalid: data.batch_size is 0"),
        (
            "E1.2_x",
            "seq_len: 1024",
            "seq_len: long",
            "error config-invalid: data.seq_len is 'long' instead of a whole number",
        ),
    ] {
        let told = told(name, from, to);
        assert!(told.len() == 1 && told[0].starts_with(says), "{from} {to}: {told:?}");
    }
    // A job script asks for GPUs.
    let traces = Traces::new();
    traces.file("configs/E1.2_x.yaml", CONFIG);
    let job = |gpus: u32| {
        format!("#SBATCH --gpus={gpus}\npython profile.py --config configs/E1.2_x.yaml\n")
    };
    traces.file("jobs/run_E1.2.sh", job(4));
    assert_eq!(traces.told(), NONE);
    traces.file("jobs/run_E1.2.sh", job(2));
    assert_eq!(
        traces.told(),
        [
            "error config-contradiction: jobs/run_E1.2.sh asks for 2 GPUs to run it, the product of the parallel degrees is 4"
        ]
    );
    traces.file("jobs/run_E1.2.sh", job(8));
    assert!(traces.told()[0].starts_with("warning config-contradiction"), "{:?}", traces.told());
    // The card is told by the folder it lies in, or by description, model and plan.
    let traces = Traces::new();
    let card = CARD.replace("batch_size: 8", "batch_size: 16");
    traces
        .file("configs/E1.2_x.yaml", CONFIG)
        .file("traces/qwen3-4b-E1.2/workload_card.yaml", &card);
    let message = "error config-contradiction: the card traces/qwen3-4b-E1.2/workload_card.yaml (in its output_dir) says otherwise: batch_size is 8 here, line 7 and 16 there";
    assert_eq!(traces.told(), [message]);
    let traces = Traces::new();
    let described = card.replace("Synthetic.", "Synthetic tensor parallelism TP=4 on 4 GPUs");
    traces.file("configs/E1.2_x.yaml", CONFIG).file("a/a.yaml", &described);
    assert_eq!(
        traces.told(),
        [message.replace(
            "traces/qwen3-4b-E1.2/workload_card.yaml (in its output_dir)",
            "a/a.yaml (of its description, model and plan)"
        )]
    );
    // Another config of that description that agrees is its config.
    traces.file(
        "configs/E1.3_x.yaml",
        CONFIG.replace("E1.2", "E1.3").replace("batch_size: 8", "batch_size: 16"),
    );
    assert_eq!(traces.told(), NONE);
}

const HEAD: &str = "experiment,backend,tp,batch,total_nvlink_gb,peak_nvlink_gb_s,avg_nvlink_gb_s,burst_intensity,burst_duration_s,bw_usage_pct,prefill_avg_bw_gb_s,decode_avg_bw_gb_s,nccl_contribution_pct,mean_ttft_ms,p99_ttft_ms,mean_tpot_ms,p99_tpot_ms,throughput_tok_s,throughput_req_s,total_input_tokens,total_output_tokens\n";
const ROW: &str = "qwen3,vllm,4,8,100,30,6,5,0.5,1,2,6.1,1.5,200,300,5,6,128,1,204800,25600\n";

/// What is told of a row of experiment_metrics.csv, some cells replaced.
fn told_of_row(cells: &[(&str, &str)]) -> Vec<String> {
    let names: Vec<&str> = HEAD.trim().split(',').collect();
    let mut row: Vec<&str> = ROW.trim().split(',').collect();
    for (name, value) in cells {
        row[names.iter().position(|n| n == name).expect("a column")] = value;
    }
    let traces = Traces::new();
    traces.file("experiment_metrics.csv", format!("{HEAD}{ROW}{}\n", row.join(",")));
    traces.told()
}

#[test]
fn identities_of_nvlink_metrics() {
    assert_eq!(told_of_row(&[]), NONE);
    for (cells, says) in [
        (
            &[("burst_intensity", "7")][..],
            "error metric-contradiction: burst_intensity is not peak over average",
        ),
        (
            &[("bw_usage_pct", "2")],
            "warning metric-contradiction: bw_usage_pct is not the average over the link's maximum, both ways, as nvidia_a100",
        ),
        (
            &[("burst_duration_s", "0")],
            "error metric-contradiction: the peak is above 20 GB/s and the burst lasts 0 s",
        ),
        (&[("burst_duration_s", "20")], "error metric-contradiction: the burst lasts longer"),
        (
            &[("peak_nvlink_gb_s", "18"), ("burst_intensity", "3")],
            "error metric-contradiction: a burst lasts and the peak is not above 20 GB/s",
        ),
        (
            &[("peak_nvlink_gb_s", "900"), ("burst_intensity", "150")],
            "warning metric-contradiction: the peak is above what the accelerator's links carry, both ways, as nvidia_a100",
        ),
        (
            &[("decode_avg_bw_gb_s", "5")],
            "warning metric-implausible: the average is above that of both its phases",
        ),
        (
            &[("prefill_avg_bw_gb_s", "0")],
            "warning metric-implausible: prefill of a tensor-parallel run without any traffic",
        ),
        (&[("tp", "1")], "error metric-contradiction: one GPU has NVLink traffic"),
        // Of 200 requests a few may be far above all others, of 2 none.
        (&[("p99_ttft_ms", "100")], "warning metric-implausible: p99 of TTFT is below its mean"),
        (&[("p99_tpot_ms", "4")], "warning metric-implausible: p99 of TPOT is below its mean"),
        (
            &[("p99_ttft_ms", "100"), ("throughput_req_s", "0.1"), ("total_output_tokens", "2560")],
            "error metric-contradiction: p99 of TTFT is below its mean",
        ),
        (
            &[("throughput_req_s", "0.1"), ("total_output_tokens", "2560")],
            "warning metric-implausible: p99 of 2 requests: of fewer than 100",
        ),
        (
            &[("throughput_tok_s", "0.128"), ("throughput_req_s", "0.001")],
            "error metric-contradiction: throughput is far below",
        ),
        (
            &[("mean_ttft_ms", "0.2"), ("p99_ttft_ms", "0.3")],
            "warning metric-implausible: p99_ttft_ms outside 1 to 3600000 ms",
        ),
        (
            &[("nccl_contribution_pct", "101")],
            "error metric-invalid: nccl_contribution_pct is above 100 % in 1 row",
        ),
        (
            &[("nccl_contribution_pct", "-1")],
            "error metric-invalid: nccl_contribution_pct is below zero in 1 row",
        ),
        (&[("p99_ttft_ms", "inf")], "error metric-invalid: p99_ttft_ms is not finite in 1 row"),
        (
            &[("nccl_contribution_pct", "N/A")],
            "warning metric-invalid: text in 1 cell for what was not measured",
        ),
        (
            &[("nccl_contribution_pct", "lots")],
            "error metric-invalid: text in 1 cell that is no number: 'lots'",
        ),
    ] {
        let told = told_of_row(cells);
        assert!(told.iter().any(|t| t.starts_with(says)), "{cells:?}: {told:?}");
    }
    // What was not measured is judged by nothing.
    let unmeasured =
        ["mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "throughput_tok_s"];
    assert_eq!(told_of_row(&unmeasured.map(|name| (name, ""))), NONE);
}

#[test]
fn rows_are_named_with_their_lines_and_the_threshold_with_its_origin() {
    let traces = Traces::new();
    let bad = ROW.replace(",5,0.5,", ",5,0,").replace("qwen3", "llama");
    traces.file("experiment_metrics.csv", format!("{HEAD}{ROW}\n{bad}"));
    let finding = traces.judge(&["--format", "json"]).finding("trace-metric-contradiction");
    assert_eq!(finding["rows"], 1);
    assert_eq!(finding["examples"][0]["row"], 1);
    assert_eq!(finding["examples"][0]["key"]["line"], 4, "a blank line counts");
    assert_eq!(finding["examples"][0]["key"]["experiment"], "llama");
    assert_eq!(finding["evidence"]["burst_gb_s"], 20.0);
    assert!(finding["evidence"]["burst_gb_s_from"].as_str().unwrap().contains("guide"));
    // A threshold is data.
    traces.file(
        "rules/traces/experiment_metrics.yaml",
        include_str!("../../rules/traces/experiment_metrics.yaml")
            .replace("value: 20,", "value: 60,")
            .replace("{threshold.burst_gb_s} GB/s and the burst lasts 0 s", "it"),
    );
    let rules = traces.path().join("rules").display().to_string();
    let told = told(&traces.judge(&["--format", "json", "--rules", &rules]).json());
    assert!(told[0].contains("not above 60 GB/s"), "{told:?}");
}

#[test]
fn a_row_goes_by_its_card() {
    let (path, text) = card(
        "qwen3",
        &[
            ("tp: 4", "tp: 2"),
            ("total_count: 4", "total_count: 2"),
            ("nvidia_a100", "nvidia_h100"),
            ("- 2400", "- 3600"),
        ],
    );
    let traces = Traces::new();
    let row = ROW.replace(",30,6,5,0.5,1,2,6.1,", ",31.25,6.25,5,0.5,1.041667,2,6.3,");
    traces.file(&path, &text).file("experiment_metrics.csv", format!("{HEAD}{row}"));
    let told = traces.told();
    let tp = "error metric-contradiction: tp is 4, the card's is 2";
    assert!(told.contains(&tp.to_owned()), "{told:?}");
    // The links are an H100's, not the A100's of the guide.
    let bandwidth = "error metric-contradiction: bw_usage_pct is not";
    assert!(told.iter().any(|t| t.starts_with(bandwidth)), "{told:?}");
    // A template is no card.
    traces.file("qwen3/workload_card_template.yaml", CARD);
    assert_eq!(traces.told(), told);
    // Of several cards in directories of one name, the one that lies nearest.
    traces
        .file("b/qwen3/qwen3.yaml", CARD)
        .file("b/experiment_metrics.csv", format!("{HEAD}{row}"));
    let near = |name: &str| {
        let run = traces.judge(&["--format", "json"]).json();
        let findings = run["findings"].as_array().unwrap().clone();
        findings.into_iter().filter(|f| f["path"] == name).count()
    };
    assert_eq!((near("b/experiment_metrics.csv"), near("experiment_metrics.csv")), (0, told.len()));
    // None of two that are as near.
    traces
        .file("c/y/qwen3/qwen3.yaml", &text)
        .file("c/z/qwen3/qwen3.yaml", &text)
        .file("c/experiment_metrics.csv", format!("{HEAD}{row}"));
    assert_eq!(near("c/experiment_metrics.csv"), 0);
}

#[test]
fn without_a_card_a_machine_is_a_guess() {
    // 6.25 GB/s of an H100's 900.
    let row = ROW.replace(",30,6,5,0.5,1,2,6.1,", ",800,6.25,128,0.5,0.694444,2,6.3,");
    let traces = Traces::new();
    traces.file("experiment_metrics.csv", format!("{HEAD}{row}"));
    assert_eq!(
        traces.told(),
        [
            "warning metric-contradiction: bw_usage_pct is not the average over the link's maximum, both ways, as nvidia_a100: no card says what ran",
            "warning metric-contradiction: the peak is above what the accelerator's links carry, both ways, as nvidia_a100: no card says what ran",
        ]
    );
    let (path, text) = card("qwen3", &[("nvidia_a100", "nvidia_h100"), ("- 2400", "- 3600")]);
    traces.file(&path, text);
    assert_eq!(traces.told(), NONE);
}

#[test]
fn what_is_rounded_is_no_contradiction() {
    let traces = Traces::new();
    // 0.19 / 600 is 0.0317 %; 20.95 / 0.0816 is 256.7, of the rounded 0.08 it is 261.9.
    let row = "qwen3,vllm,4,8,9.42,20.95,0.08,256.65,0.01,0.01,0.03,0.08,0.2,,,,,,,,\n";
    let more = "qwen3,vllm,4,8,22.39,72.39,0.19,376.92,0.01,0.03,0.02,0.19,0.52,,,,,,,,\n";
    traces.file("experiment_metrics.csv", format!("{HEAD}{row}{more}"));
    let times = "{\"iteration_times\": [0.0123, 0.0125, 0.0125], \"avg_iteration_time\": 0.0124, \"min_iteration_time\": 0.0123, \"max_iteration_time\": 0.0125}";
    traces.file("timing_stats_0.json", times);
    let head = "tp,ttft_avg_ms,ttft_p99_ms,tpot_avg_ms,tpot_p99_ms,iter_time_ms,iter_time_sec,throughput_tokens_sec,mfu_pct,comm_overhead_pct,compute_pct,comm_pct,other_pct\n";
    let row = "2,107.6,108.1,16.1,16.1,8147.5,8.15,63,0,40.8,59.3,41,0.3\n";
    traces.file("tp_metrics_summary.csv", format!("{head}{row}"));
    let metrics = "\"collective_vol_total_gb\": 0.04, \"collective_vol_allreduce_gb\": 0.01, \"collective_vol_allgather_gb\": 0.01, \"collective_vol_reducescatter_gb\": 0.01, \"collective_vol_alltoall_gb\": 0.02";
    let metadata = "\"phase\": \"training\", \"tp\": 2, \"total_count\": 2";
    traces.file("benchmark_data.json", benchmark(metadata, metrics));
    assert_eq!(traces.told(), NONE);
    // What rounding does not make is found: of all digits, and of few.
    let traces = Traces::new();
    traces
        .file("timing_stats_0.json", times.replace("0.0124,", "0.0127,"))
        .file("tp_metrics_summary.csv", format!("{head}{}", row.replace("8.15", "8.17")));
    assert_eq!(
        traces.told(),
        [
            "error metric-contradiction: avg_iteration_time 0.0127 is not the mean of iteration_times, 0.012433",
            "error metric-contradiction: minimum, average and maximum are out of order",
            "error metric-contradiction: iter_time_ms and iter_time_sec are two times",
        ]
    );
}

#[test]
fn throughput_of_inference_counts_what_it_counts() {
    let told = |row: &str| {
        let traces = Traces::new();
        let head = "experiment,model,tp,pp,ep,gpus,batch_size,seq_len,avg_iter_time,throughput_tokens_sec,ttft_ms,tpot_ms,mfu_pct,comm_overhead_pct,bubble_ratio_pct\n";
        traces.file("results_summary.csv", format!("{head}E1,m,1,1,1,1,{row},1,0,0\n"));
        traces.told()
    };
    // 128 tokens of 8 sequences after a prompt of 896; a decode of a token; a long prompt with a short answer.
    assert_eq!(told("8,1024,2.64,388,100,20"), NONE);
    assert_eq!(told("1,1024,0.02,50,100,20"), NONE);
    assert_eq!(told("1,32768,5.2,2.1,5000,20"), NONE);
    let steps = "error metric-contradiction: throughput_tokens_sec is one over the iteration's time, steps per second and not tokens per second";
    assert_eq!(told("1,1024,2.5,0.4,100,20"), [steps]);
    assert_eq!(told("8,1024,0.02,50,100,20"), [steps]);
    assert_eq!(
        told("8,1024,2.64,3.8,100,20"),
        [
            "error metric-contradiction: throughput is far below that of one sequence, by TTFT and TPOT"
        ]
    );
}

#[test]
fn steps_are_no_tokens() {
    let head = "tp,ttft_avg_ms,ttft_p99_ms,tpot_avg_ms,tpot_p99_ms,iter_time_ms,iter_time_sec,throughput_tokens_sec,mfu_pct,comm_overhead_pct,compute_pct,comm_pct,other_pct\n";
    let row = |throughput: &str| format!("2,100,101,10,11,1090,1.09,{throughput},0.1,40,60,40,0\n");
    let told = |rows: &str| {
        let traces = Traces::new();
        traces.file("tp_metrics_summary.csv", format!("{head}{rows}"));
        traces.told()
    };
    assert_eq!(told(&row("91.7")), NONE);
    let steps = told(&row("0.9174311926605504"));
    assert_eq!(
        steps,
        [
            "error metric-contradiction: throughput_tokens_sec is one over the iteration's time, steps per second and not tokens per second"
        ]
    );
    assert!(told(&row("91.7").replace("1090,1.09", "1090,1090"))[0].contains("two times"));
    assert!(
        told(&row("91.7").replace("60,40,0", "60,40,10"))[0].contains("do not add up to 100 %")
    );
    assert!(
        told(&row("91.7").replace("2,100", "1,100"))[0]
            .contains("one GPU spends time on communication")
    );
    let none = row("91.7").replace("0.1,40,60,40,0", "0.1,0,100,0,0");
    assert!(told(&none)[0].starts_with("warning metric-implausible"), "{:?}", told(&none));
}

fn timing(times: &str, average: &str) -> String {
    format!(
        "{{\"iteration_times\": [{times}], \"avg_iteration_time\": {average}, \"min_iteration_time\": 1, \"max_iteration_time\": 2}}"
    )
}

#[test]
fn timing_of_ranks() {
    let told = |text: String| {
        let traces = Traces::new();
        traces.file("timing_stats_0.json", text);
        traces.told()
    };
    assert_eq!(told(timing("1, 2", "1.5")), NONE);
    for (text, says) in [
        (
            timing("1.25, 1.75", "1.4"),
            "error metric-contradiction: avg_iteration_time 1.4 is not the mean of iteration_times, 1.5",
        ),
        (
            timing("1.75, 2", "1.875"),
            "error metric-contradiction: min_iteration_time 1 is not the least",
        ),
        (timing("1, 2, -1", "0.6666666666"), "error metric-invalid: iteration_times is below zero"),
        (timing("1, \"2\"", "1"), "error metric-invalid: text in 1 cell"),
        (timing("1, 2", "NaN"), "error unreadable: no JSON"),
        (
            timing("1, 2", "1.5").replace("{\"it", "{\"ttft_avg\": 80.9, \"it"),
            "error metric-contradiction: TTFT 80.9 s is longer than the iteration",
        ),
        (
            timing("1, 2", "1.5").replace("{\"it", "{\"ttft_avg\": 0.5, \"ttft_p99\": 0.6, \"it"),
            "warning metric-implausible: p99 of 2 requests",
        ),
        ("{}".to_owned(), "error metric-invalid: missing: avg_iteration_time, iteration_times"),
    ] {
        let told = told(text.clone());
        assert!(told.iter().any(|t| t.starts_with(says)), "{text}: {told:?}");
    }
}

#[test]
fn every_rank_has_its_files() {
    let traces = Traces::new();
    let (path, text) = card("qwen3", &[("tp: 4", "tp: 2"), ("total_count: 4", "total_count: 2")]);
    traces
        .file(&path, text)
        .file("qwen3/kineto_trace_0.json", "{}")
        .file("qwen3/kineto_trace_1.json", "{}");
    assert_eq!(traces.told(), NONE);
    traces.file("qwen3/kineto_trace_1.json", "");
    assert_eq!(traces.told(), ["error file-missing: the file is empty"]);
    traces.file("qwen3/kineto_trace_1.json", "{}").file("qwen3/kineto_trace_2.json", "{}");
    assert_eq!(
        traces.told(),
        ["error file-missing: kineto_trace_{rank}.json: rank 2 of a run of 2 ranks"]
    );
    std::fs::remove_file(traces.path().join("qwen3/kineto_trace_2.json")).unwrap();
    std::fs::remove_file(traces.path().join("qwen3/kineto_trace_0.json")).unwrap();
    assert_eq!(
        traces.told(),
        ["error file-missing: kineto_trace_{rank}.json: 1 of 2 ranks have one, rank 0 has none"]
    );
    std::fs::remove_file(traces.path().join("qwen3/kineto_trace_1.json")).unwrap();
    // A profiler of the driver alone.
    traces.file("qwen3/timing_stats_0.json", timing("1, 2", "1.5"));
    assert_eq!(
        traces.told(),
        ["warning file-missing: timing_stats_{rank}.json: 1 of 2 ranks have one, rank 1 has none"]
    );
    traces.file("qwen3/timing_stats_1.json", timing("1, 2, 1.5", "1.5"));
    assert_eq!(traces.told(), ["error file-missing: iteration_times has 2 of rank 0, 3 of rank 1"]);
    // The files of a host's idle units are no mistake.
    let host = Traces::new();
    let (path, text) = card("qwen3", &[("tp: 4", "tp: 2"), ("- 2400", "- 2400")]);
    host.file(&path, text);
    for rank in 0..4 {
        let told = host.file(&format!("qwen3/nsys_{rank}.nsys-rep"), "x").told();
        let of_ranks = told.iter().filter(|t| t.contains("file-missing")).count();
        assert_eq!(of_ranks, usize::from(rank % 2 == 0), "{told:?}");
    }
    // Of several configs, none tells which run it is.
    let several = Traces::new();
    several
        .file("x/timing_stats_0.json", timing("1, 2", "1.5"))
        .file("x/E1.2_x.yaml", CONFIG.replace("tp: 4", "tp: 1").replace("on 4", "on 1"));
    assert!(several.told()[0].contains("asks for 5"), "{:?}", several.told());
    several.file("x/E1.3_x.yaml", CONFIG.replace("E1.2", "E1.3"));
    assert_eq!(several.told(), NONE);
    // The config beside them asks for five.
    traces
        .file("qwen3/timing_stats_1.json", timing("1, 2", "1.5"))
        .file("qwen3/config.yaml", CONFIG.replace("tp: 4", "tp: 2").replace("on 4", "on 2"));
    assert_eq!(
        traces.told(),
        ["error file-missing: iteration_times has 2, qwen3/config.yaml asks for 5"]
    );
}

fn benchmark(metadata: &str, metrics: &str) -> String {
    format!(
        "{{\"metric_info\": {{\"ttft\": {{\"label\": \"TTFT (s)\", \"unit\": \"s\"}}, \"mfu\": {{\"label\": \"MFU (%)\", \"unit\": \"%\"}}}}, \"rows\": [{{\"metadata\": {{\"workload_name\": \"x\", \"hardware_model\": \"nvidia_a100\", \"ep\": \"\", {metadata}}}, \"metrics\": {{{metrics}}}}}]}}"
    )
}

#[test]
fn what_a_site_shows() {
    let told = |text: String| {
        let traces = Traces::new();
        traces.file("benchmark_data.json", text);
        traces.told()
    };
    let inference = "\"phase\": \"inference\", \"moe\": false, \"tp\": 2, \"total_count\": 2";
    let fine = "\"ttft\": 0.05, \"mfu\": 30, \"total_communication_time\": 1, \"collective_vol_total_gb\": 2, \"straggler\": null, \"other\": 3";
    assert_eq!(told(benchmark(inference, fine)), NONE);
    for (metadata, metrics, says) in [
        (inference, fine.replace("gb\": 2", "gb\": 0.0"), "error metric-contradiction: time on communication and a volume of 0"),
        (inference, fine.replace("30", "130"), "error metric-invalid: mfu is above 100 %"),
        (inference, fine.replace("0.05", "50000"), "warning metric-implausible: ttft outside"),
        (inference, fine.replace("other\": 3", "other\": \"n/a\""), "warning metric-invalid"),
        (inference, "\"load_imbalance_ratio\": 1.2, \"straggler\": 0.0".into(), "warning metric-implausible: ranks that differ"),
        (inference, "\"collective_vol_total_gb\": 8, \"collective_vol_allreduce_gb\": 1, \"collective_vol_allgather_gb\": 1, \"collective_vol_reducescatter_gb\": 1, \"collective_vol_alltoall_gb\": 1".into(), "error metric-contradiction: the volumes do not add up"),
        ("\"phase\": \"training\", \"tp\": 2, \"total_count\": 2", fine.to_owned(), "error metric-contradiction: a training has a TTFT"),
        ("\"phase\": \"inference\", \"tp\": 2, \"total_count\": 3", fine.to_owned(), "error metric-contradiction: total_count is neither"),
        ("\"phase\": \"inference\", \"tp\": 1, \"total_count\": 1", fine.to_owned(), "error metric-contradiction: one unit spends time on communication"),
    ] {
        let told = told(benchmark(metadata, &metrics));
        assert!(told.iter().any(|t| t.starts_with(says)), "{metadata} {metrics}: {told:?}");
    }
    // Units are the file's: milliseconds labelled so are seconds of ours, a label of another unit is not.
    let ms = benchmark(inference, &fine.replace("0.05", "50"))
        .replace("TTFT (s)\", \"unit\": \"s", "TTFT (ms)\", \"unit\": \"ms");
    let unit = told(ms.clone());
    assert_eq!(unit, ["warning metric-implausible: ttft is in ms, elsewhere it is in s"]);
    let label = told(ms.replace("(ms)", "(s)"));
    assert_eq!(label, ["error metric-contradiction: ttft is in ms, its label says s"]);
}

#[test]
fn one_name_has_one_schema() {
    let traces = Traces::new();
    let other = format!("{},extra\n{},1\n", HEAD.trim(), ROW.trim());
    traces
        .file("a/experiment_metrics.csv", format!("{HEAD}{ROW}"))
        .file("b/experiment_metrics.csv", other);
    assert_eq!(
        traces.told(),
        [
            "warning metric-invalid: a/experiment_metrics.csv has the same name and other columns: extra in one alone"
        ]
    );
    let traces = Traces::new();
    traces
        .file("results_summary.csv", "experiment,tp,ttft_ms,throughput_tokens_sec\nE1,1,100,50\n");
    let told = traces.told();
    assert!(told[0].starts_with("error metric-invalid: missing: tpot_ms"), "{told:?}");
}

#[test]
fn hostile_files_give_a_finding() {
    let deep = "[".repeat(200_000);
    let wide = format!("a: {}\n", "x".repeat(2 << 20));
    let bombs = "a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nworkload: *g\nmetric_source: *g\n";
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("x/workload_card.yaml", Vec::new()),
        ("x/workload_card.yaml", b"workload: \xff\xfe\n".to_vec()),
        ("x/workload_card.yaml", format!("workload:\n{deep}").into_bytes()),
        ("x/workload_card.yaml", wide.into_bytes()),
        ("x/workload_card.yaml", bombs.into()),
        ("x/workload_card.yaml", b"workload: a\nworkload: b\n".to_vec()),
        ("x/x.yaml", b"- workload:\n- metric_source:\n".to_vec()),
        ("x/workload_card.yaml", b"just words".to_vec()),
        ("E1.1_x.yaml", b"parallelism: [\n".to_vec()),
        ("timing_stats_0.json", Vec::new()),
        ("timing_stats_0.json", deep.clone().into_bytes()),
        ("timing_stats_0.json", b"[1, 2]".to_vec()),
        ("timing_stats_0.json", b"\0\0\0\0".to_vec()),
        ("benchmark_data.json", b"{\"rows\": 7}".to_vec()),
        ("benchmark_data.json", b"{\"rows\": [7]}".to_vec()),
        ("experiment_metrics.csv", b"\0\0".to_vec()),
        ("experiment_metrics.csv", HEAD.into()),
        ("experiment_metrics.csv", b"a,a\n1,2\n".to_vec()),
        ("experiment_metrics.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:0000000000000000000000000000000000000000000000000000000000000000\nsize 5\n".to_vec()),
    ];
    for (path, bytes) in cases {
        let traces = Traces::new();
        traces.file(path, &bytes);
        let told = traces.told();
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(30)]).into_owned();
        assert!(
            told.len() == 1 && told[0].starts_with("error unreadable: "),
            "{path} {start}: {told:?}"
        );
        assert!(told[0].len() < 300 && !told[0].contains('\n'), "{told:?}");
    }
    // Wrong types everywhere, one at a time.
    for value in ["[]", "{}", "~", "-1", "\"\\u202e\"", "[[1]]", "true", "0x7fffffffffffffffffff"] {
        let traces = Traces::new();
        for (i, line) in CARD.lines().filter(|l| l.contains(": ")).enumerate() {
            let (key, _) = line.split_once(": ").unwrap();
            let card = CARD.replace(line, &format!("{key}: {value}"));
            traces.file(&format!("{i}/workload_card.yaml"), card);
        }
        let run = traces.judge(&["--format", "json"]);
        assert!([0, 1].contains(&run.code()), "{value}");
        assert_eq!(run.err(), "", "{value}");
    }
}

#[test]
fn damaged_rows_are_named() {
    let traces = Traces::new();
    traces.file("experiment_metrics.csv", format!("{HEAD}{ROW}qwen3,vllm\n{}", ROW.trim()));
    assert_eq!(
        traces.told(),
        ["error metric-invalid: 1 damaged row: 2 fields instead of 21, line 3"]
    );
}

#[cfg(unix)]
#[test]
fn what_is_no_file() {
    use std::os::unix::fs::symlink;
    let traces = Traces::new();
    traces.file("timing_stats_0.json/x", "1").file("y/workload_card.yaml/x", "1");
    symlink("nowhere", traces.path().join("timing_stats_1.json")).unwrap();
    symlink("..", traces.path().join("up")).unwrap();
    assert_eq!(
        traces.told(),
        [
            "error unreadable: a directory, not a file",
            "error unreadable: a symbolic link to nowhere, not a file",
            "error unreadable: a directory, not a file",
        ]
    );
}

#[test]
fn reports_waivers_and_baselines_hold_for_traces() {
    let tree = common::Tree::new();
    let bad = CARD.replace("total_count: 4", "total_count: 8");
    tree.file("traces/qwen3/qwen3.yaml", &bad);
    let root = tree.path().display().to_string();
    let judge = |args: &[&str]| run(&[&["validate", "--traces", &root], args].concat());
    for format in ["human", "sarif", "junit", "github", "markdown"] {
        let run = judge(&["--format", format]);
        assert_eq!(run.code(), 1);
        assert!(run.out().contains("trace-card-contradiction"), "{format}: {}", run.out());
        let line = match format {
            "sarif" => "\"startLine\": 26",
            "github" => "file=traces/qwen3/qwen3.yaml,line=26,",
            _ => "line 26",
        };
        assert!(run.out().contains(line), "{format}: {}", run.out());
    }
    let first = judge(&["--format", "json"]).out();
    let strip = |t: &str| t.lines().filter(|l| !l.contains("elapsed")).collect::<String>();
    assert_eq!(strip(&first), strip(&judge(&["--format", "json", "--threads", "1"]).out()));
    assert!(first.contains("\"traces/qwen3/qwen3.yaml\""), "{first}");

    let baseline = tree.path().join("baseline.json").display().to_string();
    assert_eq!(judge(&["--write-baseline", &baseline]).code(), 1);
    assert_eq!(judge(&["--baseline", &baseline]).code(), 0);

    tree.file(".perfdb-gate/waivers.yaml", "waivers:\n- rule: trace-card-contradiction\n  path: '**/qwen3.yaml'\n  reason: r\n  evidence: e\n  approved_by: me\n  until: 2999-01-01\n- rule: duplicate-key\n  path: '**'\n  reason: r\n  evidence: e\n  approved_by: me\n  until: 2999-01-01\n");
    let waived = judge(&["--format", "json"]);
    assert_eq!((waived.code(), waived.json()["summary"]["waived"].as_u64()), (0, Some(1)));
    assert!(!waived.out().contains("waiver-unused"), "waivers of tables are no business of traces");
    // Nor the other way round.
    tree.gemm("gemm_perf.txt", common::gemm(&[(1, 0.5), (2, 0.6)]));
    let database = tree.validate(&["--format", "json"]);
    let unused = database.finding("waiver-unused");
    assert_eq!(unused["message"], "the waiver of duplicate-key on ** matches nothing");
}

#[test]
fn sanity_judges_traces_that_a_pull_request_brings() {
    let tree = common::Tree::new();
    tree.gemm("gemm_perf.txt", common::gemm(&[(1, 0.5), (2, 0.6)]));
    tree.file("traces/old/old.yaml", CARD.replace("total_count: 4", "total_count: 8"));
    tree.file("traces/experiment_metrics.csv", format!("{HEAD}{}", ROW.replace(",0.5,", ",0,")));
    tree.commit();
    tree.git(&["branch", "base"]);
    // Nothing of it changed: nothing is said.
    tree.file("notes.md", "x");
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    assert_eq!(run.code(), 3, "{}", run.err());
    assert!(run.findings().is_empty(), "{:?}", run.findings());

    tree.file("traces/new-tp2/new-tp2.yaml", CARD);
    tree.file(
        "traces/experiment_metrics.csv",
        format!(
            "{HEAD}{}{}",
            ROW.replace(",0.5,", ",0,"),
            ROW.replace("qwen3", "llama").replace("vllm,4", "vllm,2")
        ),
    );
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    assert_eq!(run.code(), 1, "{}", run.err());
    let json = run.json();
    let new = |f: &&Value| f["new"] == true;
    let findings = json["findings"].as_array().unwrap();
    let told: Vec<&str> =
        findings.iter().filter(new).map(|f| f["message"].as_str().unwrap()).collect();
    assert_eq!(told, ["its directory says tp 2, the file says 4, line 35"]);
    // The row that was wrong before still is, and does not fail the run.
    let old: Vec<&Value> = findings.iter().filter(|f| f["new"] == false).collect();
    assert_eq!(old.len(), 1, "{old:?}");
    assert_eq!(old[0]["path"], "traces/experiment_metrics.csv");
    assert_eq!(
        run.diff(),
        ["modified traces/experiment_metrics.csv", "added traces/new-tp2/new-tp2.yaml"]
    );

    let charts = tree.path().join("charts");
    let comment = tree.path().join("comment.md");
    let run = tree.sanity(&[
        "--base-ref",
        "base",
        "--head-ref",
        "HEAD",
        "--output-dir",
        &charts.display().to_string(),
        "--output-md-file",
        &comment.display().to_string(),
    ]);
    assert_eq!(run.code(), 1, "{}", run.err());
    let names: Vec<String> = std::fs::read_dir(&charts)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|n| n.ends_with(".svg")), "{names:?}");
    let comment = std::fs::read_to_string(comment).unwrap();
    assert!(
        comment.contains("trace-card-contradiction") && comment.contains("validate --traces ."),
        "{comment}"
    );
}

#[test]
fn sanity_sees_files_of_ranks_and_job_scripts() {
    let tree = common::Tree::new();
    tree.file("traces/a/a.yaml", CARD);
    for rank in 0..4 {
        tree.file(&format!("traces/a/kineto_trace_{rank}.json"), "{}");
    }
    tree.file("configs/E1.2_x.yaml", CONFIG);
    let job = "#SBATCH --gpus=4\npython profile.py --config configs/E1.2_x.yaml\n";
    tree.file("jobs/run.sh", job);
    tree.file("jobs/other.sh", "#SBATCH --gpus=2\n");
    tree.commit();
    tree.git(&["branch", "base"]);
    tree.remove("traces/a/kineto_trace_2.json");
    tree.file("traces/a/kineto_trace_1.json", "");
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    assert_eq!(run.code(), 1, "{}", run.err());
    assert_eq!(
        run.findings(),
        [
            "trace-file-missing error traces/a/a.yaml",
            "trace-file-missing error traces/a/kineto_trace_1.json"
        ]
    );
    assert_eq!(
        run.diff(),
        ["modified traces/a/kineto_trace_1.json", "deleted traces/a/kineto_trace_2.json"]
    );
    tree.git(&["checkout", "-q", "-b", "jobs", "base"]);
    tree.file("jobs/run.sh", job.replace("=4", "=2"));
    tree.file("jobs/other.sh", "#SBATCH --gpus=1\n");
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    assert_eq!(run.findings(), ["trace-config-contradiction error configs/E1.2_x.yaml"]);
    assert_eq!(run.diff(), ["modified jobs/run.sh"]);
}

#[test]
fn a_move_brings_nothing_new() {
    let tree = common::Tree::new();
    // Old debt: of the card, of its files, of a config that the card does not agree with, of a job.
    tree.file("old/a/workload_card.yaml", CARD.replace("total_count: 4", "total_count: 12"));
    tree.file("old/a/kineto_trace_0.json", "{}");
    tree.file("old/a/kineto_trace_1.json", "");
    tree.file("old/a/config.yaml", CONFIG.replace("batch_size: 8", "batch_size: 16"));
    tree.file("old/a/run.sh", "#SBATCH --gpus=2\npython profile.py --config config.yaml\n");
    tree.commit();
    tree.git(&["branch", "base"]);
    tree.git(&["mv", "old", "new"]);
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    assert!(!run.diff().is_empty(), "{}", run.out());
    assert!(run.diff().iter().all(|d| d.starts_with("renamed new/a/")), "{:?}", run.diff());
    let json = run.json();
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 5, "{:?}", run.findings());
    assert!(findings.iter().all(|f| f["new"] == false), "{}", run.out());
    // What a new name says is new.
    tree.git(&["mv", "new/a", "new/a-tp2"]);
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    let json = run.json();
    let new = json["findings"].as_array().unwrap().iter().filter(|f| f["new"] == true);
    let told: Vec<&str> = new.map(|f| f["message"].as_str().unwrap()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|t| t.contains("directory says tp 2")), "{told:?}");
}

#[test]
fn sanity_of_a_repository_of_traces_alone() {
    let tree = common::Tree::new();
    tree.remove("systems/h200_sxm.yaml");
    tree.file("traces/a/a.yaml", CARD);
    tree.commit();
    tree.git(&["branch", "base"]);
    tree.file("traces/a/a.yaml", CARD.replace("moe: false", "moe: maybe"));
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    assert_eq!(run.code(), 1, "{}", run.err());
    assert_eq!(run.findings(), ["trace-card-invalid error traces/a/a.yaml"]);
    // Without a trace that changed there is nothing to compare.
    let same = tree.sanity(&["--base-ref", "HEAD", "--head-ref", "HEAD"]);
    assert_eq!(same.code(), 2, "{}", same.err());
}

#[test]
fn a_database_holds_no_traces() {
    let tree = common::Tree::new();
    tree.gemm("gemm_perf.txt", common::gemm(&[(1, 0.5), (2, 0.6)]));
    tree.commit();
    tree.git(&["branch", "base"]);
    // Files that only look like some, of names that many projects have.
    tree.file("deploy/deploy.yaml", "workload: web\nreplicas: 2\n");
    tree.file("results_summary.csv", "model,score\na,1\n");
    tree.file("benchmark_data.json", "[1, 2]");
    tree.file("config.yaml", "parallelism: 4\n");
    tree.file("bench.yaml", "parallelism: 2\nwarmup_iterations: 3\n");
    tree.file("deploy/hpa.yaml", "workload: web\nmetric_source: prometheus\n");
    tree.file("E2_exp.yaml", "experiment_id: 7\n");
    tree.file("E3.yaml", "");
    tree.file("chart.yaml", "jobs:\n  workload: a\n  metric_source: b\n");
    tree.file(
        "systems/data/h200_sxm/vllm/0.24.0/workload_card.yaml",
        CARD.replace("tp: 4", "tp: x"),
    );
    tree.commit();
    let run = tree.sanity(&["--base-ref", "base", "--head-ref", "HEAD"]);
    assert!(!run.out().contains("trace-"), "{}", run.out());
}

#[test]
fn a_spec_that_reads_what_is_not_there_is_refused_with_its_line() {
    let traces = Traces::new();
    let spec = include_str!("../../rules/traces/card.yaml");
    let rules = traces.path().join("rules").display().to_string();
    for (from, to, says) in [
        ("holds: ep = 1", "holds: eps = 1", "relation experts-without-moe, line"),
        ("holds: ep = 1", "holds: ep ==", "card.yaml"),
        ("finds: implausible", "finds: nothing", "card.yaml"),
        ("{type: text, need: must, as: phase", "{type: word, need: must, as: phase", "line"),
    ] {
        traces.file("rules/traces/card.yaml", spec.replacen(from, to, 1));
        let run = traces.judge(&["--rules", &rules]);
        assert_eq!(run.code(), 2, "{to}");
        assert!(run.err().contains(says), "{to}: {}", run.err());
    }
}

#[test]
fn a_new_field_and_identity_need_no_rust() {
    let traces = Traces::new();
    let spec = include_str!("../../rules/traces/card.yaml")
        .replace("  workload.data.dataset:", "  workload.data.num_requests: {type: int, need: must, as: requests, least: 1}\n  workload.data.dataset:")
        .replace("relations:\n", "relations:\n  - id: requests-fill-the-batch\n    finds: contradiction\n    holds: requests >= batch_size\n    says: \"{requests} requests do not fill a batch of {batch_size}\"\n");
    traces.file("rules/traces/card.yaml", spec);
    let rules = traces.path().join("rules").display().to_string();
    let judge = |text: &str| {
        traces.file("x/x.yaml", text);
        told(&traces.judge(&["--format", "json", "--rules", &rules]).json())
    };
    assert_eq!(judge(CARD), ["error card-invalid: missing: workload.data.num_requests"]);
    let few = CARD.replace("    dataset", "    num_requests: 4\n    dataset");
    assert_eq!(
        judge(&few),
        ["error card-contradiction: 4 requests do not fill a batch of 8, line 16"]
    );
    assert_eq!(judge(&few.replace("requests: 4", "requests: 40")), NONE);
}
