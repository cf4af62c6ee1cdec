//! Rules of the kind `where`: a condition on rows, without Rust.

use crate::common::snapshot::{message, redact};
use crate::common::{GEMM, H200, Run, Tree};

const FLAT: &str = "systems/data/h200_sxm/vllm/0.24.0";

/// A rule with the given lines of its condition.
fn rule(lines: &[&str]) -> String {
    let head =
        "id: own\nseverity: error\nsummary: s\nwhat: w\nwhy: w\ninstead: i\ncheck:\n  where:\n";
    let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("{head}{lines}bad: {{files: {{}}}}\ngood: {{files: {{}}}}\n")
}

/// A GEMM table with power, whose rows have a size, a latency in ms and a power in W.
fn table(rows: &[(u64, f64, &str)]) -> String {
    let head = format!("{},power\n", GEMM.trim_end());
    let row = |(m, latency, power): &(u64, f64, &str)| {
        format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},128,128,{latency},{power}\n")
    };
    head + &rows.iter().map(row).collect::<String>()
}

fn judge(tree: &Tree, lines: &[&str]) -> Run {
    tree.file(".perfdb-gate/rules/own.yaml", rule(lines));
    tree.validate(&["--only", "own", "--format", "json"])
}

/// The rows that a condition reports.
fn rows(tree: &Tree, condition: &str) -> u64 {
    let run = judge(tree, &[&format!("condition: {condition}"), "says: x"]);
    assert!(run.code() < 2, "{}", run.err());
    run.json()["findings"][0]["rows"].as_u64().unwrap_or_default()
}

/// The first rule of CONTRIBUTING.md, with the output that it shows.
#[test]
fn the_first_rule_of_contributing_prints_the_shown_output() {
    let page = std::fs::read_to_string("CONTRIBUTING.md").unwrap();
    let (_, page) = page.split_once("## Your first rule in ten minutes").unwrap();
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("   ```{kind}\n")).unwrap();
        let (block, _) = rest.split_once("   ```\n").unwrap();
        block.lines().map(|line| format!("{}\n", line.get(3..).unwrap_or(""))).collect::<String>()
    };
    let text = block("yaml");
    let rule: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let id = rule["id"].as_str().unwrap();
    let judge = |example: &str| {
        let tree = Tree::new();
        tree.file(&format!(".perfdb-gate/rules/{id}.yaml"), &text);
        for (path, text) in rule[example]["files"].as_object().unwrap() {
            tree.file(path, text.as_str().unwrap());
        }
        tree.validate(&["--only", id]).out()
    };
    let (command, printed) =
        block("console").split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(command, format!("$ perfdb-gate validate --only {id}"));
    assert!(judge("bad").starts_with(&printed), "{}", judge("bad"));
    assert!(judge("good").contains("0 errors, 0 warnings, 0 infos"), "{}", judge("good"));
}

#[test]
fn a_condition_reads_columns_figures_and_the_sidecar() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", table(&[(1, 0.5, "300"), (2, 0.6, "698"), (4, 0.7, "699.5")]));
    assert_eq!(rows(&tree, "m > 1 AND kernel_source = 'cutlass'"), 2);
    assert_eq!(rows(&tree, "power > 0.99 * gpu.power"), 2);
    assert_eq!(
        rows(&tree, "place_backend = 'vllm' AND place_version = '0.24.0' AND system = 'h200_sxm'"),
        3
    );
    let sidecar = "schema_version: 1\nprovenance: local\nruntime: {framework: vllm, version: 0.24.0}\n\
                   tables:\n  gemm_perf: {status: partial, rows: 3, locked: false}\n";
    tree.file(&format!("{FLAT}/collection_meta.yaml"), sidecar);
    assert_eq!(rows(&tree, "sidecar.status = 'partial' AND m > 1"), 2);
    assert_eq!(rows(&tree, "sidecar.runtime.framework = place_backend"), 3);
    assert_eq!(
        rows(
            &tree,
            "sidecar.provenance <> 'collected' AND sidecar.rows < 4 AND NOT sidecar.locked"
        ),
        3
    );
    assert_eq!(rows(&tree, "sidecar.collector_ref IS NULL"), 3);
    let said = "says: \"{power} W of {gpu.power} W at m = {m}, {sidecar.status}\"";
    let several = judge(&tree, &["condition: power > 0.99 * gpu.power", said, "show: [latency]"]);
    insta::assert_snapshot!(message(&several.finding("own")), @"698 W of 700 W at m = 2, partial (first of 2 rows with this problem)");
    assert_eq!(
        several.finding("own")["examples"][0]["values"],
        serde_json::json!({"latency": 0.6})
    );
    let constant = judge(&tree, &["condition: m > 1", "says: above the {gpu.power} W"]);
    insta::assert_snapshot!(message(&constant.finding("own")), @"above the 700 W (2 rows)");
}

