//! Replies of a real H100 (`fixtures/replies`, without a device line), judged again, and logs of runs.

use serde_json::{Value, json};

use super::process::runner;
use super::tree;
use crate::common::{Run, Tree, run};

const REPLIES: &str = include_str!("../fixtures/replies/h100.jsonl");

const TABLES: [(&str, &str); 3] = [
    ("context_attention_perf", include_str!("../fixtures/replies/context_attention_perf.csv")),
    (
        "generation_attention_perf",
        include_str!("../fixtures/replies/generation_attention_perf.csv"),
    ),
    ("moe_perf", include_str!("../fixtures/replies/moe_perf.csv")),
];

const DATA: &str = "systems/data/h100_sxm/vllm/0.24.0";

/// The rows that the H100 measured, with the latencies of one table changed by a factor.
fn measured(changed: &str, factor: f64) -> Tree {
    let tree = Tree::new();
    let system = include_str!("../../../systems/h100_sxm.yaml");
    tree.file("systems/h100_sxm.yaml", system.replace("../data/", "data/"));
    for (name, rows) in TABLES {
        let scaled = |line: &str| {
            let (key, latency) = line.rsplit_once(',').unwrap();
            match latency.parse::<f64>() {
                Ok(ms) if name == changed => format!("{key},{}\n", ms * factor),
                _ => format!("{line}\n"),
            }
        };
        let text: String = rows.lines().map(scaled).collect();
        tree.file(&format!("{DATA}/{name}.txt"), text);
    }
    tree
}

/// Judges a log against a tree.
fn replay(tree: &Tree, log: &str, more: &[&str]) -> Run {
    let (root, log) = (tree.path().display().to_string(), tree.file("log.jsonl", log));
    let log = log.display().to_string();
    let mut args = vec!["remeasure", "--root", &root, "--replay", &log, "--format", "json"];
    args.extend(["--system", "h100_sxm"]);
    args.extend(more);
    run(&args)
}

fn table<'a>(document: &'a Value, name: &str) -> &'a Value {
    let tables = document["remeasure"]["tables"].as_array().unwrap();
    tables.iter().find(|table| table["path"].as_str().unwrap().contains(name)).unwrap()
}

/// The log with the replies about a table changed.
fn changed(name: &str, change: impl Fn(usize, &mut Value)) -> String {
    let mut number = 0;
    let line = |line: &str| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        if value["table"] == name {
            change(number, &mut value["reply"]);
            number += 1;
        }
        format!("{value}\n")
    };
    REPLIES.lines().map(line).collect()
}

fn slower(reply: &mut Value, change: impl Fn(f64) -> f64) {
    let samples = reply["samples_ms"].as_array_mut().unwrap();
    samples.iter_mut().for_each(|ms| *ms = change(ms.as_f64().unwrap()).into());
}

#[test]
fn accurate_tables_pass_and_one_changed_table_fails_in_a_replay() {
    let document = replay(&measured("", 1.0), REPLIES, &[]).json();
    for (name, _) in TABLES {
        let table = table(&document, name);
        assert_eq!((&table["verdict"], &table["judged"]), (&"PASS".into(), &20.into()), "{table}");
        assert_eq!(table["card"]["tables"], 2);
    }
    assert_eq!(document["remeasure"]["device"], "h100_sxm");
    for (name, _) in TABLES {
        for factor in [0.95, 0.9, 1.05, 1.1] {
            let run = replay(&measured(name, factor), REPLIES, &[]);
            let document = run.json();
            let table = table(&document, name);
            assert_eq!((run.code(), &table["verdict"]), (1, &"FAIL".into()), "{factor} {table}");
        }
    }
}

/// As when a framework falls back to another path because its compiler fails.
#[test]
fn a_table_that_differs_while_the_runner_writes_errors_does_not_fail() {
    let tree = measured("", 1.0);
    let log = changed("moe_perf", |_, reply| slower(reply, |ms| ms * 1.44));
    let failed = replay(&tree, &log, &[]);
    assert_eq!((failed.code(), &table(&failed.json(), "moe")["verdict"]), (1, &"FAIL".into()));
    let complaints = json!({"errors": 7, "warnings": 1, "first": "a.cu:1: fatal error: b.h"});
    let line = json!({"path": format!("{DATA}/moe_perf.txt"), "complaints": complaints});
    let run = replay(&tree, &format!("{log}{line}\n"), &[]);
    let document = run.json();
    let moe = table(&document, "moe");
    assert_eq!((run.code(), &moe["verdict"]), (3, &"INCONCLUSIVE".into()), "{moe}");
    assert_eq!(moe["complaints"], complaints);
    insta::assert_snapshot!(moe["reasons"][0].as_str().unwrap(), @"the environment may be broken, because the runner wrote 7 errors and 1 warning, first: a.cu:1: fatal error: b.h");
    // Errors beside a table that agrees do not matter.
    let line = line.to_string().replace("moe_perf", "context_attention_perf");
    let document = replay(&tree, &format!("{REPLIES}{line}\n"), &[]).json();
    assert_eq!(table(&document, "context")["verdict"], "PASS");
}

