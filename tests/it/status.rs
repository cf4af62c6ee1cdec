//! `perfdb-gate status`, run on small trees of synthetic rows.

use crate::common::{Run, Tree, gemm, run};
use serde_json::{Value, json};

const LAYOUT: &str = "systems/data";

/// Two systems of a generation: the H200 has gemm in two versions, the H100 gemm and mla_bmm in one.
fn tree() -> Tree {
    let tree = Tree::new();
    let h100 = std::fs::read_to_string("systems/h100_sxm.yaml").expect("a shipped system");
    tree.file("systems/h100_sxm.yaml", h100.replace("../data/", "data/"));
    let of = |system: &str, family: &str, version: &str, file: &str| {
        format!("{LAYOUT}/{system}/{family}/vllm/{version}/{file}")
    };
    let device = |text: String| text.replace("NVIDIA H200", "NVIDIA H100 80GB HBM3");
    tree.file(
        &of("h200_sxm", "gemm", "0.22.0", "gemm_perf.txt"),
        gemm(&[(1, 0.5)]).replace("0.24.0", "0.22.0"),
    );
    tree.file(
        &of("h200_sxm", "gemm", "0.24.0", "gemm_perf.txt"),
        gemm(&[(1, 0.5), (2, 0.5), (2, 0.51)]),
    );
    let meta = "schema_version: 1\nprovenance: collected\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf: {status: complete, collected_at: '2026-08-01', collector_ref: 0123456789abcdef, norm_dispatch: eager}\n";
    tree.file(&of("h200_sxm", "gemm", "0.24.0", "collection_meta.yaml"), meta);
    tree.file(
        &of("h100_sxm", "gemm", "0.24.0", "gemm_perf.txt"),
        device(gemm(&[(1, 0.5), (2, 0.5)])),
    );
    let bmm = "framework,version,device,op_name,kernel_source,bmm_dtype,num_tokens,num_heads,latency\n\
               VLLM,0.24.0,NVIDIA H100 80GB HBM3,mla_gen_pre,default,bfloat16,1,128,0.5\n";
    tree.file(&of("h100_sxm", "mla_bmm", "0.24.0", "mla_bmm_perf.txt"), bmm);
    tree
}

fn status(tree: &Tree, args: &[&str]) -> Run {
    let root = tree.path().display().to_string();
    let mut all = vec!["status", "--root", &root];
    all.extend(args);
    run(&all)
}

fn json(tree: &Tree, args: &[&str]) -> Value {
    let run = status(tree, &[&["--format", "json"], args].concat());
    assert_eq!(run.code(), 0, "{}", run.err());
    serde_json::from_str(&run.out()).expect("JSON")
}

fn table<'a>(status: &'a Value, name: &str) -> &'a Value {
    let tables = status["tables"].as_array().expect("tables");
    tables.iter().find(|t| t["table"] == name).unwrap_or_else(|| panic!("{name}: {status:#}"))
}

#[test]
fn it_tells_of_each_table_what_validate_knows() {
    let tree = tree();
    let status = json(&tree, &["--system", "h200_sxm"]);
    let gemm = table(&status, "gemm_perf");
    assert_eq!((&gemm["version"], &gemm["rows"]), (&json!("0.24.0"), &json!(3)));
    assert_eq!(gemm["nearest"], json!({"system": "h100_sxm", "version": "0.24.0", "rows": 2}));
    assert_eq!(gemm["last_version"], "0.22.0");
    assert_eq!(gemm["provenance"]["collected_at"], "2026-08-01");
    assert_eq!(gemm["notes"], json!(["norm_dispatch: \"eager\""]));
    // The same counts as validate's, on the same table.
    let args = ["--format", "json", "--system", "h200_sxm"];
    let found = tree.validate(&args).json()["findings"].as_array().expect("findings").clone();
    let of = |severity: &str| {
        let own = |f: &&Value| f["path"] == gemm["path"] && f["severity"] == severity;
        found.iter().filter(own).count()
    };
    assert_eq!(gemm["errors"], of("error"));
    assert_eq!(gemm["warnings"], of("warning"));
    let repeated = found.iter().find(|f| f["rule"] == "duplicate-key").expect("a finding");
    assert_eq!((&gemm["duplicates"], &repeated["rows"]), (&json!(1), &json!(1)));
}

