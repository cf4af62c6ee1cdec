//! Databases with other layouts than the public one, declared in YAML. All rows are synthetic.

use crate::common::{Tree, run};

/// A layout of nested JSON: results by machine, with runs of kernels.
const NESTED: &str = r#"about: Synthetic results.
detect: ["results/{name}.json"]
tables:
  - name: warp
    files: ["results/{name}.json"]
    system: "{machine}"
    backend: "{software}"
    version: "{release}"
    reader: json
    rows: "results.{machine}.runs[]"
"#;

const WARP: &str = r#"family: warp
tables:
  warp:
    about: Synthetic.
    identity: []
    columns: {machine: text, software: text, release: text, size_m: int, size_n: int, us: us, tflops: number, note: text?}
    key: [size_m, size_n]
    serves: first
    latency: {latency: us / 1000}
    shared: false
    identities:
      - {column: tflops, is: 2 * size_m * size_n / us / 1e6}
"#;

/// A tree with a layout and specs in its own rules.
fn tree(layout: &str, tables: &str) -> Tree {
    let tree = Tree::new();
    tree.remove("systems/h200_sxm.yaml");
    tree.file(".perfdb-gate/rules/layouts/synthetic.yaml", layout);
    tree.file(".perfdb-gate/rules/tables/synthetic.yaml", tables);
    tree
}

