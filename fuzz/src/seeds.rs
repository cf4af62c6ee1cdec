//! What mutation starts from: small, synthetic, one of each form.

use perfdb_gate::checks::Input;
use perfdb_gate::checks::rule::{Rule, Rules};

use std::sync::LazyLock;

use crate::SPECS;
use crate::memory::Memory;

/// The bad and the good example of rules.
fn examples(of: impl Fn(&Rule) -> bool) -> Vec<Vec<(&'static String, &'static String)>> {
    static WITH_EXAMPLES: LazyLock<Rules> =
        LazyLock::new(|| Rules::with_examples(&SPECS.library).expect("the embedded rules"));
    WITH_EXAMPLES
        .all()
        .filter(|rule| of(rule))
        .flat_map(|rule| [&rule.bad, &rule.good])
        .map(|e| e.files.iter().collect())
        .collect()
}

/// The files of those examples whose path ends so, each by itself.
fn example_files(rule: &str, ending: &str) -> Vec<Vec<u8>> {
    let files = examples(|r| r.id == rule).into_iter().flatten();
    files.filter(|(path, _)| path.ends_with(ending)).map(|(_, t)| t.clone().into_bytes()).collect()
}

/// The table that ships with the program is the only one that is not made up; those of other writers are.
pub fn parquet() -> Vec<Vec<u8>> {
    let shipped = include_bytes!("../../data/h200_sxm/gemm/torch/2.11.0/gemm_perf.parquet");
    let own = [shipped.to_vec(), b"PAR1\0\0\0\0PAR1".to_vec()];
    own.into_iter().chain(crate::forge::SEEDS.iter().cloned()).collect()
}

fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

const HEADER: &str = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";

/// Text tables: plain, quoted, torn, with a mark and other line ends.
pub fn csv() -> Vec<Vec<u8>> {
    let row = "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,1,128,128,0.5\n";
    texts(&[
        &format!("{HEADER}{row}{row}"),
        &format!("\u{feff}{HEADER}{}", row.replace('\n', "\r\n")),
        &format!("{HEADER}{}", row.replace("cutlass", "\"a,\"\"b\nc\"")),
        &format!("{HEADER}{row}VLLM,0.2"),
        &format!("{HEADER}{}", row.replace("0.5", "NaN").replace(",1,", ",,")),
        "m,latency,on\n1,0.5,True\n2,1e400,False\n",
    ])
}

/// Systems.
pub fn system() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../systems/h200_sxm.yaml").to_vec(), b"devices: ['*', '[a']\n".to_vec()]
}

/// Sidecars, waivers, a baseline.
pub fn sidecar() -> Vec<Vec<u8>> {
    texts(&[
        "schema_version: 1\nprovenance: collected\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf: {status: complete, rows: 2, sha256: ab}\n",
        "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: 0.22.0, reason: r, approved_by: a}\n",
        "waivers:\n- {rule: duplicate-key, path: '**', where: rows < 3 AND worst_ratio > 1, reason: r, evidence: e, approved_by: a, until: 2030-01-01}\n",
        "{\"schema\": \"perfdb-gate/baseline/v1\", \"findings\": [{\"fingerprint\": \"a\", \"rule\": \"r\", \"severity\": \"error\", \"path\": \"p\", \"rows\": 1}]}",
        "a: &a [x, x]\nb: *a\n",
    ])
}

/// Rules, tables and what else overlays them.
pub fn rules() -> Vec<Vec<u8>> {
    let files: [&[u8]; 8] = [
        include_bytes!("../../rules/key-out-of-range.yaml"),
        include_bytes!("../../rules/tables/gemm.yaml"),
        include_bytes!("../../rules/tables/attention.yaml"),
        include_bytes!("../../rules/limits.yaml"),
        include_bytes!("../../rules/dtypes.yaml"),
        include_bytes!("../../rules/loader.yaml"),
        include_bytes!("../../rules/recipes.yaml"),
        include_bytes!("../../charts/tables.yaml"),
    ];
    files.iter().map(|f| f.to_vec()).collect()
}

