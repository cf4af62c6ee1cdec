//! `perfdb-gate validate --watch`, on staging folders of synthetic rows.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::snapshot::shown;
use crate::common::{self, Run, Tree, gemm};

fn watch(tree: &Tree, args: &[&str]) -> Run {
    let folder = tree.path().join("stage").display().to_string();
    let mut all = vec!["validate", "--watch", &folder, "--every", "0.05", "--idle", "0.3"];
    all.extend(args);
    common::run(&all)
}

#[test]
fn a_run_that_is_over_is_judged() {
    let tree = Tree::new();
    tree.file("stage/gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6), (4, 0.7)]));
    tree.file("stage/collection_summary_vllm.json", "{}");
    let clean = watch(&tree, &["--format", "json"]);
    assert_eq!(clean.code(), 0, "{}{}", clean.out(), clean.err());
    assert_eq!(clean.json()["summary"]["rows"], 3);
    assert!(clean.err().contains("3 rows; gemm_perf 3"), "{}", clean.err());

    tree.file("stage/gemm_perf.txt", gemm(&[(1, 0.5), (2, -1.0)]));
    let broken = watch(&tree, &[]);
    assert_eq!(broken.code(), 1, "{}", broken.out());
    std::fs::write(tree.path().join("stage/gemm_perf.txt"), common::GEMM).unwrap();
    let empty = watch(&tree, &[]);
    assert_eq!(empty.code(), 2, "{}", empty.out());
    insta::assert_snapshot!(shown([&broken, &empty]));
}

#[test]
fn a_run_is_watched_until_all_of_its_list_is_there() {
    let tree = Tree::new();
    let point = |m: u64| {
        format!(
            "  - {{key: {{framework: VLLM, op_name: gemm, kernel_source: cutlass, gemm_dtype: bfloat16, m: {m}, n: 128, k: 128}}, reason: synthetic}}\n"
        )
    };
    let head = "schema: perfdb-gate/rerun/v1\nabout: synthetic\noperations:\n- system: h200_sxm\n  family: gemm\n  backend: vllm\n  version: 0.24.0\n  table: gemm_perf\n  points:\n";
    let list = tree.file("rerun.yaml", head.to_owned() + &(1..=8).map(point).collect::<String>());
    let rows = |upto: u64| (1..=upto).map(|m| (m, 0.1 * m as f64)).collect::<Vec<_>>();
    // A row that is being written is not one yet.
    let stage = tree.file("stage/gemm_perf.txt", gemm(&rows(3)) + "VLLM,0.24");
    let mut child = common::command()
        .args(["validate", "--every", "0.05", "--idle", "60", "--points"])
        .arg(&list)
        .arg("--watch")
        .arg(tree.path().join("stage"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(said.next().unwrap(), "3 of 8 planned points; gemm_perf 3; no rate yet");
    // As a collector's append: whole for whoever reads it.
    let next = tree.file("next.txt", gemm(&rows(8)));
    std::fs::rename(next, &stage).unwrap();
    let last = said.last().unwrap();
    assert!(last.starts_with("8 of 8 planned points; gemm_perf 8;"), "{last}");
    assert!(last.contains("rows/s; 0 s left; every point of the list is measured"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_run_that_stands_still_has_ended() {
    let tree = Tree::new();
    tree.file("stage/gemm_perf.txt", gemm(&[(1, 0.5), (2, 0.6)]));
    let run = watch(&tree, &["--quiet"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    assert!(run.err().trim_end().ends_with("the files no longer change"), "{}", run.err());
}

#[test]
fn spikes_and_clocks_show_while_it_runs() {
    let tree = Tree::new();
    let mut text = common::GEMM.to_owned();
    for m in [256, 512, 1024, 2048] {
        for n in [1024, 2048, 4096] {
            let ms = (m * n) as f64 / 4e6 * if (m, n) == (1024, 2048) { 10.0 } else { 1.0 };
            text += &format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},64,{ms}\n");
        }
    }
    tree.file("stage/gemm_perf.txt", text);
    let point = r#"{"key": {"m": 1}, "samples_ms": [0.1], "clocks_mhz": "#;
    tree.file(
        "stage/log/mla_bmm_perf.samples.jsonl",
        format!("{point}1980.0}}\n{point}1755.5}}\n"),
    );
    tree.file("stage/collection_summary_vllm.json", "{}");
    let run = watch(&tree, &[]);
    assert!(
        run.err().contains("gemm_perf: 1 point is slower than its neighbours"),
        "{}",
        run.err()
    );
    assert!(run.err().contains("clocks 1756 to 1980 MHz"), "{}", run.err());
}
