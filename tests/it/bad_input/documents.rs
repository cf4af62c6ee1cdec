//! YAML and JSON that mean harm: systems, sidecars, waivers, cards, metrics.

use crate::common::snapshot::{message, shown};
use crate::common::{self, Tree, gemm};

#[test]
fn hostile_yaml_is_refused_in_one_line() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (c, p) in ('b'..='l').zip('a'..) {
        bomb += &format!("{c}: &{c} [*{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}, *{p}]\n");
    }
    let mut told = Vec::new();
    for (what, text) in [
        ("an alias bomb", bomb),
        ("deep nesting", "[".repeat(100_000)),
        ("a key twice", common::H200.to_owned() + "gpu:\n  mem_bw: 1\n"),
        ("no map", "- a\n".to_owned()),
        ("no YAML", "gpu: [\n".to_owned()),
        ("no text", "\u{0}\u{1}".to_owned()),
    ] {
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
        tree.file("systems/h200_sxm.yaml", text);
        let run = tree.validate(&["--format", "json"]);
        assert_eq!(run.code(), 1, "{what}: {}", run.err());
        told.push(format!("{what}: {}", message(&run.finding("system-invalid"))));
    }
    // A line each.
    insta::assert_snapshot!(told.join("\n"), @r"
    an alias bomb: budget breached: Nodes { nodes: 250001 } at line 1, column 20 (defined at line 5, column 7) (used at line 6, column 16)
    deep nesting: recursion limit exceeded at line 1, column 256
    a key twice: duplicate mapping key: gpu at line 38, column 1
    no map: it is not a map of fields
    no YAML: unclosed bracket '[' at line 1, column 6
    no text: unexpected character: `\u{0}' at line 1, column 1
    ");
}

#[test]
fn malformed_sidecars_are_findings() {
    let tree = Tree::new();
    let dir = "systems/data/h200_sxm/gemm/vllm/0.24.0";
    tree.file(&format!("{dir}/gemm_perf.txt"), gemm(&[(1, 0.5)]));
    for text in ["", "[]", "schema_version: two\n", "schema_version: 1\n", "\u{0}"] {
        tree.file(&format!("{dir}/collection_meta.yaml"), text);
        tree.file(&format!("{dir}/reuse.yaml"), text);
        let run = tree.validate(&["--format", "json"]);
        assert_eq!(run.code(), 1, "{text:?}: {}", run.err());
        assert_eq!(run.findings().len(), 2, "{text:?}: {:?}", run.findings());
        run.finding("sidecar-invalid");
        run.finding("reuse-invalid");
    }
}

/// What a pattern or a formula is taken apart by is a stack, and that of a process ends with it.
#[test]
fn patterns_and_formulas_that_are_too_deep_are_refused() {
    let deep = "{".repeat(100_000) + "a" + &"}".repeat(100_000);
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let system = format!("data_dir: data/h200_sxm\ngpu: {{mem_bw: 4.8e12}}\ndevices: ['{deep}']\n");
    tree.file("systems/h200_sxm.yaml", system);
    let found = tree.validate(&["--format", "json"]).finding("system-invalid");
    insta::assert_snapshot!(message(&found), @"devices: '{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{…' is not a valid pattern: it is longer than 1000 bytes");

    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    let chain = "rows + ".repeat(100_000) + "1 > 0";
    let mut runs = Vec::new();
    for (path, condition) in [(deep.as_str(), "rows > 1"), ("**", &chain)] {
        tree.file(
            ".perfdb-gate/waivers.yaml",
            format!(
                "waivers:\n- {{rule: duplicate-key, path: '{path}', where: {condition}, reason: r, \
                 evidence: e, approved_by: a, until: 2030-01-31}}\n"
            ),
        );
        runs.push(tree.validate(&[]));
    }
    assert!(runs.iter().all(|run| run.code() == 2));
    insta::assert_snapshot!(shown(&runs), @r#"
    $ perfdb-gate validate --root [tmp]
    2> perfdb-gate: .perfdb-gate/waivers.yaml: waivers[0]: '{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{…' is not a valid pattern: it is longer than 1000 bytes
    2> hint: docs/validate.md explains how a waiver is written, in "The repository's own settings"; `perfdb-gate schema waivers` prints its fields for an editor
    (exit 2)

    $ perfdb-gate validate --root [tmp]
    2> perfdb-gate: .perfdb-gate/waivers.yaml: 700005 bytes (a formula has at most 2000) in `rows + rows + rows + rows + rows + rows + rows + rows + rows…` at line 2, column 44
    2> hint: docs/validate.md explains how a waiver is written, in "The repository's own settings"; `perfdb-gate schema waivers` prints its fields for an editor
    (exit 2)
    "#);
}

/// A megabyte of names, each kept with what stands above it, is more memory than a machine has.
#[test]
fn very_long_field_names_in_yaml_are_refused() {
    let many: String = (0..50_000).map(|i| format!("a{i}: 1, ")).collect();
    let long = format!("? {}\n: {{{many}b: 1}}\n", "k".repeat(500_000));
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", gemm(&[(1, 0.5)]));
    tree.file("systems/h200_sxm.yaml", common::H200.to_owned() + "\n" + &long);
    let found = tree.validate(&["--format", "json"]).finding("system-invalid");
    insta::assert_snapshot!(message(&found), @"a field's name is longer than 256 bytes");

    let card = "workload: {}\nModel-executor: {}\nxpu_spec: {}\n".to_owned() + &long;
    assert!(card.len() < 1 << 20, "a larger card is refused unread");
    tree.file("traces/run/workload_card.yaml", card);
    let traces = tree.path().join("traces").display().to_string();
    let run = common::run(&["validate", "--traces", &traces, "--format", "json"]);
    assert_eq!(run.code(), 1, "{}", run.err());
    assert!(run.findings().iter().any(|f| f.starts_with("trace-card-invalid")));
}

#[test]
fn metric_rows_without_a_common_column_are_refused() {
    let tree = Tree::new();
    let row = |i: usize| serde_json::json!({"metadata": {}, "metrics": {format!("a{i}"): 1}});
    let file = |rows: usize| {
        let rows: Vec<_> = (0..rows).map(row).collect();
        serde_json::json!({"metric_info": {}, "rows": rows}).to_string()
    };
    let told = |rows: usize| {
        tree.file("run/benchmark_data.json", file(rows));
        let root = tree.path().display().to_string();
        let run = common::run(&["validate", "--traces", &root, "--format", "json"]);
        assert_eq!(run.code(), 1, "{}", run.err());
        run.findings().iter().any(|f| f.starts_with("trace-unreadable"))
    };
    assert!(told(20_000) && !told(20));
}