#[test]
fn what_the_nearest_system_has_beyond_it_is_missing() {
    let tree = tree();
    let status = json(&tree, &["--system", "h200_sxm"]);
    let bmm = table(&status, "mla_bmm_perf");
    assert_eq!((&bmm["path"], &bmm["rows"]), (&Value::Null, &Value::Null));
    assert_eq!(bmm["nearest"]["rows"], 1);
    insta::assert_json_snapshot!(bmm["notes"], @r#"
    [
      "not collected"
    ]
    "#);
    assert_eq!(status["versions"][0]["missing"], 1);
    // Of an older version, only what was there at that version.
    let old = json(&tree, &["--system", "h200_sxm", "--version", "0.22.0"]);
    assert_eq!(old["tables"].as_array().unwrap().len(), 1);
    assert_eq!(table(&old, "gemm_perf")["last_version"], Value::Null);
    // The nearest system has another version of it.
    assert_eq!(table(&old, "gemm_perf")["nearest"]["version"], "0.24.0");
}

#[test]
fn the_ledger_says_what_was_skipped() {
    let tree = tree();
    let failure = |task: &str, class: &str, error: &str| {
        json!({"module": "vllm.mla_bmm", "task_id": task, "task_params": "(1, 2)", "error_type": error,
               "classification": class, "timestamp": task})
    };
    let all = json!([
        failure("a", "unexpected", "RuntimeError"),
        failure("b", "unexpected", "RuntimeError"),
        failure("c", "", "WorkerSignalCrash"),
        failure("d", "unexpected", "OutOfMemoryError"),
    ]);
    tree.file("logs/errors_mla_bmm.json", all.to_string());
    let logs = tree.path().join("logs").display().to_string();
    let args = ["--system", "h200_sxm", "--ledger", &logs];
    let status = json(&tree, &args);
    let told: Vec<String> = status["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| format!("{} {} {} {}", s["table"], s["cases"], s["class"], s["reason"]))
        .collect();
    assert_eq!(
        told,
        [
            r#""mla_bmm_perf" 1 "-" "WorkerSignalCrash""#,
            r#""mla_bmm_perf" 1 "unexpected" "OutOfMemoryError""#,
            r#""mla_bmm_perf" 2 "unexpected" "RuntimeError""#,
        ]
    );
    insta::assert_snapshot!(self::status(&tree, &args).shown());
}

#[test]
fn markdown_is_a_comment_that_commonmark_reads() {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    let tree = tree();
    let run = status(&tree, &["--system", "h200_sxm", "--format", "markdown"]);
    assert_eq!(run.code(), 0, "{}", run.err());
    let text = run.out();
    let events: Vec<Event<'_>> = Parser::new_ext(&text, Options::ENABLE_TABLES).collect();
    let starts = |wanted: fn(&Tag<'_>) -> bool| {
        events.iter().filter(|e| matches!(e, Event::Start(tag) if wanted(tag))).count()
    };
    assert_eq!(starts(|t| matches!(t, Tag::Table(_))), 2, "{text}");
    assert_eq!(starts(|t| matches!(t, Tag::TableRow)), 3, "one version, two tables: {text}");
    assert_eq!(starts(|t| matches!(t, Tag::CodeBlock(_))), 1);
    insta::assert_snapshot!(run.shown());
}

#[test]
fn a_damaged_table_is_told_and_does_not_hide() {
    let tree = tree();
    tree.file(&format!("{LAYOUT}/h200_sxm/gemm/vllm/0.24.0/gemm_perf.txt"), "");
    let status = json(&tree, &["--system", "h200_sxm"]);
    let gemm = table(&status, "gemm_perf");
    assert_eq!(gemm["rows"], Value::Null);
    insta::assert_json_snapshot!(gemm["notes"], @r#"
    [
      "cannot be read",
      "norm_dispatch: \"eager\""
    ]
    "#);
    assert_eq!(gemm["errors"], 1);
}

#[test]
fn names_that_fit_nothing_or_too_much_are_errors() {
    let tree = tree();
    assert_eq!(status(&tree, &["--system", "h20"]).code(), 2);
    let several = status(&tree, &["--system", "h*"]);
    assert_eq!(several.code(), 2);
    insta::assert_snapshot!(several.shown(), @"
    $ perfdb-gate status --root [tmp] --system h*
    2> perfdb-gate: --system h* matches several systems
    2> hint: status shows one system: write its whole name
    (exit 2)
    ");
    assert_eq!(status(&tree, &["--system", "h200_sxm", "--backend", "sglang"]).code(), 2);
    let (one, four) =
        (["--system", "h200_sxm", "--threads", "1"], ["--system", "h200_sxm", "--threads", "4"]);
    assert_eq!(status(&tree, &one).out(), status(&tree, &four).out());
}

#[test]
fn quiet_is_the_line_that_sums_it_up() {
    let quiet = status(&tree(), &["--system", "h200_sxm", "--quiet"]);
    insta::assert_snapshot!(quiet.shown(), @"
    $ perfdb-gate status --root [tmp] --system h200_sxm --quiet
    h200_sxm: 1 table, 3 rows, 1 missing, 0 errors, 1 warning
    (exit 0)
    ");
}
