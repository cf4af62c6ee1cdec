//! `validate --traces` and traces in `sanity`, through the command line. All files are synthetic.

mod cards;
mod changes;
mod configs;
mod files;
mod metrics;

use std::path::Path;

use crate::common::snapshot::{message, shown};
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

/// Cases of which each breaks something: what is found is asserted, how it is told is a snapshot.
#[derive(Default)]
struct Cases(String);

impl Cases {
    /// A case, and the start of one of the lines that it is told: severity and rule.
    fn add(&mut self, case: &str, kind: &str, told: &[String]) {
        let kind = format!("{kind}: ");
        assert!(told.iter().any(|t| t.starts_with(&kind)), "{case}: {kind}in {told:?}");
        self.0 += &format!("{case}\n  {}\n", told.join("\n  "));
    }
}

#[test]
fn a_complete_card_is_counted_and_has_no_finding() {
    let traces = Traces::new();
    let (path, text) = card("qwen3-4b-vllm-tp4-batch8", &[]);
    traces.file(&path, &text);
    let run = traces.judge(&["--format", "json"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    assert_eq!(run.json()["command"], "validate");
    assert_eq!(told(&run.json()), NONE);
    insta::assert_snapshot!(traces.judge(&[]).shown(), @"
    $ perfdb-gate validate --traces [tmp]
    0 errors, 0 warnings, 0 infos; checked 1 file, 0 rows in [seconds] s
    (exit 0)
    ");
}

#[test]
fn a_folder_without_traces_never_passes() {
    let traces = Traces::new();
    traces.file("notes.yaml", "a: 1\n").file("table.csv", "m,latency\n1,2\n");
    let none = traces.judge(&[]);
    assert_eq!(none.code(), 3);
    let missing = run(&["validate", "--traces", "/no/such/folder"]);
    assert_eq!(missing.code(), 2);
    insta::assert_snapshot!(shown([&none, &missing]), @"
    $ perfdb-gate validate --traces [tmp]
    nothing was checked: 0 errors, 0 warnings, 0 infos; checked 0 tables, 0 rows in [seconds] s
    (exit 3)

    $ perfdb-gate validate --traces /no/such/folder
    2> perfdb-gate: cannot open /no/such/folder: No such file or directory (os error 2)
    2> hint: --traces takes a folder with cards, configs or metric files
    (exit 2)
    ");
}

#[test]
fn rules_and_selections_of_databases_are_refused_for_traces() {
    let traces = Traces::new();
    let system = traces.judge(&["--system", "h200_sxm"]);
    let other = traces.judge(&["--only", "duplicate-key"]);
    let tree = common::Tree::new();
    tree.gemm("gemm_perf.txt", common::gemm(&[(1, 0.5), (2, 0.6)]));
    let alone = tree.validate(&["--only", "trace-card-invalid"]);
    assert!([&system, &other, &alone].iter().all(|run| run.code() == 2));
    insta::assert_snapshot!(shown([&system, &other, &alone]), @"
    $ perfdb-gate validate --traces [tmp] --system h200_sxm
    2> perfdb-gate: the argument '--traces <DIR>' cannot be used with '--system <NAME>'
    2> hint: leave one of them out
    (exit 2)

    $ perfdb-gate validate --traces [tmp] --only duplicate-key
    2> perfdb-gate: no rule is left to run
    2> hint: rules on traces run only with --traces DIR, and only they do
    (exit 2)

    $ perfdb-gate validate --root [tmp] --only trace-card-invalid
    2> perfdb-gate: no rule is left to run
    2> hint: rules on traces run only with --traces DIR, and only they do
    (exit 2)
    ");
    let report = tree.validate(&["--format", "junit"]).out();
    assert!(!report.contains("trace-card"), "no suite of rules that did not run");
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

const HEAD: &str = "experiment,backend,tp,batch,total_nvlink_gb,peak_nvlink_gb_s,avg_nvlink_gb_s,burst_intensity,burst_duration_s,bw_usage_pct,prefill_avg_bw_gb_s,decode_avg_bw_gb_s,nccl_contribution_pct,mean_ttft_ms,p99_ttft_ms,mean_tpot_ms,p99_tpot_ms,throughput_tok_s,throughput_req_s,total_input_tokens,total_output_tokens\n";

const ROW: &str = "qwen3,vllm,4,8,100,30,6,5,0.5,1,2,6.1,1.5,200,300,5,6,128,1,204800,25600\n";

fn timing(times: &str, average: &str) -> String {
    format!(
        "{{\"iteration_times\": [{times}], \"avg_iteration_time\": {average}, \"min_iteration_time\": 1, \"max_iteration_time\": 2}}"
    )
}

#[test]
fn formats_waivers_and_baselines_apply_to_traces() {
    let tree = common::Tree::new();
    let bad = CARD.replace("total_count: 4", "total_count: 8");
    tree.file("traces/qwen3/qwen3.yaml", &bad);
    let root = tree.path().display().to_string();
    let judge = |args: &[&str]| run(&[&["validate", "--traces", &root], args].concat());
    for format in ["human", "sarif", "junit", "github", "markdown"] {
        let run = judge(&["--format", format, "--only", "trace-card-contradiction"]);
        assert_eq!(run.code(), 1);
        insta::assert_snapshot!(format!("traces_{format}"), run.shown());
    }
    let first = judge(&["--format", "json"]);
    assert_eq!(first.json(), judge(&["--format", "json", "--threads", "1"]).json());
    assert_eq!(first.findings(), ["trace-card-contradiction error traces/qwen3/qwen3.yaml"]);

    let baseline = tree.path().join("baseline.json").display().to_string();
    assert_eq!(judge(&["--write-baseline", &baseline]).code(), 1);
    assert_eq!(judge(&["--baseline", &baseline]).code(), 0);

    tree.file(".perfdb-gate/waivers.yaml", "waivers:\n- rule: trace-card-contradiction\n  path: '**/qwen3.yaml'\n  reason: r\n  evidence: e\n  approved_by: me\n  until: 2999-01-01\n- rule: duplicate-key\n  path: '**'\n  reason: r\n  evidence: e\n  approved_by: me\n  until: 2999-01-01\n");
    let waived = judge(&["--format", "json"]);
    assert_eq!((waived.code(), waived.json()["summary"]["waived"].as_u64()), (0, Some(1)));
    assert_eq!(waived.findings().len(), 1, "waivers of tables are no business of traces");
    // Nor the other way round.
    tree.gemm("gemm_perf.txt", common::gemm(&[(1, 0.5), (2, 0.6)]));
    let database = tree.validate(&["--format", "json"]);
    let unused = database.finding("waiver-unused");
    insta::assert_snapshot!(message(&unused), @"the waiver of duplicate-key on ** does not match any finding");
}