/// A nested document; each run is `m,n,us,tflops`.
fn nested(runs: &[(u32, u32, f64, f64)]) -> String {
    let runs: Vec<String> = runs
        .iter()
        .map(|(m, n, us, tflops)| {
            format!(r#"{{"size": {{"m": {m}, "n": {n}}}, "us": {us}, "tflops": {tflops}}}"#)
        })
        .collect();
    format!(
        r#"{{"software": "spin", "release": "1.0", "results": {{"zx1": {{"runs": [{0}]}}, "zx2": {{"runs": [{0}]}}}}}}"#,
        runs.join(", ")
    )
}

#[test]
fn a_layout_of_nested_json_is_judged_as_a_database() {
    let tree = tree(NESTED, WARP);
    // 2·100·100 / 10 µs = 0.002 TFLOP/s; the third row says 0.02, the fourth says nothing.
    tree.file(
        "results/a.json",
        nested(&[
            (100, 100, 10.0, 0.002),
            (200, 100, 10.0, 0.004),
            (300, 100, 10.0, 0.06),
            (400, 100, 10.0, 0.0),
        ]),
    );
    let judged = tree.validate(&["--format", "json", "--system", "zx1"]);
    assert_eq!(judged.code(), 1, "{}", judged.err());
    let found = judged.findings();
    let both =
        ["error", "warning"].map(|grade| format!("derived-contradiction {grade} results/a.json"));
    assert_eq!(found, both);
    let error = &judged.json()["findings"][0];
    assert_eq!((&error["system"], &error["backend"]), (&"zx1".into(), &"spin".into()));
    assert_eq!(error["examples"][0]["values"]["expected"], 0.006);
    // Both machines of the file are judged.
    let both = tree.validate(&["--format", "json"]);
    assert_eq!(both.json()["summary"]["tables"], 2);
    tree.file("results/a.json", "{\"results\": 7}");
    let broken = tree.validate(&["--format", "json"]);
    assert!(broken.finding("table-unreadable")["message"].to_string().contains("results/a.json"));
}

const MERGED: &str = r#"about: Synthetic tables of several files.
detect: ["tuned/**/*_warp.csv"]
tables:
  - name: warp
    files: ["tuned/**/*_warp.csv"]
    system: "{machine}"
    backend: "{software}"
    version: "{release}"
"#;

/// A text table; each row is `machine,m,us`.
fn merged(rows: &[(&str, u32, f64)]) -> String {
    let mut text = "machine,software,release,size_m,size_n,us,tflops\n".to_owned();
    for (machine, m, us) in rows {
        let tflops = 2.0 * f64::from(*m) * 100.0 / us / 1e6;
        text += &format!("{machine},spin,1.0,{m},100,{us},{tflops:.6}\n");
    }
    text
}

#[test]
fn a_table_of_several_files_is_judged_as_one_table() {
    let tree = tree(MERGED, WARP);
    tree.file(
        "tuned/all_warp.csv",
        merged(&[("zx1", 100, 10.0), ("zx2", 100, 20.0), ("zx1", 200, 20.0)]),
    );
    tree.file("tuned/more/own_warp.csv", merged(&[("zx2", 300, 30.0), ("zx1", 200, 40.0)]));
    let judged = tree.validate(&["--format", "json"]);
    let found = judged.findings();
    assert_eq!(found.len(), 1, "{found:?}");
    let copies = judged.finding("duplicate-key");
    assert_eq!(copies["system"], "zx1");
    assert_eq!(copies["path"], "tuned/more/own_warp.csv");

    // A damaged row is named by its file and line; the other rows are judged.
    let damaged = merged(&[("zx2", 300, 30.0)]) + "zx2,spin,1.0,400,100,1\n";
    tree.file("tuned/more/own_warp.csv", damaged);
    let judged = tree.validate(&["--format", "json"]);
    let torn = judged.finding("torn-row");
    assert_eq!(torn["path"], "tuned/more/own_warp.csv");
    assert!(
        torn["message"].to_string().contains("line 3 of tuned/more/own_warp.csv: 6 fields"),
        "{torn}"
    );
    assert_eq!(judged.findings().len(), 1);
}

#[test]
fn a_change_of_two_rows_is_compared_in_a_custom_layout() {
    let tree = tree(MERGED, WARP);
    let rows = [("zx1", 100, 10.0), ("zx2", 100, 20.0), ("zx1", 200, 20.0)];
    tree.file("tuned/all_warp.csv", merged(&rows));
    tree.file("tuned/more/own_warp.csv", merged(&[("zx2", 300, 30.0)]));
    tree.commit();
    tree.git(&["checkout", "-q", "-b", "pr"]);
    let changed =
        merged(&rows).replace("10,0.002000", "100,0.002000").replace("20,0.002000", "0,0.002");
    assert_ne!(changed, merged(&rows));
    tree.file("tuned/all_warp.csv", changed);
    tree.commit();
    let judged = tree.sanity(&["--base-ref", "main", "--head-ref", "pr"]);
    assert_eq!(judged.code(), 1, "{}", judged.err());
    let json = judged.json();
    assert_eq!(
        json["diff"].as_array().map(Vec::len),
        Some(1),
        "the other machine's rows are equal"
    );
    assert_eq!(json["diff"][0]["path"], "tuned/all_warp.csv#zx1/spin/1.0");
    assert_eq!(judged.finding("latency-not-positive")["new"], true);
    assert_eq!(judged.finding("derived-contradiction")["path"], "tuned/all_warp.csv");
    let since = tree.validate(&["--since", "main", "--format", "json"]);
    assert_eq!(since.json()["summary"]["tables"], 2, "both machines have rows in the changed file");
}

#[test]
fn the_layout_is_given_by_name_or_detected() {
    let tree = tree(MERGED, WARP);
    tree.file("tuned/all_warp.csv", merged(&[("zx1", 100, 10.0)]));
    let unknown = tree.validate(&["--layout", "elsewhere"]);
    assert_eq!(unknown.code(), 2);
    assert!(unknown.err().contains("elsewhere"), "{}", unknown.err());
    assert_eq!(tree.validate(&["--layout", "synthetic"]).code(), 0);
    tree.commit();
    let root = tree.path().display().to_string();
    let init = run(&["init", "--root", &root, "--repository", "a/b", "--layout", "synthetic"]);
    let there = "there    .perfdb-gate/rules/layouts/synthetic.yaml";
    assert!(init.out().contains(there), "{}{}", init.out(), init.err());
    // With two layouts of its own, the files decide. Both fit, so that the one with most tables is chosen.
    tree.file(
        ".perfdb-gate/rules/layouts/again.yaml",
        MERGED.replace("files: [\"tuned/**", "files: [\"few"),
    );
    let both = tree.validate(&["--format", "json"]);
    assert_eq!((both.code(), &both.json()["summary"]["tables"]), (0, &1.into()), "{}", both.err());
    tree.file(".perfdb-gate/rules/layouts/again.yaml", MERGED.replace("detect", "detects"));
    let malformed = tree.validate(&[]);
    assert!(
        malformed.err().contains("again.yaml") && malformed.err().contains("line 2"),
        "{}",
        malformed.err()
    );
}

#[test]
fn json_lines_and_parquet_are_read_as_tables() {
    let layout = "about: Synthetic.\ntables:\n\
        \x20 - {name: warp, files: ['{system}/{software}/{tp:int}.jsonl'], system: '{system}', backend: '{software}', version: 'tp{tp}', reader: json-lines}\n\
        \x20 - {name: gemm_perf, files: ['{system}/{software}/{tp:int}.parquet'], system: '{system}', backend: '{software}', version: 'tp{tp}', reader: parquet}\n";
    let tables = WARP.replace("machine: text, software: text, release: text, ", "");
    let tree = tree(layout, &tables);
    let line = |m: u32, us: f64| {
        format!("{{\"size\": {{\"m\": {m}, \"n\": 10}}, \"us\": {us}, \"tflops\": null}}\n")
    };
    tree.file("zx1/spin/4.jsonl", line(1, 2.0) + &line(1, 3.0));
    tree.file("zx1/spin/8.parquet", crate::common::gemm_parquet(&[(1, 0.5), (1, 0.9)]));
    let judged = tree.validate(&["--format", "json"]);
    let found = judged.findings();
    assert_eq!(found.iter().filter(|f| f.starts_with("duplicate-key")).count(), 2, "{found:?}");
    tree.file("zx1/spin/4.jsonl", line(1, 2.0) + "{\"size\": \n");
    let broken = tree.validate(&["--format", "json", "--table", "warp"]);
    let message = broken.finding("table-unreadable")["message"].to_string();
    assert!(message.contains("4.jsonl line 2"), "{message}");
}
