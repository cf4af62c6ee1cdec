//! What people read: much of it by its causes, all of it where that is asked for, and its rows.

use crate::common::snapshot::redact;
use crate::common::{Tree, gemm};

/// Errors of two rules in eight versions of a backend.
fn much() -> Tree {
    let tree = Tree::new();
    for minor in 0..8 {
        let version = format!("0.{minor}.0");
        let rows = gemm(&[(1, 0.5), (0, 0.6), (2, -0.7), (4, 0.9)]).replace("0.24.0", &version);
        tree.file(&format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt"), rows);
    }
    tree
}

#[test]
fn many_findings_are_grouped_by_cause() {
    let tree = much();
    let only = ["--only", "key-out-of-range", "--only", "latency-not-positive"];
    let run = tree.validate(&only);
    assert_eq!(run.code(), 1);
    insta::assert_snapshot!(redact(&run.out()), @"
    failed: 16 of 16 findings make the run fail (--fail-on error)

    error   key-out-of-range vllm 0.0.0, 0.1.0, 0.2.0, 5 more: 8 files on h200_sxm, 8 rows; most in h200_sxm/vllm/0.0.0/gemm_perf.txt
    error   latency-not-positive vllm 0.0.0, 0.1.0, 0.2.0, 5 more: 8 files on h200_sxm, 8 rows; most in h200_sxm/vllm/0.0.0/gemm_perf.txt

    key-out-of-range: key values that no sweep contains, and unknown dtypes. First step: Remove the rows and fix the sweep that produced them.
    latency-not-positive: measurements of zero or less. First step: Remove the rows and collect their points again.

    --full prints every finding and what to do, --format concise prints one line per finding, --html FILE writes a page, --rows DIR writes all rows; `perfdb-gate explain RULE` explains a rule

    16 errors, 0 warnings, 0 infos in 8 files; checked 8 tables, 32 rows in [seconds] s
    ");
    assert!(run.out().lines().count() <= 25, "{}", run.out());
    let full = tree.validate(&[&only[..], &["--full"]].concat());
    assert_eq!(full.out().matches("key-out-of-range: m is zero in 1 row").count(), 8);
    let counts = tree.validate(&[&only[..], &["--statistics"]].concat());
    insta::assert_snapshot!(counts.out(), @"
    rule                  severity  findings  rows  files
    key-out-of-range      error            8     8      8
    latency-not-positive  error            8     8      8

    16 errors, 0 warnings, 0 infos in 8 files; checked 8 tables, 32 rows
    ");
    // A file takes all of it.
    let path = tree.path().join("report.txt").display().to_string();
    tree.validate(&[&only[..], &["--output", &path]].concat());
    assert_eq!(std::fs::read_to_string(&path).unwrap().matches("m is zero in 1 row").count(), 8);
}

#[test]
fn the_concise_format_has_one_line_per_finding_and_then_the_summary() {
    let tree = much();
    let run = tree.validate(&["--only", "key-out-of-range", "--format", "concise"]);
    let out = run.out();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 9, "{out}");
    assert_eq!(
        lines[0],
        "systems/data/h200_sxm/vllm/0.0.0/gemm_perf.txt:3: error key-out-of-range: m is zero in 1 row"
    );
    assert!(lines[8].starts_with("8 errors, 0 warnings"), "{out}");
}

#[test]
fn all_rows_of_each_finding_are_written_as_csv() {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (0..40).map(|i| (i, if i % 2 == 0 { -0.5 } else { 0.5 })).collect();
    tree.gemm("gemm_perf.txt", gemm(&rows).replace("cutlass", "=1+1"));
    let folder = tree.path().join("rows");
    let shown = folder.display().to_string();
    let run = tree.validate(&[
        "--only",
        "latency-not-positive",
        "--only",
        "sidecar-missing",
        "--rows",
        &shown,
    ]);
    assert_eq!(run.code(), 1, "{}", run.shown());
    let index = std::fs::read_to_string(folder.join("findings.csv")).unwrap();
    let mut lines = index.lines();
    assert_eq!(lines.next(), Some("severity,rule,path,rows,message,file"));
    let row = index.lines().find(|l| l.contains("latency-not-positive")).expect("a line");
    let file = row.rsplit(',').next().unwrap();
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    assert_eq!(text.lines().count(), 21, "{text}");
    assert_eq!(
        text.lines().nth(1),
        Some("0,VLLM,0.24.0,NVIDIA H200,gemm,'=1+1,bfloat16,0,128,128,-0.5")
    );
    // What no rows show has a line and no file.
    assert!(index.lines().filter(|l| l.contains("sidecar-missing")).all(|l| l.ends_with(',')));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
}

#[test]
fn the_map_lists_tables_by_systems() {
    let tree = much();
    let other = std::fs::read_to_string("systems/h100_sxm.yaml").unwrap();
    tree.file("systems/h100_sxm.yaml", other.replace("../data/", "data/"));
    let rows = gemm(&[(1, 0.5), (2, 0.6)]).replace("H200", "H100");
    tree.file("systems/data/h100_sxm/vllm/0.24.0/gemm_perf.txt", rows);
    let root = tree.path().display().to_string();
    let map = crate::common::run(&["status", "--root", &root]);
    assert_eq!(map.code(), 0, "{}", map.shown());
    insta::assert_snapshot!(redact(&map.out()), @"
           h100_sxm  h200_sxm  total
    gemm   ok        16E       16E
    total  ok        16E

    E errors, W warnings, I infos; ok without any; nothing where a system has no such table

    16 errors, 0 warnings, 0 infos in 8 files; checked 9 tables, 34 rows
    ");
    let json = crate::common::run(&["status", "--root", &root, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out()).unwrap();
    assert_eq!(json["systems"], serde_json::json!(["h100_sxm", "h200_sxm"]));
    let gemm = json["tables"].as_array().unwrap().iter().find(|t| t["table"] == "gemm").unwrap();
    assert_eq!(gemm["cells"][1]["versions"].as_array().unwrap().len(), 8);
    assert_eq!(gemm["cells"][1]["worst"], "error");
}

#[test]
fn a_misspelt_waiver_is_an_error_that_suggests_the_nearest_name() {
    let tree = much();
    let waiver = |rule: &str, condition: &str| {
        tree.file(
            ".perfdb-gate/waivers.yaml",
            format!(
                "waivers:\n- rule: {rule}\n  path: '**'\n  where: {condition}\n  reason: r\n  \
                 evidence: e\n  approved_by: somebody\n  until: 2999-01-01\n"
            ),
        );
        tree.validate(&["--only", "key-out-of-range"])
    };
    let fine = waiver("key-out-of-range", "rows <= 5");
    assert_eq!(fine.code(), 0, "{}", fine.shown());
    let rule = waiver("key-out-of-rang", "rows <= 5");
    let name = waiver("key-out-of-range", "row <= 5");
    let date = waiver("key-out-of-range\n  untill: 2030-01-01", "rows <= 5");
    let runs = [&rule, &name, &date];
    assert_eq!(runs.map(super::common::Run::code), [2; 3]);
    insta::assert_snapshot!(runs.map(|run| redact(&run.err())).join("\n"), @r#"
    perfdb-gate: .perfdb-gate/waivers.yaml: no rule matches 'key-out-of-rang'
    hint: did you mean key-out-of-range? known: below-speed-of-light, copied-table, coverage-hole, data-deleted, derived-contradiction, device-mismatch, duplicate-key, excused-by-change, facts-invalid, far-above-bound, framework-mismatch, header-mismatch, key-out-of-range, kv-cache-not-filled, latency-drop, latency-moved, latency-not-finite, latency-not-positive, latency-spike, legacy-marker, … (61 in total)

    perfdb-gate: .perfdb-gate/waivers.yaml: the condition of the waiver of key-out-of-range uses row, which the findings of this rule do not have
    hint: did you mean rows? known: rows, rows_by_kind, severity

    perfdb-gate: .perfdb-gate/waivers.yaml: unknown field `untill`, expected one of rule, path, where, reason, evidence, approved_by, until at line 3, column 3
    hint: docs/validate.md explains how a waiver is written, in "The repository's own settings"; `perfdb-gate schema waivers` prints its fields for an editor
    "#);
}
