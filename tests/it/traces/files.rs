//! Damaged and unexpected files, and rules from outside the binary.

use super::{CARD, Cases, HEAD, NONE, ROW, Traces, told};
use crate::common::snapshot::shown;

#[test]
fn hostile_trace_files_are_findings() {
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
    let mut shown = Cases::default();
    for (path, bytes) in cases {
        let traces = Traces::new();
        traces.file(path, &bytes);
        let told = traces.told();
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(30)]).into_owned();
        assert_eq!(told.len(), 1, "{path} {start}: {told:?}");
        shown.add(&format!("{path} {start:?}"), "error unreadable", &told);
    }
    insta::assert_snapshot!(shown.0);
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
fn damaged_rows_of_metric_files_are_named() {
    let traces = Traces::new();
    traces.file("experiment_metrics.csv", format!("{HEAD}{ROW}qwen3,vllm\n{}", ROW.trim()));
    insta::assert_snapshot!(traces.told().join("\n"), @"error metric-invalid: 1 row is damaged: 2 fields instead of 21 (line 3)");
}

#[cfg(unix)]
#[test]
fn folders_and_broken_links_named_like_trace_files_are_findings() {
    use std::os::unix::fs::symlink;
    let traces = Traces::new();
    traces.file("timing_stats_0.json/x", "1").file("y/workload_card.yaml/x", "1");
    symlink("nowhere", traces.path().join("timing_stats_1.json")).unwrap();
    symlink("..", traces.path().join("up")).unwrap();
    insta::assert_snapshot!(traces.told().join("\n"), @"
    error unreadable: this is a directory, but a file of this name is expected
    error unreadable: a symbolic link to nowhere, not a file
    error unreadable: this is a directory, but a file of this name is expected
    ");
}

#[test]
fn a_trace_spec_with_an_unknown_field_is_refused_with_its_line() {
    let traces = Traces::new();
    let spec = include_str!("../../../rules/traces/card.yaml");
    let rules = traces.path().join("rules").display().to_string();
    let runs = [
        ("holds: ep = 1", "holds: eps = 1"),
        ("holds: ep = 1", "holds: ep =="),
        ("{total_count} is neither", "{count} is neither"),
        ("finds: implausible", "finds: nothing"),
        ("{type: text, need: must, as: phase", "{type: word, need: must, as: phase"),
    ]
    .map(|(from, to)| {
        traces.file("rules/traces/card.yaml", spec.replacen(from, to, 1));
        traces.judge(&["--rules", &rules])
    });
    assert!(runs.iter().all(|run| run.code() == 2));
    insta::assert_snapshot!(shown(&runs), @"
    $ perfdb-gate validate --traces [tmp] --rules [tmp]/rules
    2> perfdb-gate: [tmp]/rules/traces/card.yaml: relation experts-without-moe, line 97: `eps = 1` reads eps, which is not a column
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)

    $ perfdb-gate validate --traces [tmp] --rules [tmp]/rules
    2> perfdb-gate: [tmp]/rules/traces/card.yaml: sql parser error: Expected: an expression, found: EOF in `ep ==` at line 100, column 12
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)

    $ perfdb-gate validate --traces [tmp] --rules [tmp]/rules
    2> perfdb-gate: [tmp]/rules/traces/card.yaml: relation units, line 87: it shows count, which is not a column
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)

    $ perfdb-gate validate --traces [tmp] --rules [tmp]/rules
    2> perfdb-gate: [tmp]/rules/traces/card.yaml: unknown variant `nothing`, expected one of contradiction, implausible at line 119, column 12
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)

    $ perfdb-gate validate --traces [tmp] --rules [tmp]/rules
    2> perfdb-gate: [tmp]/rules/traces/card.yaml: unknown variant `word`, expected one of text, int, number, bool, ints, numbers, texts, map at line 15, column 32
    2> hint: CONTRIBUTING.md describes the format of rules, tables and systems
    (exit 2)
    ");
}

#[test]
fn a_new_trace_field_and_relation_need_only_yaml() {
    let traces = Traces::new();
    let spec = include_str!("../../../rules/traces/card.yaml")
        .replace("  workload.data.dataset:", "  workload.data.num_requests: {type: int, need: must, as: requests, least: 1}\n  workload.data.dataset:")
        .replace("relations:\n", "relations:\n  - id: requests-fill-the-batch\n    finds: contradiction\n    holds: requests >= batch_size\n    says: \"{requests} requests do not fill a batch of {batch_size}\"\n");
    traces.file("rules/traces/card.yaml", spec);
    let rules = traces.path().join("rules").display().to_string();
    let judge = |text: &str| {
        traces.file("x/x.yaml", text);
        told(&traces.judge(&["--format", "json", "--rules", &rules]).json())
    };
    insta::assert_snapshot!(judge(CARD).join("\n"), @"error card-invalid: fields are missing: workload.data.num_requests");
    let few = CARD.replace("    dataset", "    num_requests: 4\n    dataset");
    insta::assert_snapshot!(judge(&few).join("\n"), @"error card-contradiction: 4 requests do not fill a batch of 8 (line 16)");
    assert_eq!(judge(&few.replace("requests: 4", "requests: 40")), NONE);
}
