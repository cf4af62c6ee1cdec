//! Points that a command measures.

use std::path::PathBuf;

use super::{TABLE, short_calls, tree};
use crate::common::snapshot::shown;
use crate::common::{self, Run, Tree, run};

#[test]
#[cfg(unix)]
fn a_command_is_asked_for_all_rows_and_its_word_counts() {
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

fn process(tree: &Tree, answer: &str, more: &[&str]) -> Run {
    let (root, command) = (tree.path().display().to_string(), command(tree, answer));
    let mut args = vec!["remeasure", "--root", &root, "--device", "process"];
    args.extend(["--command", &command]);
    args.extend(more);
    run(&args)
}

#[test]
#[cfg(unix)]
fn a_command_measures_and_the_report_says_so_in_every_format() {
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
fn proxies_are_shown_and_never_failed_on() {
    let run = process(&tree(), "\"samples_ms\": [9], \"proxy\": \"another kernel\"", &[]);
    assert_eq!(run.code(), 3, "{}", run.out());
    insta::assert_snapshot!(run.shown());
}

#[test]
#[cfg(unix)]
fn a_command_that_breaks_is_an_error_without_a_report() {
    let output = tempfile::TempDir::new().unwrap();
    let file: PathBuf = output.path().join("report.json");
    let run = process(&tree(), "\"samples_ms\": [0]", &["--output", &file.display().to_string()]);
    assert_eq!(run.code(), 2, "{}", run.err());
    assert!(!file.exists());
    let failed = common::run(&["remeasure", "--device", "process", "--command", "exit 4"]);
    assert_eq!(failed.code(), 2);
    insta::assert_snapshot!(shown([&run, &failed]), @"
    $ perfdb-gate remeasure --root [tmp] --device process --command sh [tmp]/runner.sh --output [tmp]/report.json
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
fn without_a_gpu_it_says_what_it_looked_for() {
    let tree = tree();
    let mut command = common::command();
    command.args(["remeasure", "--sample", "20", "--root"]).arg(tree.path());
    // CUDA hides the GPUs of a machine that has some.
    let run = Run::of(command.env("CUDA_VISIBLE_DEVICES", "")).unwrap();
    assert_eq!((run.code(), run.out().as_str()), (2, ""));
    assert!(run.err().contains("no GPU to measure on"), "{}", run.err());
    assert_eq!(run.err().lines().count(), 2, "{}", run.err());
}

#[test]
fn the_runner_is_part_of_the_binary() {
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
fn ctrl_c_ends_a_run_with_a_report_on_the_points_so_far() {
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
fn a_run_that_stops_among_the_control_tables_says_so() {
    let tree = tree();
    tree.file("systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet", common::SHIPPED);
    let out = interrupted(&tree, (52, 1), 1);
    let said = String::from_utf8_lossy(&out.stderr);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let table = &report["remeasure"]["tables"][0];
    assert_eq!(table["points"], 20, "the table itself was measured: {said}");
    let reasons = table["reasons"].to_string();
    assert!(reasons.contains("of 40 points, those of other tables included"), "{reasons}");
    assert_eq!((out.status.code(), &report["verdict"]), (Some(3), &"INCONCLUSIVE".into()));
}

#[test]
#[cfg(unix)]
fn a_second_ctrl_c_ends_it_and_its_runner_at_once() {
    use std::os::unix::process::ExitStatusExt;
    let tree = tree();
    let start = std::time::Instant::now();
    let out = interrupted(&tree, (14, 60), 2);
    assert_eq!((out.status.signal(), out.stdout.len()), (Some(2), 0));
    assert!(start.elapsed().as_secs() < 40);
}
