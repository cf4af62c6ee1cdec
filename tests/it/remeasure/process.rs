//! Points that a command measures.

use std::path::PathBuf;

use super::{TABLE, short_calls, tree};
use crate::common::snapshot::shown;
use crate::common::{self, Run, Tree, run};

#[test]
#[cfg(unix)]
fn a_command_is_asked_for_all_rows_and_may_declare_them_proxies() {
    let tree = short_calls(&[0.004, 0.019, 0.021, 0.5]);
    let run = process(&tree, "\"samples_ms\": [0.01]", &["--format", "json"]);
    let table = &run.json()["remeasure"]["tables"][0];
    assert_eq!((&table["proxies"], &table["points"]), (&0.into(), &4.into()));
    assert_eq!(table["judged"], 4);
    // A word against all of them: nothing is judged, and every figure is still one.
    let answer = "\"samples_ms\": [0.01], \"proxy\": \"another kernel\"";
    let run = process(&tree, answer, &["--format", "json"]);
    let table = &run.json()["remeasure"]["tables"][0];
    assert_eq!((run.code(), &table["judged"], &table["bias"]), (3, &0.into(), &().into()));
    assert!(table["allowed"].as_f64().is_some_and(|v| v > 0.0), "{table}");
    assert_eq!(table["honest_within_2_percent"].to_string(), "0.0");
}

/// A runner in the shell that answers a factor of 1 for the points that it is told.
fn command(tree: &Tree, answer: &str) -> String {
    let script = format!(
        "#!/bin/sh\nread hello\necho '{{\"device\": \"NVIDIA H200\"}}'\nid=0\n\
         while read -r line; do\n  echo '{{\"id\": '$id', {answer}}}'\n  id=$((id + 1))\ndone\n"
    );
    format!("sh {}", tree.file("runner.sh", script).display())
}

/// A runner in the shell that runs a script for each request, in `line`, and gives the `answer` that it sets.
pub(super) fn runner(tree: &Tree, script: &str) -> String {
    let script = format!(
        "#!/bin/sh\nread hello\necho '{{\"device\": \"NVIDIA H200\"}}'\nid=0\n\
         while read -r line; do\n{script}\n  echo '{{\"id\": '$id', '\"$answer\"'}}'\n  id=$((id + 1))\ndone\n"
    );
    format!("sh {}", tree.file("runner.sh", script).display())
}

fn process(tree: &Tree, answer: &str, more: &[&str]) -> Run {
    started(tree, &command(tree, answer), more)
}

fn started(tree: &Tree, command: &str, more: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let mut args = vec!["remeasure", "--root", &root, "--device", "process"];
    args.extend(["--command", command]);
    args.extend(more);
    run(&args)
}

#[test]
#[cfg(unix)]
fn every_report_format_has_the_measurements_of_a_command() {
    let tree = tree();
    let answer = "\"samples_ms\": [0.5, 0.5, 0.5], \"power_w\": 300";
    let json = process(&tree, answer, &["--format", "json", "--sample", "10", "--seed", "3"]);
    let document = json.json();
    assert_eq!((json.code(), document["verdict"].as_str()), (1, Some("FAIL")), "{}", json.err());
    assert_eq!(document["schema"], "perfdb-gate/v1");
    let measurements = document["measurements"].as_array().unwrap();
    assert_eq!(measurements.len(), 10);
    let first = &measurements[0];
    assert_eq!((first["path"].as_str(), first["measured_ms"].as_f64()), (Some(TABLE), Some(0.5)));
    assert_eq!(first["samples_ms"].as_array().unwrap().len(), 3);
    assert_eq!(first["power_w"], 300.0);
    assert!(first["key"]["gemm_dtype"] == "bfloat16" && first["key"].get("latency").is_none());
    for format in ["human", "sarif", "github", "junit", "markdown"] {
        let run = process(&tree, answer, &["--sample", "10", "--seed", "3", "--format", format]);
        assert_eq!(run.code(), 1, "{format}: {}", run.err());
        insta::assert_snapshot!(format!("remeasure_{format}"), run.shown());
    }
}

