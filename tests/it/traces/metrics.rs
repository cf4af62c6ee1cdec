//! Metric files: their columns, and identities between these.

use super::{CARD, Cases, HEAD, NONE, ROW, Traces, card, timing, told};

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
fn nvlink_metrics_must_be_consistent_with_each_other() {
    assert_eq!(told_of_row(&[]), NONE);
    let mut cases = Cases::default();
    for (cells, kind) in [
        (&[("burst_intensity", "7")][..], "error metric-contradiction"),
        (&[("bw_usage_pct", "2")], "warning metric-contradiction"),
        (&[("burst_duration_s", "0")], "error metric-contradiction"),
        (&[("burst_duration_s", "20")], "error metric-contradiction"),
        (&[("peak_nvlink_gb_s", "18"), ("burst_intensity", "3")], "error metric-contradiction"),
        (
            &[("peak_nvlink_gb_s", "900"), ("burst_intensity", "150")],
            "warning metric-contradiction",
        ),
        (&[("decode_avg_bw_gb_s", "5")], "warning metric-implausible"),
        (&[("prefill_avg_bw_gb_s", "0")], "warning metric-implausible"),
        (&[("tp", "1")], "error metric-contradiction"),
        // Of 200 requests a few may be far above all others, of 2 none.
        (&[("p99_ttft_ms", "100")], "warning metric-implausible"),
        (&[("p99_tpot_ms", "4")], "warning metric-implausible"),
        (
            &[("p99_ttft_ms", "100"), ("throughput_req_s", "0.1"), ("total_output_tokens", "2560")],
            "error metric-contradiction",
        ),
        (
            &[("throughput_req_s", "0.1"), ("total_output_tokens", "2560")],
            "warning metric-implausible",
        ),
        (
            &[("throughput_tok_s", "0.128"), ("throughput_req_s", "0.001")],
            "error metric-contradiction",
        ),
        (&[("mean_ttft_ms", "0.2"), ("p99_ttft_ms", "0.3")], "warning metric-implausible"),
        (&[("nccl_contribution_pct", "101")], "error metric-invalid"),
        (&[("nccl_contribution_pct", "-1")], "error metric-invalid"),
        (&[("p99_ttft_ms", "inf")], "error metric-invalid"),
        (&[("nccl_contribution_pct", "N/A")], "warning metric-invalid"),
        (&[("nccl_contribution_pct", "lots")], "error metric-invalid"),
    ] {
        cases.add(&format!("{cells:?}"), kind, &told_of_row(cells));
    }
    insta::assert_snapshot!(cases.0);
    // What was not measured is judged by nothing.
    let unmeasured =
        ["mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "throughput_tok_s"];
    assert_eq!(told_of_row(&unmeasured.map(|name| (name, ""))), NONE);
}

#[test]
fn a_finding_on_metrics_names_lines_and_the_origin_of_the_threshold() {
    let traces = Traces::new();
    let bad = ROW.replace(",5,0.5,", ",5,0,").replace("qwen3", "llama");
    traces.file("experiment_metrics.csv", format!("{HEAD}{ROW}\n{bad}"));
    let finding = traces.judge(&["--format", "json"]).finding("trace-metric-contradiction");
    assert_eq!(finding["rows"], 1);
    assert_eq!(finding["examples"][0]["row"], 1);
    assert_eq!(finding["examples"][0]["key"]["line"], 4, "a blank line counts");
    assert_eq!(finding["examples"][0]["key"]["experiment"], "llama");
    assert_eq!(finding["evidence"]["burst_gb_s"], 20.0);
    insta::assert_snapshot!(finding["evidence"]["burst_gb_s_from"].as_str().unwrap(), @"the guide beside the files: burst duration is time above 20 GB/s; the code that made them used 60");
    // A threshold is data.
    traces.file(
        "rules/traces/experiment_metrics.yaml",
        include_str!("../../../rules/traces/experiment_metrics.yaml")
            .replace("value: 20,", "value: 60,")
            .replace("{threshold.burst_gb_s} GB/s and the burst lasts 0 s", "it"),
    );
    let rules = traces.path().join("rules").display().to_string();
    let told = told(&traces.judge(&["--format", "json", "--rules", &rules]).json());
    insta::assert_snapshot!(told.join("\n"), @"error metric-contradiction: a burst lasts, but the peak is not above 60 GB/s");
}

#[test]
fn a_metric_row_is_judged_with_the_hardware_of_its_card() {
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
    // The links are an H100's, not the A100's of the guide.
    insta::assert_snapshot!(told.join("\n"), @"
    error metric-contradiction: bw_usage_pct is not the average over the link's maximum, both ways
    error metric-contradiction: tp is 4, but that of the card is 2
    ");
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
fn limits_without_a_card_are_those_of_an_assumed_machine() {
    // 6.25 GB/s of an H100's 900.
    let row = ROW.replace(",30,6,5,0.5,1,2,6.1,", ",800,6.25,128,0.5,0.694444,2,6.3,");
    let traces = Traces::new();
    traces.file("experiment_metrics.csv", format!("{HEAD}{row}"));
    insta::assert_snapshot!(traces.told().join("\n"), @"
    warning metric-contradiction: bw_usage_pct is not the average over the link's maximum, both ways; nvidia_a100 was assumed, because no card names the accelerator
    warning metric-contradiction: the peak is above what the accelerator's links carry, both ways; nvidia_a100 was assumed, because no card names the accelerator
    ");
    let (path, text) = card("qwen3", &[("nvidia_a100", "nvidia_h100"), ("- 2400", "- 3600")]);
    traces.file(&path, text);
    assert_eq!(traces.told(), NONE);
}

#[test]
fn rounded_metrics_are_not_a_contradiction() {
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
    insta::assert_snapshot!(traces.told().join("\n"), @"
    error metric-contradiction: avg_iteration_time 0.0127 is not the mean of iteration_times, 0.012433
    error metric-contradiction: minimum, average and maximum are out of order
    error metric-contradiction: iter_time_ms and iter_time_sec are different times
    ");
}

#[test]
fn throughput_of_inference_must_match_the_counted_tokens() {
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
    let steps = told("1,1024,2.5,0.4,100,20");
    insta::assert_snapshot!(steps.join("\n"), @"error metric-contradiction: throughput_tokens_sec is 1 / iteration time: steps per second instead of tokens per second");
    assert_eq!(told("8,1024,0.02,50,100,20"), steps);
    insta::assert_snapshot!(told("8,1024,2.64,3.8,100,20").join("\n"), @"error metric-contradiction: throughput is far below that of one sequence according to TTFT and TPOT");
}

#[test]
fn steps_per_second_in_a_column_of_tokens_per_second_are_an_error() {
    let head = "tp,ttft_avg_ms,ttft_p99_ms,tpot_avg_ms,tpot_p99_ms,iter_time_ms,iter_time_sec,throughput_tokens_sec,mfu_pct,comm_overhead_pct,compute_pct,comm_pct,other_pct\n";
    let row = |throughput: &str| format!("2,100,101,10,11,1090,1.09,{throughput},0.1,40,60,40,0\n");
    let told = |rows: &str| {
        let traces = Traces::new();
        traces.file("tp_metrics_summary.csv", format!("{head}{rows}"));
        traces.told()
    };
    assert_eq!(told(&row("91.7")), NONE);
    let steps = told(&row("0.9174311926605504"));
    insta::assert_snapshot!(steps.join("\n"), @"error metric-contradiction: throughput_tokens_sec is 1 / iteration time: steps per second instead of tokens per second");
    let mut cases = Cases::default();
    for (from, to, kind) in [
        ("1090,1.09", "1090,1090", "error metric-contradiction"),
        ("60,40,0", "60,40,10", "error metric-contradiction"),
        ("2,100", "1,100", "error metric-contradiction"),
        ("0.1,40,60,40,0", "0.1,0,100,0,0", "warning metric-implausible"),
    ] {
        cases.add(&format!("{from} {to}"), kind, &told(&row("91.7").replace(from, to)));
    }
    insta::assert_snapshot!("steps", cases.0);
}

#[test]
fn timing_files_of_ranks_must_be_consistent() {
    let told = |text: String| {
        let traces = Traces::new();
        traces.file("timing_stats_0.json", text);
        traces.told()
    };
    assert_eq!(told(timing("1, 2", "1.5")), NONE);
    let mut cases = Cases::default();
    for (text, kind) in [
        (timing("1.25, 1.75", "1.4"), "error metric-contradiction"),
        (timing("1.75, 2", "1.875"), "error metric-contradiction"),
        (timing("1, 2, -1", "0.6666666666"), "error metric-invalid"),
        (timing("1, \"2\"", "1"), "error metric-invalid"),
        (timing("1, 2", "NaN"), "error unreadable"),
        (
            timing("1, 2", "1.5").replace("{\"it", "{\"ttft_avg\": 80.9, \"it"),
            "error metric-contradiction",
        ),
        (
            timing("1, 2", "1.5").replace("{\"it", "{\"ttft_avg\": 0.5, \"ttft_p99\": 0.6, \"it"),
            "warning metric-implausible",
        ),
        ("{}".to_owned(), "error metric-invalid"),
    ] {
        cases.add(&text, kind, &told(text.clone()));
    }
    insta::assert_snapshot!(cases.0);
}

fn benchmark(metadata: &str, metrics: &str) -> String {
    format!(
        "{{\"metric_info\": {{\"ttft\": {{\"label\": \"TTFT (s)\", \"unit\": \"s\"}}, \"mfu\": {{\"label\": \"MFU (%)\", \"unit\": \"%\"}}}}, \"rows\": [{{\"metadata\": {{\"workload_name\": \"x\", \"hardware_model\": \"nvidia_a100\", \"ep\": \"\", {metadata}}}, \"metrics\": {{{metrics}}}}}]}}"
    )
}

#[test]
fn benchmark_files_of_a_website_must_be_consistent() {
    let told = |text: String| {
        let traces = Traces::new();
        traces.file("benchmark_data.json", text);
        traces.told()
    };
    let inference = "\"phase\": \"inference\", \"moe\": false, \"tp\": 2, \"total_count\": 2";
    let fine = "\"ttft\": 0.05, \"mfu\": 30, \"total_communication_time\": 1, \"collective_vol_total_gb\": 2, \"straggler\": null, \"other\": 3";
    assert_eq!(told(benchmark(inference, fine)), NONE);
    let mut cases = Cases::default();
    for (metadata, metrics, kind) in [
        (inference, fine.replace("gb\": 2", "gb\": 0.0"), "error metric-contradiction"),
        (inference, fine.replace("30", "130"), "error metric-invalid"),
        (inference, fine.replace("0.05", "50000"), "warning metric-implausible"),
        (inference, fine.replace("other\": 3", "other\": \"n/a\""), "warning metric-invalid"),
        (inference, "\"load_imbalance_ratio\": 1.2, \"straggler\": 0.0".into(), "warning metric-implausible"),
        (inference, "\"collective_vol_total_gb\": 8, \"collective_vol_allreduce_gb\": 1, \"collective_vol_allgather_gb\": 1, \"collective_vol_reducescatter_gb\": 1, \"collective_vol_alltoall_gb\": 1".into(), "error metric-contradiction"),
        ("\"phase\": \"training\", \"tp\": 2, \"total_count\": 2", fine.to_owned(), "error metric-contradiction"),
        ("\"phase\": \"inference\", \"tp\": 2, \"total_count\": 3", fine.to_owned(), "error metric-contradiction"),
        ("\"phase\": \"inference\", \"tp\": 1, \"total_count\": 1", fine.to_owned(), "error metric-contradiction"),
    ] {
        let told = told(benchmark(metadata, &metrics));
        cases.add(&format!("{metadata} {metrics}"), kind, &told);
    }
    insta::assert_snapshot!(cases.0);
    // Units are the file's: milliseconds labelled so are seconds of ours, a label of another unit is not.
    let ms = benchmark(inference, &fine.replace("0.05", "50"))
        .replace("TTFT (s)\", \"unit\": \"s", "TTFT (ms)\", \"unit\": \"ms");
    let unit = told(ms.clone());
    insta::assert_snapshot!(unit.join("\n"), @"warning metric-implausible: ttft is in ms, but elsewhere it is in s");
    let label = told(ms.replace("(ms)", "(s)"));
    insta::assert_snapshot!(label.join("\n"), @"error metric-contradiction: ttft is in ms, but its label says s");
}

#[test]
fn metric_files_of_one_name_must_have_the_same_columns() {
    let traces = Traces::new();
    let other = format!("{},extra\n{},1\n", HEAD.trim(), ROW.trim());
    traces
        .file("a/experiment_metrics.csv", format!("{HEAD}{ROW}"))
        .file("b/experiment_metrics.csv", other);
    insta::assert_snapshot!(traces.told().join("\n"), @"warning metric-invalid: a/experiment_metrics.csv has the same name but other columns: only one of the two files has extra");
    let traces = Traces::new();
    traces
        .file("results_summary.csv", "experiment,tp,ttft_ms,throughput_tokens_sec\nE1,1,100,50\n");
    insta::assert_snapshot!(traces.told().join("\n"), @"
    error metric-invalid: columns are missing: tpot_ms
    warning metric-invalid: columns are missing: bubble_ratio_pct, comm_overhead_pct, ep, gpus, mfu_pct and 2 more
    ");
}
