//! Latencies that change, points that go and settings that change in a pull request. All rows are synthetic.

use super::{FAMILY, FLAT};
use crate::common::snapshot::message;
use crate::common::{Run, Tree, gemm};

/// The rows of a sweep of `points` sizes whose latencies grow by a tenth of a percent each, times `factor`.
fn sweep(points: u64, factor: f64) -> Vec<(u64, f64)> {
    (1..=points).map(|m| (m, 0.5 * factor * 1.001_f64.powi(m as i32))).collect()
}

/// A sidecar whose entry of the table has further lines.
fn sidecar(lines: &str) -> String {
    format!(
        "schema_version: 1\nruntime: {{framework: vllm, version: 0.24.0}}\ntables:\n  gemm_perf:\n    status: \
         complete\n{lines}"
    )
}

const COLLECTED: &str = "    collector_ref: aaaa\n    collected_at: '2026-07-01'\n    rows: 40\n";

fn table() -> String {
    format!("{FAMILY}/gemm_perf.txt")
}

fn meta() -> String {
    format!("{FAMILY}/collection_meta.yaml")
}

/// A repository whose `main` has a sweep of 40 sizes with a sidecar.
fn repository() -> Tree {
    let tree = Tree::new();
    tree.file(&table(), gemm(&sweep(40, 1.0)));
    tree.file(&meta(), sidecar(COLLECTED));
    tree.commit();
    tree
}

fn judged(tree: &Tree, rule: &str) -> Run {
    tree.sanity(&["--base-ref", "main", "--only", rule])
}

#[test]
fn a_note_or_a_status_does_not_explain_changed_latencies() {
    let tree = repository();
    tree.file(&table(), gemm(&sweep(40, 10.0)));
    for note in ["    note: x\n", "    note: ' '\n", "    why: measured with care\n"] {
        tree.file(&meta(), sidecar(&format!("{COLLECTED}{note}")));
        let found = judged(&tree, "latency-moved").finding("latency-moved");
        assert_eq!(found["severity"], "warning", "{note}");
        let said = found["message"].as_str().unwrap();
        assert!(said.contains(&format!("(it adds {}", note.trim()[..4].trim())), "{said}");
    }
    let partial = sidecar(COLLECTED).replace("complete", "partial");
    tree.file(&meta(), partial);
    let found = judged(&tree, "latency-moved").finding("latency-moved");
    assert!(message(&found).contains("(it adds status: partial)"), "{found}");
}

#[test]
fn a_new_collection_explains_changed_latencies_if_date_collector_and_rows_match() {
    let tree = repository();
    tree.file(&table(), gemm(&sweep(40, 10.0)));
    let found = |entry: &str| {
        tree.file(&meta(), sidecar(entry));
        judged(&tree, "latency-moved").json()["findings"].as_array().unwrap().len()
    };
    let entry = |commit: &str, date: &str, rows: u64| {
        format!("    collector_ref: {commit}\n    collected_at: '{date}'\n    rows: {rows}\n")
    };
    assert_eq!(found(&entry("bbbb", "2026-09-01", 40)), 0);
    assert_eq!(found(&entry("aaaa", "2026-09-01", 40)), 0, "the same collector on another day");
    assert_eq!(found(&entry("bbbb", "2026-06-01", 40)), 1, "older than the collection before");
    assert_eq!(found(&entry("bbbb", "2026-09-01", 4)), 1, "fewer rows than keys that moved");
    assert_eq!(found(&entry("bbbb", "2026-09-01", 400)), 1, "more rows than the table");
    assert_eq!(found(COLLECTED), 1);
    let event = "{status: complete, rows: 40, collected_at: '2026-09-01', collector_ref: bbbb}";
    assert_eq!(found(&format!("{COLLECTED}    collections: [{event}]\n")), 0);
}

#[test]
fn single_changed_latencies_among_equal_ones_are_listed() {
    let tree = repository();
    let mut rows = sweep(40, 1.0);
    (10..13).for_each(|i| rows[i].1 *= 3.0);
    tree.file(&table(), gemm(&rows));
    let found = judged(&tree, "latency-moved").finding("latency-moved");
    insta::assert_snapshot!(message(&found), @"the latency of 3 single keys changes (after over before 1.00 to 3.00) while most others stay the same, but neither the version nor a new collection in the sidecar says that they were measured again: gemm_dtype bfloat16 (3 keys)");
    assert_eq!(found["examples"].as_array().map(Vec::len), Some(3));
    // A rerun moves all latencies a little.
    let rerun: Vec<(u64, f64)> =
        sweep(40, 1.0).into_iter().map(|(m, ms)| (m, ms * 1.004)).collect();
    tree.file(&table(), gemm(&rerun));
    assert_eq!(judged(&tree, "latency-moved").json()["findings"], serde_json::json!([]));
}

#[test]
fn latencies_that_become_negative_are_not_counted_as_unchanged() {
    let tree = repository();
    let mut rows = sweep(40, 1.0);
    (10..13).for_each(|i| rows[i].1 = -1.0);
    tree.file(&table(), gemm(&rows));
    let root = tree.path().display().to_string();
    let text = crate::common::run(&["sanity", "--root", &root, "--base-ref", "main"]).out();
    let line = text.lines().find(|line| line.starts_with("Measured again: ")).unwrap_or_default();
    insta::assert_snapshot!(line, @"Measured again: 1 table (gemm) of h200_sxm vllm 0.24.0; 0 of 40 keys moved by over 5 %; 3 keys got or lost a latency that is not above zero");
}