#[test]
#[cfg(unix)]
fn proxies_are_shown_and_never_fail_the_run() {
    let run = process(&tree(), "\"samples_ms\": [9], \"proxy\": \"another kernel\"", &[]);
    assert_eq!(run.code(), 3, "{}", run.out());
    insta::assert_snapshot!(run.shown());
}

#[test]
#[cfg(unix)]
fn a_failing_measurement_command_is_an_error_without_a_report() {
    let output = tempfile::TempDir::new().unwrap();
    let file: PathBuf = output.path().join("report.json");
    let run = process(&tree(), "\"samples_ms\": [0]", &["--output", &file.display().to_string()]);
    assert_eq!(run.code(), 2, "{}", run.err());
    assert!(!file.exists());
    let failed = common::run(&["remeasure", "--device", "process", "--command", "exit 4"]);
    assert_eq!(failed.code(), 2);
    insta::assert_snapshot!(shown([&run, &failed]), @"
    $ perfdb-gate remeasure --root [tmp] --device process --command sh [tmp]/runner.sh --output [tmp]/report.json
    2> perfdb-gate: 35 measurements of 1 table, with controls: about 2 to 5 s
    2> perfdb-gate: the command answered with samples that are not positive times
    2> hint: run the command by hand and send it this request
    (exit 2)

    $ perfdb-gate remeasure --device process --command exit 4
    2> perfdb-gate: `exit 4` ended (exit status: 4) without an answer
    2> hint: docs/runner-protocol.md describes what a runner reads and writes; --print-runner writes an example
    (exit 2)
    ");
}

#[test]
fn remeasure_without_a_gpu_is_an_error_with_a_hint() {
    let tree = tree();
    let mut command = common::command();
    command.args(["remeasure", "--sample", "20", "--root"]).arg(tree.path());
    // CUDA hides the GPUs of a machine that has some.
    let run = Run::of(command.env("CUDA_VISIBLE_DEVICES", "")).unwrap();
    assert_eq!((run.code(), run.out().as_str()), (2, ""));
    assert!(run.err().contains("no GPU to measure on"), "{}", run.err());
    assert_eq!(run.err().lines().count(), 2, "{}", run.err());
    // A mistake in the options is reported first.
    for (flag, value) in
        [("--where", "bogus =="), ("--points", "nowhere.yaml"), ("--base-ref", "x")]
    {
        let mut command = common::command();
        command.args(["remeasure", flag, value, "--root"]).arg(tree.path());
        let run = Run::of(command.env("CUDA_VISIBLE_DEVICES", "")).unwrap();
        assert_eq!(run.code(), 2, "{flag}");
        assert!(!run.err().contains("no GPU"), "{flag}: {}", run.err());
    }
}

#[test]
fn the_binary_prints_its_built_in_runner() {
    let run = run(&["remeasure", "--print-runner"]);
    assert_eq!(run.code(), 0);
    assert!(run.out().contains("torch.nn.functional.linear"));
}

/// A runner that is slow at a request, and leaves a file when it is asked for it.
#[cfg(unix)]
fn slow(tree: &Tree, request: u32, seconds: u32) -> String {
    let asked = tree.path().join("asked");
    let script = format!(
        "#!/bin/sh\nread hello\necho '{{\"device\": \"NVIDIA H200\"}}'\nid=0\n\
         while read -r line; do\n  if [ $id = {request} ]; then touch {}; sleep {seconds}; fi\n  \
         echo '{{\"id\": '$id', \"samples_ms\": [0.5]}}'\n  id=$((id + 1))\ndone\n",
        asked.display()
    );
    format!("sh {}", tree.file("slow.sh", script).display())
}

/// Waits until a file is there.
#[cfg(unix)]
fn wait_for(path: &std::path::Path) {
    for _ in 0..600 {
        if path.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{} does not come", path.display());
}

/// A run that is interrupted when its runner is at a request, so many times.
#[cfg(unix)]
fn interrupted(tree: &Tree, (request, seconds): (u32, u32), times: usize) -> std::process::Output {
    let mut command = common::command();
    command.args(["remeasure", "--sample", "20", "--device", "process", "--format", "json"]);
    command.args(["--command", &slow(tree, request, seconds), "--root"]).arg(tree.path());
    command.args(["--backend", "torch"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for(&tree.path().join("asked"));
    for _ in 0..times {
        let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    child.wait_with_output().unwrap()
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_a_run_with_a_report_on_the_measured_points() {
    let tree = tree();
    let out = interrupted(&tree, (14, 1), 1);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{said}");
    assert!(said.contains("Ctrl-C again"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let table = &report["remeasure"]["tables"][0];
    let points = table["points"].as_u64().unwrap();
    assert!(points > 0 && points < 20, "{points}");
    let reasons = table["reasons"].to_string();
    assert!(
        reasons.contains(&format!("the run was stopped after {points} of 20 points")),
        "{reasons}"
    );
}

/// Five requests wake the card, fifteen are control points and twenty points; those of a control table follow.
#[test]
#[cfg(unix)]
fn a_run_stopped_during_control_tables_judges_the_finished_tables() {
    let tree = tree();
    tree.file("systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet", common::SHIPPED);
    let out = interrupted(&tree, (52, 1), 1);
    let said = String::from_utf8_lossy(&out.stderr);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let table = &report["remeasure"]["tables"][0];
    assert_eq!((&table["points"], &table["verdict"]), (&20.into(), &"FAIL".into()), "{said}");
    let notes = report["remeasure"]["notes"].to_string();
    assert!(notes.contains("of 40 points, those of control tables included"), "{notes}");
    assert_eq!((out.status.code(), &report["verdict"]), (Some(1), &"FAIL".into()));
    assert!(said.contains("gemm_perf of torch 2.11.0, so far: FAIL: measured times are"), "{said}");
}

/// The two tables of the tree, and the verdict of each.
#[cfg(unix)]
fn two_tables() -> Tree {
    let tree = short_calls(&[0.004, 0.019, 0.021, 0.5, 0.6, 0.7, 0.8, 0.9]);
    tree.file(TABLE, common::SHIPPED);
    tree
}

#[cfg(unix)]
fn verdicts(document: &serde_json::Value) -> Vec<String> {
    let tables = document["remeasure"]["tables"].as_array().unwrap();
    tables.iter().map(|table| table["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[cfg(unix)]
fn a_killed_run_leaves_the_report_on_the_finished_tables() {
    let tree = two_tables();
    let file = tree.path().join("report.json");
    let asked = tree.path().join("asked").display().to_string();
    let hangs = format!(
        "case $line in *mla_bmm*) touch {asked}; sleep 60;; esac; answer='\"samples_ms\": [0.5]'"
    );
    let mut command = common::command();
    command.args(["remeasure", "--device", "process", "--command", &runner(&tree, &hangs)]);
    command.args(["--controls", "0", "--format", "json", "--root"]).arg(tree.path());
    command.arg("--output").arg(&file);
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for(&tree.path().join("asked"));
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    assert_eq!(verdicts(&report), ["FAIL"]);
    let notes = report["remeasure"]["notes"].to_string();
    assert!(notes.contains("20 of 28 points"), "{notes}");
}

#[test]
#[cfg(unix)]
fn a_failing_device_leaves_the_report_on_the_finished_tables() {
    let tree = two_tables();
    let breaks = "answer='\"samples_ms\": [0.5]'; case $line in *mla_bmm*) answer='\"samples_ms\": [0]';; esac";
    let run = started(&tree, &runner(&tree, breaks), &["--format", "json", "--controls", "0"]);
    let document = run.json();
    assert_eq!(verdicts(&document), ["FAIL", "INCONCLUSIVE"], "{}", run.err());
    let reasons = document["remeasure"]["tables"][1]["reasons"].to_string();
    let why = "the run was stopped after 0 of 8 points: the command answered with samples that are not positive times";
    assert!(reasons.contains(why), "{reasons}");
}

#[test]
#[cfg(unix)]
fn a_run_stops_when_its_minutes_have_passed() {
    let tree = two_tables();
    let answer = "\"samples_ms\": [0.5]";
    let run = process(&tree, answer, &["--minutes", "0", "--format", "json"]);
    let document = run.json();
    assert_eq!((run.code(), verdicts(&document)), (3, vec!["INCONCLUSIVE".to_owned(); 2]));
    let reasons = document["remeasure"]["tables"][0]["reasons"].to_string();
    assert!(reasons.contains("the run was stopped after 0 of 20 points"), "{reasons}");
}

#[test]
#[cfg(unix)]
fn five_equal_errors_end_the_table_but_not_the_run() {
    let tree = two_tables();
    let fails = "answer='\"samples_ms\": [0.5]'; case $line in *gemm_perf*) answer='\"error\": \"ModuleNotFoundError: tilelang\", \"traceback\": \"a\\\\nb\"';; esac";
    let command = runner(&tree, fails);
    let run = started(&tree, &command, &["--format", "json", "--controls", "0"]);
    let document = run.json();
    assert_eq!(verdicts(&document), ["INCONCLUSIVE", "FAIL"], "{}", run.err());
    let reason = document["remeasure"]["tables"][0]["reasons"][0].as_str().unwrap();
    insta::assert_snapshot!(reason, @"5 measurements in a row failed with: ModuleNotFoundError: tilelang");
    assert!(!run.err().contains("tilelang, so far") && !run.err().contains("a\n"), "{}", run.err());
    let verbose = started(&tree, &command, &["--format", "json", "--verbose"]);
    assert!(verbose.err().contains(" a\nb\n"), "{}", verbose.err());
}

/// The compiler fails at the first point, and every point takes as long as another kernel.
#[test]
#[cfg(unix)]
fn errors_of_the_runner_are_counted_and_shown_once_and_do_not_fail_a_table() {
    let tree = tree();
    let compiles = "if [ $id -lt 3 ]; then echo compiling >&2; echo \"x.cu:1$id: fatal error: a.h\" >&2; fi; answer='\"samples_ms\": [0.5]'";
    let command = runner(&tree, compiles);
    let run = started(&tree, &command, &["--format", "json"]);
    let document = run.json();
    assert_eq!((run.code(), verdicts(&document)), (3, vec!["INCONCLUSIVE".to_owned()]));
    let table = &document["remeasure"]["tables"][0];
    assert_eq!(table["complaints"]["errors"], 3, "{table}");
    assert_eq!(run.err().matches("fatal error").count(), 1, "{}", run.err());
    assert!(!run.err().contains("compiling"), "{}", run.err());
    insta::assert_snapshot!(table["reasons"][0].as_str().unwrap(), @"the environment may be broken, because the runner wrote 3 errors, first: x.cu:10: fatal error: a.h");
    let human = started(&tree, &command, &[]);
    assert!(human.out().contains("Meanwhile the runner wrote 3 errors"), "{}", human.out());
    let page = tree.path().join("page.html");
    started(&tree, &command, &["--html", &page.display().to_string()]);
    assert!(std::fs::read_to_string(page).unwrap().contains("the runner wrote 3 errors"));
    let verbose = started(&tree, &command, &["--verbose"]);
    assert!(verbose.err().contains("runner: compiling"), "{}", verbose.err());
}

#[test]
#[cfg(unix)]
fn a_second_ctrl_c_ends_the_run_and_its_runner_immediately() {
    use std::os::unix::process::ExitStatusExt;
    let tree = tree();
    let start = std::time::Instant::now();
    let out = interrupted(&tree, (14, 60), 2);
    assert_eq!((out.status.signal(), out.stdout.len()), (Some(2), 0));
    assert!(start.elapsed().as_secs() < 40);
}