#[test]
fn a_row_with_an_unknown_value_is_not_judged_by_a_condition() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", table(&[(1, 0.5, ""), (2, 0.6, "300")]));
    // A condition that is true where a comparison with null is false.
    assert_eq!(rows(&tree, "NOT (power > 600)"), 1);
    assert_eq!(rows(&tree, "power IS NULL"), 1);
    assert_eq!(rows(&tree, "coalesce(power, 1000) > 600"), 1);
    for lacking in [
        "NOT (power_limit > 600)",
        "power_limit IS NULL",
        "NOT (latency > 1 / flops(kernel_source))",
        "NOT (sidecar.status = 'complete')",
        "sidecar.status IS NULL",
    ] {
        assert_eq!(rows(&tree, lacking), 0, "{lacking}");
    }
    tree.file(
        "systems/h200_sxm.yaml",
        H200.lines().filter(|line| !line.contains("  power:")).collect::<Vec<_>>().join("\n"),
    );
    assert_eq!(
        rows(&tree, "NOT (latency > gpu.power)"),
        0,
        "a figure that the system does not state"
    );
    // A value of another type is unknown, too.
    let sidecar = "schema_version: 1\nruntime: {framework: vllm, version: 0.24.0}\ntables:\n  gemm_perf: {status: complete}\n";
    tree.file(&format!("{FLAT}/collection_meta.yaml"), sidecar);
    assert_eq!(rows(&tree, "sidecar.status > 3"), 0);
}

#[test]
fn a_condition_applies_to_the_tables_that_it_names() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", table(&[(1, 0.5, "300")]));
    tree.file(&format!("{FLAT}/warp_perf.txt"), "side,latency\n1,0.5\n");
    let found = |lines: &[&str]| judge(&tree, lines).findings();
    let gemm = format!("own error {FLAT}/gemm_perf.txt");
    let warp = format!("own error {FLAT}/warp_perf.txt");
    assert_eq!(found(&["condition: latency > 0.1", "says: x"]), [gemm.as_str(), &warp]);
    assert_eq!(found(&["tables: [g*]", "condition: latency > 0.1", "says: x"]), [gemm]);
    // A table without a spec may have any column.
    assert_eq!(found(&["tables: [warp]", "condition: side = 1", "says: x"]), [warp]);
}

#[test]
fn a_mistake_in_a_condition_is_reported_with_its_line() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", table(&[(1, 0.5, "300")]));
    let judge = |lines: &[&str]| {
        tree.file(".perfdb-gate/rules/own.yaml", rule(lines));
        tree.validate(&["--only", "own"])
    };
    let runs = [
        judge(&["tables: [gemm]", "condition: powr > 3", "says: x"]),
        judge(&["condition: no_such_column > 3", "says: x"]),
        judge(&["condition: power > gpu.powr", "says: x"]),
        judge(&["condition: power > 3", "says: \"draws {watts} W\""]),
        judge(&["condition: power > 3", "says: \"draws {power W\""]),
        judge(&["condition: power > 3", "says: x", "show: [watts]"]),
        judge(&["condition: power >", "says: x"]),
        judge(&["condition: kernel_source > 3", "says: x"]),
        judge(&["condition: power > 3"]),
    ];
    assert!(runs.iter().all(|run| run.code() == 2));
    let errors = runs.iter().map(|run| run.err().lines().next().unwrap().to_owned() + "\n");
    insta::assert_snapshot!(redact(&errors.collect::<String>()), @"
    perfdb-gate: .perfdb-gate/rules/own.yaml: line 10: powr is neither a figure of a system nor a column of gemm; did you mean power?
    perfdb-gate: .perfdb-gate/rules/own.yaml: line 9: no_such_column is neither a figure of a system nor a column of any table
    perfdb-gate: .perfdb-gate/rules/own.yaml: line 9: gpu.powr is neither a figure of a system nor a column of any table
    perfdb-gate: .perfdb-gate/rules/own.yaml: line 10: watts is neither a figure of a system nor a column of any table
    perfdb-gate: .perfdb-gate/rules/own.yaml: line 10: power W is neither a figure of a system nor a column of any table; did you mean power?
    perfdb-gate: .perfdb-gate/rules/own.yaml: line 11: watts is neither a figure of a system nor a column of any table
    perfdb-gate: .perfdb-gate/rules/own.yaml: sql parser error: Expected: an expression, found: EOF in `power >` at line 9, column 16
    perfdb-gate: .perfdb-gate/rules/own.yaml: line 9: the two sides of a comparison have different types in `kernel_source > 3`
    perfdb-gate: .perfdb-gate/rules/own.yaml: missing field `says` at line 9, column 5
    ");
}