/// Pointers.
pub fn pointer() -> Vec<Vec<u8>> {
    texts(&[
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
    ])
}

/// Names, apart by U+0001.
pub fn report() -> Vec<Vec<u8>> {
    texts(&[
        "duplicate-key\u{1}systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet\u{1}2 rows",
        "::error::x\u{1}##[error]y\u{1}%0A::add-mask::z\r\n::error::\u{1}</script><img src=x onerror=alert(1)>",
        "[a](http:b) @you `|\u{1}\u{202e}\u{2066}\x1b[31m\u{9b}31m\x7f\u{1}-->]]>&amp;\"'\\",
    ])
}

/// The examples of the rules on traces, and files that those have none of.
pub fn trace() -> Vec<Vec<u8>> {
    let of_rules = examples(|rule| rule.check.needs().has(Input::Traces)).into_iter();
    let mut seeds: Vec<Vec<u8>> = of_rules.map(Memory::pack).collect();
    seeds.extend(texts(&[
        "run/timing_stats_0.json\n{\"iteration_times\": [0.5, 0.75], \"avg_iteration_time\": 0.625, \"num_iterations\": 2}\u{1}\
         run/timing_stats_1.json\n{\"iteration_times\": [0.5, null], \"avg_iteration_time\": \"n/a\"}\u{1}run/torch_et_0.json\n",
        "a/benchmark_data.json\n{\"metric_info\": {\"ttft\": {\"unit\": \"ms\", \"label\": \"TTFT (s)\"}}, \"rows\": \
         [{\"metadata\": {\"workload_name\": \"w-tp_4\", \"hardware_model\": \"A100\"}, \"metrics\": {\"ttft\": 12.5, \"x\": {}}}]}",
        "tp_metrics_summary.csv\ntp,ttft_avg_ms,ttft_min_ms,tpot_min_ms\n1,12.5,11,1e400\n2,,-1,x\n4,1",
        "job.sh\n#SBATCH -N 2\n#SBATCH --gpus-per-node=a100:4\nsrun python run.py E1.2_a.yaml\u{1}\
         E1.2_a.yaml\nexperiment_id: E1.2\nprofile_iterations: 2\nparallelism: {tp: 4, pp: 1}\n",
    ]));
    seeds
}

/// Support matrices, and what backends take from each other.
pub fn support() -> Vec<Vec<u8>> {
    let mut seeds = example_files("support-matrix", ".csv");
    seeds.extend(texts(&[
        "HuggingFaceID,Architecture,System,Backend,Version,Mode,Status,ErrMsg,Command\n\
         a/b,Llama,h200_sxm,vllm,1,agg,PASS,\"said \"\"no\"\",\nat length\",x --database-mode SILICON\n",
        "groups:\n- {op_file: a_perf.parquet, kernel_source: k, tier: shared, frameworks: [vllm, sglang]}\n\
         - {op_file: b_perf.parquet, kernel_source: k, tier: absence_load_bearing, frameworks: [vllm]}\n",
    ]));
    seeds
}

/// Operation catalogs.
pub fn operations() -> Vec<Vec<u8>> {
    texts(&[
        "schema_version: 1\nfamilies:\n- family: gemm\n  op_files: [gemm_perf]\n  default: any\n\
         - {family: moe, op_files: [moe_perf, gemm_perf, \"::error::x\"]}\n",
        "families: []\n",
    ])
}

