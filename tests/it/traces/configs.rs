//! Configs of experiments, and files of ranks.

use super::{CARD, CONFIG, Cases, NONE, Traces, card, timing};

#[test]
fn a_config_must_be_consistent_and_match_its_name_and_card() {
    let told = |name: &str, from: &str, to: &str| {
        let traces = Traces::new();
        traces.file(&format!("configs/{name}.yaml"), CONFIG.replace(from, to));
        traces.told()
    };
    assert_eq!(told("E1.2_qwen3_tp4", "", ""), NONE);
    let mut cases = Cases::default();
    for (name, from, to, kind) in [
        ("E1.2_x", "on 4 GPUs", "on 8 GPUs", "error config-contradiction"),
        ("E1.2_x", "warmup", "gpus: 2\nwarmup", "error config-contradiction"),
        ("E1.2_qwen3_tp2", "", "", "error config-contradiction"),
        ("E1.3_x", "", "", "error config-contradiction"),
        ("E1.2_x", "iterations: 5", "iterations: 0", "error config-invalid"),
        ("E1.2_x", "batch_size: 8", "batch_size: 0", "error config-invalid"),
        ("E1.2_x", "seq_len: 1024", "seq_len: long", "error config-invalid"),
    ] {
        let told = told(name, from, to);
        assert_eq!(told.len(), 1, "{from} {to}: {told:?}");
        cases.add(&format!("{name}, {from:?} {to:?}"), kind, &told);
    }
    insta::assert_snapshot!(cases.0);
    // A job script asks for GPUs.
    let traces = Traces::new();
    traces.file("configs/E1.2_x.yaml", CONFIG);
    let job = |gpus: u32| {
        format!("#SBATCH --gpus={gpus}\npython profile.py --config configs/E1.2_x.yaml\n")
    };
    traces.file("jobs/run_E1.2.sh", job(4));
    assert_eq!(traces.told(), NONE);
    traces.file("jobs/run_E1.2.sh", job(2));
    insta::assert_snapshot!(traces.told().join("\n"), @"error config-contradiction: jobs/run_E1.2.sh requests 2 GPUs to run this config, but the product of its parallel degrees is 4");
    traces.file("jobs/run_E1.2.sh", job(8));
    insta::assert_snapshot!(traces.told().join("\n"), @"warning config-contradiction: jobs/run_E1.2.sh requests 8 GPUs to run this config, but the product of its parallel degrees is 4");
    // The card is told by the folder it lies in, or by description, model and plan.
    let traces = Traces::new();
    let card = CARD.replace("batch_size: 8", "batch_size: 16");
    traces
        .file("configs/E1.2_x.yaml", CONFIG)
        .file("traces/qwen3-4b-E1.2/workload_card.yaml", &card);
    insta::assert_snapshot!(traces.told().join("\n"), @"error config-contradiction: the config contradicts the card traces/qwen3-4b-E1.2/workload_card.yaml (in its output_dir): batch_size is 8 in the config (line 7) and 16 in the card");
    let traces = Traces::new();
    let described = card.replace("Synthetic.", "Synthetic tensor parallelism TP=4 on 4 GPUs");
    traces.file("configs/E1.2_x.yaml", CONFIG).file("a/a.yaml", &described);
    insta::assert_snapshot!(traces.told().join("\n"), @"error config-contradiction: the config contradicts the card a/a.yaml (with the same description, model and plan): batch_size is 8 in the config (line 7) and 16 in the card");
    // Another config of that description that agrees is its config.
    traces.file(
        "configs/E1.3_x.yaml",
        CONFIG.replace("E1.2", "E1.3").replace("batch_size: 8", "batch_size: 16"),
    );
    assert_eq!(traces.told(), NONE);
}

#[test]
fn every_rank_must_have_its_trace_files() {
    let traces = Traces::new();
    let (path, text) = card("qwen3", &[("tp: 4", "tp: 2"), ("total_count: 4", "total_count: 2")]);
    traces
        .file(&path, text)
        .file("qwen3/kineto_trace_0.json", "{}")
        .file("qwen3/kineto_trace_1.json", "{}");
    assert_eq!(traces.told(), NONE);
    traces.file("qwen3/kineto_trace_1.json", "");
    insta::assert_snapshot!(traces.told().join("\n"), @"error file-missing: the file is empty");
    traces.file("qwen3/kineto_trace_1.json", "{}").file("qwen3/kineto_trace_2.json", "{}");
    insta::assert_snapshot!(traces.told().join("\n"), @"error file-missing: kineto_trace_{rank}.json: there are files of rank 2, but the run has 2 ranks");
    std::fs::remove_file(traces.path().join("qwen3/kineto_trace_2.json")).unwrap();
    std::fs::remove_file(traces.path().join("qwen3/kineto_trace_0.json")).unwrap();
    insta::assert_snapshot!(traces.told().join("\n"), @"error file-missing: kineto_trace_{rank}.json: only 1 of 2 ranks have a file; rank 0 has none");
    std::fs::remove_file(traces.path().join("qwen3/kineto_trace_1.json")).unwrap();
    // A profiler of the driver alone.
    traces.file("qwen3/timing_stats_0.json", timing("1, 2", "1.5"));
    insta::assert_snapshot!(traces.told().join("\n"), @"warning file-missing: timing_stats_{rank}.json: only 1 of 2 ranks have a file; rank 1 has none");
    traces.file("qwen3/timing_stats_1.json", timing("1, 2, 1.5", "1.5"));
    insta::assert_snapshot!(traces.told().join("\n"), @"error file-missing: iteration_times differs between ranks: 2 entries in rank 0, 3 entries in rank 1");
    // The files of a host's idle units are no mistake.
    let host = Traces::new();
    let (path, text) = card("qwen3", &[("tp: 4", "tp: 2"), ("- 2400", "- 2400")]);
    host.file(&path, text);
    for rank in 0..4 {
        let told = host.file(&format!("qwen3/nsys_{rank}.nsys-rep"), "x").told();
        let of_ranks = told.iter().filter(|t| t.contains(" file-missing: ")).count();
        assert_eq!(of_ranks, usize::from(rank % 2 == 0), "{told:?}");
    }
    // Of several configs, none tells which run it is.
    let several = Traces::new();
    several
        .file("x/timing_stats_0.json", timing("1, 2", "1.5"))
        .file("x/E1.2_x.yaml", CONFIG.replace("tp: 4", "tp: 1").replace("on 4", "on 1"));
    insta::assert_snapshot!(several.told().join("\n"), @"error file-missing: iteration_times has 2 entries, but x/E1.2_x.yaml asks for 5");
    several.file("x/E1.3_x.yaml", CONFIG.replace("E1.2", "E1.3"));
    assert_eq!(several.told(), NONE);
    // The config beside them asks for five.
    traces
        .file("qwen3/timing_stats_1.json", timing("1, 2", "1.5"))
        .file("qwen3/config.yaml", CONFIG.replace("tp: 4", "tp: 2").replace("on 4", "on 2"));
    insta::assert_snapshot!(traces.told().join("\n"), @"error file-missing: iteration_times has 2 entries, but qwen3/config.yaml asks for 5");
}
