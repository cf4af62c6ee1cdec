//! Traces in a pull request: `sanity`.

use super::{CARD, CONFIG, HEAD, ROW};
use crate::common;
use crate::common::snapshot::{message, redact};
use serde_json::Value;

#[test]
fn sanity_judges_traces_changed_by_a_pull_request() {
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
    let told: Vec<String> = findings.iter().filter(new).map(message).collect();
    insta::assert_snapshot!(told.join("\n"), @"its directory says tp 2, but the file says 4 (line 35)");
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
    insta::assert_snapshot!("comment", redact(&std::fs::read_to_string(comment).unwrap()));
}

#[test]
fn a_chart_of_changed_trace_metrics_shows_perfect_scaling() {
    let rows = |tpot: f64| {
        let row = |tp: f64| {
            let (ttft, tpot, rate) = (400.0 / tp, tpot / tp.sqrt(), 100.0 * tp);
            format!("{tp},{ttft},{ttft},{tpot},{tpot},1000,{rate}\n")
        };
        let head = "tp,ttft_avg_ms,ttft_p99_ms,tpot_avg_ms,tpot_p99_ms,iter_time_ms,throughput_tokens_sec\n";
        head.to_owned() + &[1.0, 2.0, 4.0, 8.0].map(row).concat()
    };
    let tree = common::Tree::new();
    tree.file("traces/tp_metrics_summary.csv", rows(20.0));
    tree.commit();
    tree.file("traces/tp_metrics_summary.csv", rows(30.0));
    let out = |name: &str| tree.path().join(name).display().to_string();
    let (charts, comment) = (out("charts"), out("comment.md"));
    tree.sanity(&["--base-ref", "main", "--output-dir", &charts, "--output-md-file", &comment]);
    let drawn = format!("{charts}/tp_metrics_summary_csv-1.svg");
    let drawn = std::fs::read_to_string(drawn).unwrap();
    let page = roxmltree::Document::parse(&drawn).unwrap();
    let texts = page.descendants().filter(|node| node.tag_name().name() == "text");
    let texts: Vec<&str> = texts.filter_map(|node| node.text()).map(str::trim).collect();
    assert!(["1", "2", "4", "8"].iter().all(|tick| texts.contains(tick)), "{texts:?}");
    let says = |what: &str| texts.iter().any(|text| text.contains(what));
    assert!(says("dashed: before, dotted: perfect scaling of the first point"), "{texts:?}");
    let comment = std::fs::read_to_string(comment).unwrap();
    assert!(comment.contains("y-axis \"latency, ms\""), "{comment}");
    assert!(comment.contains("    line [30, 21.2, 15, 10.6]\n    line [20, 14.1, 10, 7.07]\n"));
    assert!(comment.contains("`TPOT`; grey: before"), "{comment}");
}

#[test]
fn sanity_judges_changed_rank_files_and_job_scripts() {
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
fn moved_traces_have_no_new_finding() {
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
    let told: Vec<String> = new.map(message).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    its directory says tp 2, but the file says 4 (line 6)
    its directory says tp 2, but the file says 4 (line 35)
    ");
}

#[test]
fn sanity_judges_a_repository_that_has_only_traces() {
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
fn files_of_a_database_are_not_judged_as_traces() {
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
    let of_traces = |f: &&String| f.starts_with("trace-");
    assert_eq!(run.findings().iter().filter(of_traces).count(), 0, "{}", run.out());
}