/// Failures as a collector records them.
pub fn ledger() -> Vec<Vec<u8>> {
    texts(&[
        "errors_vllm.gemm.json\n[{\"module\": \"vllm.gemm\", \"task_id\": \"a\", \"task_params\": \
         \"Case(m=[1, 16], n=4096, k=4096, dtype='bfloat16', tp=8, model=None)\", \"error_type\": \"RuntimeError\", \
         \"classification\": \"unexpected\", \"timestamp\": 1}, {\"module\": \"vllm.gemm\", \"task_params\": \
         \"(16, 4096, 4096, 'bfloat16', True, -1.5e3)\", \"classification\": \"unexpected\", \"group\": \"m|fp8, bf16\"}]\u{1}\
         collection_summary_vllm.json\n{\"summary\": {\"backend\": \"vllm\", \"version\": \"0.24.0\"}, \"errors\": []}",
        "errors_a.json\n[{\"module\": \"vllm.gemm\", \"task_params\": {\"m\": [16, [4096]], \"dtype\": {\"x\": \"bfloat16\"}}, \
         \"classification\": \"breaker_skipped\"}, {\"module\": \"vllm.gemm\", \"task_params\": [16, [4096, 4096], null], \
         \"classification\": \"unexpected\", \"error_type\": \"OutOfMemoryError\"}, {\"module\": \"vllm.gemm\", \
         \"task_params\": null, \"group\": \"|bfloat16\", \"classification\": \"unverified_skipped\"}]",
        "errors_b.json\n[{\"module\": \"vllm.gemm\", \"task_params\": \"{'m': 4, 'inner': {'n': 5}, \u{e9}=[\u{df}\", \
         \"classification\": \"unexpected\"}]",
    ])
}

/// Logs of measurements: of two sessions, with power, and torn.
pub fn samples() -> Vec<Vec<u8>> {
    let session = "{\"session\":{\"date\":\"2026-07-01\",\"device\":\"NVIDIA H200\",\"versions\":{\"CUDA\":\"13.0\"},\"power_limit_w\":700.0}}\n";
    let point = "{\"key\":{\"gemm_dtype\":\"bfloat16\",\"k\":128,\"m\":16,\"n\":256},\"samples_ms\":[0.25,0.5],\"power_w\":400.0}\n";
    let failed = "{\"key\":{\"gemm_dtype\":\"fp8\",\"k\":null,\"m\":1.5,\"x\":true},\"error\":\"no kernel\"}\n";
    texts(&[
        &format!("{session}{point}{failed}"),
        &format!("{session}{point}{session}{}{{\"key\":", point.replace("16", "32")),
        &format!("{point}\n{}", point.replace("400.0", "null").replace("16", "-1")),
    ])
}

/// Declared reuse, good and bad, of itself too.
pub fn reuse() -> Vec<Vec<u8>> {
    let mut seeds = example_files("reuse-invalid", "reuse.yaml");
    seeds.extend(example_files("reuse-forbidden", "reuse.yaml"));
    seeds.extend(texts(&[
        "schema_version: 1\nreuse:\n- {table: gemm_perf, from_version: 0.24.0, reason: r, approved_by: a}\n\
         - {table: gemm_perf, from_version: 0.22.0, reason: r, approved_by: a}\n\
         - {table: gemm_perf, from_version: 0.22.0, reason: r, approved_by: a}\n",
    ]));
    seeds
}

/// Waivers: those of the rules' examples, globs and conditions.
pub fn waiver() -> Vec<Vec<u8>> {
    let mut seeds = example_files("waiver-expired", "waivers.yaml");
    seeds.extend(example_files("waiver-unused", "waivers.yaml"));
    seeds.extend(texts(&[
        "waivers:\n- {rule: duplicate-key, path: '**/h200_sxm/{gemm,[a-c]*}/*/?.24.0/*', where: rows <= 5 AND worst_ratio > 1 OR unit = 'ms', \
         reason: r, evidence: e, approved_by: a, until: 2030-01-31}\n",
        "waivers:\n- {rule: duplicate-key, path: '**', where: \"CASE WHEN severity IN ('error', 'x') THEN rows ELSE power(rows, 400) END > 1\", \
         reason: r, evidence: e, approved_by: a, until: 2001-01-01}\n",
    ]));
    seeds
}