#[test]
fn losing_most_of_a_sweep_or_points_that_interpolation_misses_is_a_warning() {
    let tree = repository();
    let ends: Vec<(u64, f64)> = [sweep(40, 1.0)[0], sweep(40, 1.0)[39]].into();
    tree.file(&table(), gemm(&ends));
    let found = judged(&tree, "no-longer-served").finding("no-longer-served");
    assert_eq!(found["severity"], "warning");
    insta::assert_snapshot!(message(&found), @"38 keys were removed from within the sweeps of vllm 0.24.0 on h200_sxm, which the planner interpolates: m = 2, 3, 4, …; 1 slice loses most points within the sweeps, for example 38 of 40 of gemm_dtype=bfloat16");
    // Ten of forty points go. What remains answers as they did.
    let rest: Vec<(u64, f64)> = sweep(40, 1.0).into_iter().filter(|(m, _)| m % 4 != 2).collect();
    tree.file(&table(), gemm(&rest));
    assert_eq!(judged(&tree, "no-longer-served").finding("no-longer-served")["severity"], "info");
    // The same points of a curve with a step at them.
    let stepped: Vec<(u64, f64)> = sweep(40, 1.0)
        .into_iter()
        .map(|(m, ms)| (m, if m % 4 == 2 { 2.0 * ms } else { ms }))
        .collect();
    tree.file(&table(), gemm(&stepped));
    tree.commit();
    tree.file(&table(), gemm(&rest));
    let found = judged(&tree, "no-longer-served").finding("no-longer-served");
    assert_eq!(found["severity"], "warning");
    insta::assert_snapshot!(message(&found), @"10 keys were removed from within the sweeps of vllm 0.24.0 on h200_sxm, which the planner interpolates: m = 2, 6, 10, …; interpolated from what remains, 10 of 10 points of gemm_dtype=bfloat16 differ from the lost latencies by more than 99 of 100 honest reruns do");
}

#[test]
fn a_slice_lost_by_the_current_version_is_lost_although_another_version_has_it() {
    let tree = Tree::new();
    let rows = gemm(&sweep(8, 1.0));
    let fp8 = gemm(&sweep(8, 0.6)).replace("bfloat16", "fp8");
    let both = format!("{rows}{}", fp8.split_once('\n').unwrap().1);
    tree.file(&format!("{FLAT}/gemm_perf.txt"), &both);
    tree.file("systems/query_versions.yaml", "defaults:\n  vllm: {current: 0.24.0}\n");
    tree.commit();
    tree.file(&format!("{FLAT}/gemm_perf.txt"), &rows);
    let other = "systems/data/h200_sxm/vllm/0.25.0/gemm_perf.txt";
    tree.file(other, fp8.replace("0.24.0", "0.25.0"));
    let found = judged(&tree, "no-longer-served").finding("no-longer-served");
    assert_eq!(found["severity"], "error");
    insta::assert_snapshot!(message(&found), @"1 shape (8 keys) of vllm 0.24.0 on h200_sxm is no longer served by the current version 0.24.0: gemm_dtype=fp8 (1); 1 slice is no longer served at all");
    // An older version fills the gaps of the current one.
    tree.remove(other);
    tree.file("systems/data/h200_sxm/vllm/0.23.0/gemm_perf.txt", fp8.replace("0.24.0", "0.23.0"));
    assert_eq!(judged(&tree, "no-longer-served").json()["findings"], serde_json::json!([]));
}

#[test]
fn moving_the_systems_folder_is_a_warning() {
    let tree = repository();
    tree.rename("systems", "elsewhere");
    let found = judged(&tree, "data-deleted").finding("data-deleted");
    assert_eq!((&found["severity"], &found["path"]), (&"warning".into(), &"elsewhere".into()));
}

#[test]
fn changed_settings_are_noted_and_invalid_settings_are_an_error() {
    let tree = repository();
    let sanity = || {
        let root = tree.path().display().to_string();
        let args = ["sanity", "--root", &root, "--base-ref", "main", "--inconclusive", "unrelated"];
        crate::common::run(&args)
    };
    tree.file(".gitattributes", "*.parquet filter=lfs\n");
    tree.file(".perfdb-gate/waivers.yaml", "waivers: []\n");
    let run = sanity();
    assert_eq!(run.code(), 0, "{}{}", run.out(), run.err());
    let line = "This changes how later runs judge, once it is merged: .gitattributes added; \
                .perfdb-gate/waivers.yaml added";
    assert!(run.out().contains(line), "{}", run.out());
    for (path, text) in [
        (".perfdb-gate/waivers.yaml", "waivers: {"),
        (".perfdb-gate/rules/latency-spike.yaml", "id: [broken\n"),
        (".perfdb-gate/rules/traces/card.yaml", "fields: 3\n"),
        (".perfdb-gate/baseline.json", "[]"),
        (".perfdb-gate/rules/a.yml", "id: x\n"),
    ] {
        tree.file(path, text);
        let run = sanity();
        assert_eq!(run.code(), 1, "{path}: {}{}", run.out(), run.err());
        assert!(run.out().contains("facts-invalid") && run.out().contains(path), "{}", run.out());
        tree.remove(path);
    }
}