#[test]
fn a_table_is_not_judged_by_failed_points() {
    let tree = measured("", 1.0);
    let why = "ModuleNotFoundError: No module named 'flashinfer'";
    let some = changed("moe_perf", |number, reply| {
        if number % 5 == 4 {
            *reply = json!({"error": why});
        }
    });
    let document = replay(&tree, &some, &["--table", "moe_perf"]).json();
    let moe = table(&document, "moe");
    assert_eq!((&moe["judged"], &moe["points"]), (&16.into(), &20.into()), "{moe}");
    assert_ne!(moe["verdict"], "FAIL");
    // A cause that points share comes first.
    let all = changed("moe_perf", |_, reply| *reply = json!({"error": why}));
    let run = replay(&tree, &all, &[]);
    let document = run.json();
    let moe = table(&document, "moe");
    assert_eq!((run.code(), &moe["verdict"]), (3, &"INCONCLUSIVE".into()));
    insta::assert_snapshot!(moe["reasons"][0].as_str().unwrap(), @"5 measurements in a row failed with: ModuleNotFoundError: No module named 'flashinfer'");
    assert_eq!(table(&document, "context")["verdict"], "PASS");
}

#[test]
fn a_constant_offset_fails_the_table() {
    let log = changed("generation_attention_perf", |_, reply| slower(reply, |ms| ms + 0.008));
    let document = replay(&measured("", 1.0), &log, &[]).json();
    let table = table(&document, "generation");
    assert_eq!(table["verdict"], "FAIL", "{table}");
}

#[test]
fn a_log_that_cannot_be_replayed_is_an_error() {
    let tree = measured("", 1.0);
    let (root, log) = (tree.path().display().to_string(), tree.file("log.jsonl", REPLIES));
    let log = log.display().to_string();
    let nameless = run(&["remeasure", "--root", &root, "--replay", &log]);
    let other = replay(&tree, REPLIES, &["--table", "gemm_perf"]);
    assert_eq!([nameless.code(), other.code()], [2, 2]);
    assert!(nameless.err().contains("does not state a device"), "{}", nameless.err());
    let second = REPLIES.lines().nth(1).unwrap();
    let torn = REPLIES.replacen(second, &second[..200], 1);
    let without_row = REPLIES.replacen("\"row\"", "\"rank\"", 1);
    let cases = [
        ("", "log.jsonl: it has no whole line with a reply"),
        ("{}\n", "log.jsonl: line 1: missing field `device`"),
        (torn.as_str(), "log.jsonl: line 2: EOF while parsing"),
        (without_row.as_str(), "log.jsonl: line 1: missing field `row`"),
    ];
    for (log, message) in cases {
        let run = replay(&tree, log, &[]);
        assert_eq!(run.code(), 2, "{message}");
        assert!(run.err().contains(message), "{message}: {}", run.err());
    }
}

/// A run that is killed leaves a part of a line.
#[test]
fn an_incomplete_last_line_of_a_log_is_left_out() {
    let tree = measured("", 1.0);
    let whole = replay(&tree, REPLIES, &[]).json();
    let cut = replay(&tree, &format!("{REPLIES}{}", &REPLIES[..200]), &[]).json();
    assert_eq!(cut["remeasure"]["tables"], whole["remeasure"]["tables"]);
    let notes = cut["remeasure"]["notes"].to_string();
    assert!(notes.contains("the last line of the log is incomplete"), "{notes}");
}

/// A run writes a log, and the log gives the same verdicts on the same points.
#[test]
#[cfg(unix)]
fn replaying_the_log_of_a_run_gives_the_same_report() {
    let tree = tree();
    tree.file("systems/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet", crate::common::SHIPPED);
    let log = tree.path().join("run.jsonl").display().to_string();
    let root = tree.path().display().to_string();
    let answers = runner(&tree, "echo 'ERROR: fallback' >&2; answer='\"samples_ms\": [0.5, 0.51]'");
    let mut args = vec!["remeasure", "--root", &root, "--format", "json", "--backend", "torch"];
    args.extend(["--device", "process", "--command", &answers, "--log", &log]);
    let live = run(&args).json();
    let args = ["remeasure", "--root", &root, "--replay", &log, "--backend", "torch"];
    let again = run(&[&args[..], &["--format", "json"]].concat()).json();
    let of = |document: &Value| {
        let mut table = document["remeasure"]["tables"][0].clone();
        // The list of replies is not drawn.
        for name in ["rows", "strata", "detects"] {
            table[name] = Value::Null;
        }
        (document["verdict"].clone(), table, document["remeasure"]["device"].clone())
    };
    assert_eq!(of(&live), of(&again));
    assert_eq!(live["remeasure"]["tables"].as_array().unwrap().len(), 1);
    let lines = std::fs::read_to_string(&log).unwrap();
    let device: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(device["device"], "NVIDIA H200");
    assert!(lines.contains("vllm/0.24.0"), "control tables are in the log");
    let note = again["remeasure"]["notes"][0].as_str().unwrap();
    assert!(note.contains("nothing was measured now"), "{note}");
}
