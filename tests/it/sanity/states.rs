//! New, inherited, moved, repaired: what becomes of findings in a pull request. All rows are synthetic.

use proptest::prelude::*;
use serde_json::Value;

use super::{FAMILY, FLAT, POINTER, gemm};
use crate::common::{Run, Tree};

const TABLE: &str = "gemm_perf.txt";

/// What sanity says of the files on disk against `main`.
fn report(tree: &Tree) -> Value {
    tree.sanity(&["--base-ref", "main"]).json()
}

/// `rule state rows` of the findings, infos aside.
fn states(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let mut states: Vec<String> = findings
        .filter(|f| f["severity"] != "info")
        .map(|f| {
            let text = |name: &str| f[name].as_str().unwrap().to_owned();
            format!("{} {} {}", text("rule"), text("state"), f["rows"])
        })
        .collect();
    states.sort();
    states
}

/// `rule rows` of what is repaired.
fn repaired(report: &Value) -> Vec<String> {
    let findings = report["repaired"].as_array().unwrap().iter();
    findings.map(|f| format!("{} {}", f["rule"].as_str().unwrap(), f["rows"])).collect()
}

/// Rows of a sweep that nothing is wrong with.
fn sweep(seed: u64) -> Vec<(u64, f64)> {
    (0..40).map(|i| (1 << (i % 13), i)).map(|(m, i)| (m + i * 8192, latency(i, seed))).collect()
}

/// A latency that grows, with noise of a few per cent.
fn latency(i: u64, seed: u64) -> f64 {
    let noise = (i.wrapping_mul(2_654_435_761).wrapping_add(seed * 40_503)) % 97;
    0.01 * (1.0 + i as f64) * (1.0 + noise as f64 / 4000.0)
}

/// A table with a column more, of one value.
fn with_column(rows: &str, name: &str, value: &str) -> String {
    let line = |(n, line): (usize, &str)| {
        let cell = if n == 0 { name } else { value };
        format!("{line},{cell}\n")
    };
    rows.lines().enumerate().map(line).collect()
}

/// Synthetic power that rises with the row, as a meter's does along a sweep.
fn with_power(rows: &str) -> String {
    let line = |(n, line): (usize, &str)| match n {
        0 => format!("{line},power\n"),
        n => format!("{line},{}\n", 200 + 10 * n),
    };
    rows.lines().enumerate().map(line).collect()
}

/// A repository with a table in which two copies of a key and a negative latency are wrong.
fn with_debt() -> (Tree, Vec<(u64, f64)>) {
    let mut rows = sweep(1);
    rows.push(rows[3]);
    rows[3].1 *= 1.01;
    rows[7].1 = -1.0;
    let tree = Tree::new();
    tree.gemm(TABLE, gemm(&rows));
    tree.commit();
    (tree, rows)
}

#[test]
fn a_column_that_a_rule_does_not_read_makes_no_finding_new() {
    let (tree, rows) = with_debt();
    tree.gemm(TABLE, with_power(&gemm(&rows)));
    let report = report(&tree);
    assert_eq!(report["change"]["class"], "column-overlay");
    let wanted = ["duplicate-key inherited 1", "latency-not-positive inherited 1"];
    assert_eq!(states(&report), wanted);
}

#[test]
fn a_row_measured_again_keeps_the_existing_finding_of_its_key() {
    let (tree, mut rows) = with_debt();
    for row in &mut rows {
        row.1 *= 1.02;
    }
    tree.gemm(TABLE, gemm(&rows));
    let report = report(&tree);
    assert_eq!(report["change"]["class"], "values");
    let wanted = ["duplicate-key inherited 1", "latency-not-positive inherited 1"];
    assert_eq!(states(&report), wanted);
    // Another row is wrong now: that one is new, and the first is repaired.
    rows[7].1 = 0.2;
    rows[9].1 = -1.0;
    tree.gemm(TABLE, gemm(&rows));
    let report = self::report(&tree);
    assert_eq!(states(&report), ["duplicate-key inherited 1", "latency-not-positive new 1"]);
    assert_eq!(repaired(&report), ["latency-not-positive 1"]);
}

#[test]
fn a_finding_that_gets_worse_is_new() {
    let mut rows = sweep(1);
    rows.extend(rows.clone());
    let tree = Tree::new();
    tree.gemm(TABLE, gemm(&rows));
    tree.commit();
    // Copies that agreed contradict each other.
    for row in &mut rows[40..] {
        row.1 *= 3.0;
    }
    tree.gemm(TABLE, gemm(&rows));
    let found = report(&tree)["findings"].as_array().unwrap().clone();
    let duplicates = found.iter().find(|f| f["rule"] == "duplicate-key").unwrap();
    assert_eq!((&duplicates["severity"], &duplicates["state"]), (&"error".into(), &"new".into()));
}

#[test]
fn an_added_copy_is_new_although_another_copy_exists() {
    let (tree, mut rows) = with_debt();
    rows.push((rows[3].0, rows[3].1));
    tree.gemm(TABLE, gemm(&rows));
    let found = states(&report(&tree));
    assert!(found.contains(&"duplicate-key new 1".to_owned()), "{found:?}");
}

#[test]
fn a_finding_is_repaired_by_a_changed_row_or_by_a_deleted_table() {
    let (tree, mut rows) = with_debt();
    rows.truncate(40);
    rows[7].1 = 0.08;
    tree.gemm(TABLE, gemm(&rows));
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!(repaired(&run.json()), ["latency-not-positive 1", "duplicate-key 1"]);
    tree.remove(&format!("{FLAT}/{TABLE}"));
    tree.gemm("moe_perf.txt", gemm(&[(1, 0.5)]));
    let report = report(&tree);
    let with_table =
        report["repaired"].as_array().unwrap().iter().filter(|f| f["with_table"] == true);
    assert_eq!(with_table.count(), 2);
}

#[test]
fn deleting_a_reference_does_not_repair_findings_that_compared_with_it() {
    let tree = Tree::new();
    let curve = |seed: u64, spike: f64| -> String {
        let point = |i: u64| {
            let noise = (i.wrapping_mul(2_654_435_761).wrapping_add(seed * 40_503)) % 97;
            let time = 0.05 * (i as f64) * (1.0 + noise as f64 / 8000.0);
            (64 * i, if i == 12 { time * spike } else { time })
        };
        gemm(&(1..=40).map(point).collect::<Vec<_>>())
    };
    let earlier = format!("{FLAT}/{TABLE}").replace("0.24.0", "0.22.0");
    tree.gemm(TABLE, curve(1, 2.5));
    tree.file(&earlier, curve(2, 1.0).replace("0.24.0", "0.22.0"));
    let there = format!("{FLAT}/{TABLE}").replace("h200", "h100");
    tree.file(&there, curve(3, 1.0).replace("NVIDIA H200", "NVIDIA H100 80GB HBM3"));
    tree.commit();
    let spikes = |run: &Run| run.findings().iter().filter(|f| f.contains("latency-spike")).count();
    assert_eq!(spikes(&tree.validate(&["--format", "json"])), 1);
    tree.remove(&earlier);
    // One group of tables is not enough, so the spike is found no more; nobody measured it again.
    assert_eq!(spikes(&tree.validate(&["--format", "json"])), 0);
    let report = report(&tree);
    assert!(repaired(&report).iter().all(|f| !f.starts_with("latency-spike")), "{report}");
}

#[test]
fn moving_a_table_makes_its_findings_moved_and_not_new() {
    let (tree, _) = with_debt();
    tree.rename(&format!("{FLAT}/{TABLE}"), &format!("{FAMILY}/{TABLE}"));
    let report = report(&tree);
    assert_eq!(report["change"]["class"], "move");
    // Into the layout that asks for a sidecar.
    let mut found = states(&report);
    found.retain(|f| !f.starts_with("sidecar-missing"));
    assert!(!found.is_empty() && found.iter().all(|f| f.contains(" moved ")), "{found:?}");
    assert!(repaired(&report).is_empty());
}

#[test]
fn keys_that_no_version_serves_any_more_are_a_finding() {
    let tree = Tree::new();
    let old = format!("{FLAT}/{TABLE}").replace("0.24.0", "0.22.0");
    tree.file(&old, gemm(&[(1, 0.5), (2, 0.6)]).replace("0.24.0", "0.22.0"));
    tree.gemm(TABLE, gemm(&[(1, 0.5), (2, 0.6), (3, 0.7)]));
    tree.commit();
    // The earlier version still has keys 1 and 2.
    tree.gemm(TABLE, gemm(&[(1, 0.5)]));
    // By itself the rule reads the earlier version; with others it sees what they have read.
    let alone = || tree.sanity(&["--base-ref", "main", "--only", "no-longer-served"]).json();
    for report in [report(&tree), alone()] {
        assert_eq!(states(&report), ["no-longer-served new 1"]);
        assert_eq!(report["findings"][0]["evidence"]["whole_slices"], 0);
    }
    tree.gemm(TABLE, gemm(&[(1, 0.5), (3, 0.7)]));
    for report in [report(&tree), alone()] {
        assert_eq!(states(&report), Vec::<String>::new());
    }
}

#[test]
fn a_removed_measurement_column_is_a_finding() {
    let tree = Tree::new();
    tree.gemm(TABLE, with_column(&gemm(&[(1, 0.5), (2, 0.6)]), "power", "500"));
    tree.commit();
    tree.gemm(TABLE, gemm(&[(1, 0.5), (2, 0.6)]));
    let report = report(&tree);
    let found = &report["findings"][0];
    assert_eq!(found["rule"], "no-longer-served");
    assert_eq!(found["evidence"]["unmeasured"]["power"], 2);
}

/// A table whose base is a git-LFS pointer without its object.
fn without_base() -> Tree {
    let tree = Tree::new();
    tree.gemm(TABLE, POINTER);
    tree.commit();
    tree.gemm(TABLE, gemm(&[(1, 0.5), (2, -0.6)]));
    tree
}

#[test]
fn a_table_that_was_not_compared_never_passes() {
    let tree = without_base();
    let run = tree.sanity(&["--base-ref", "main"]);
    // Nothing says that the base has it, too.
    assert_eq!(run.code(), 1, "{}", run.out());
    assert_eq!(run.json()["diff"][0]["status"], "modified");
    assert_eq!(states(&run.json()), ["latency-not-positive new 1"]);
    tree.gemm(TABLE, gemm(&[(1, 0.5), (2, 0.6)]));
    assert_eq!(tree.sanity(&["--base-ref", "main"]).code(), 3);
    let human = super::human(&tree);
    let line = "Not compared: 1 table (before). These are git-LFS pointers without their objects; run git lfs fetch --all";
    assert!(human.out().contains(line), "{}", human.out());
    let passed = tree.sanity(&["--base-ref", "main", "--inconclusive", "pass"]);
    assert_eq!(passed.code(), 0);
    // Neither side is here: one line, no finding for each pointer.
    let tree = Tree::new();
    tree.gemm(TABLE, POINTER);
    tree.commit();
    tree.gemm(TABLE, POINTER.replace("295f", "395f"));
    let run = tree.sanity(&["--base-ref", "main"]);
    assert_eq!((run.code(), states(&run.json())), (3, vec![]));
}

/// Says of the command of the comment's first block what it finds.
fn again(tree: &Tree, comment: &str) -> Run {
    let line = comment.lines().find(|l| l.starts_with("perfdb-gate ")).unwrap();
    let root = tree.path().display().to_string();
    let words: Vec<&str> =
        line.split(' ').skip(1).map(|word| if word == "." { &root } else { word }).collect();
    crate::common::run(&words)
}

#[test]
fn the_commands_of_a_comment_name_commits_and_reproduce_the_finding() {
    let (tree, mut rows) = with_debt();
    tree.git(&["checkout", "-qb", "feature"]);
    rows[11].1 = 0.0;
    tree.gemm(TABLE, gemm(&rows));
    tree.commit();
    let comment = tree.path().join("comment.md");
    let file = comment.display().to_string();
    tree.sanity(&["--base-ref", "main", "--head-ref", "feature", "--output-md-file", &file]);
    let comment = std::fs::read_to_string(comment).unwrap();
    let run = again(&tree, &comment);
    assert_eq!(run.code(), 1, "{}", run.out());
    assert!(run.out().contains("latency-not-positive"), "{}", run.out());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Of rows in another order nothing is new, and what is served is what it was.
    #[test]
    fn rows_in_another_order_are_a_re_encoding(seed in 0u64..1000, turn in 1usize..39) {
        let mut rows = sweep(seed);
        rows[5].1 = -1.0;
        let tree = Tree::new();
        tree.gemm(TABLE, gemm(&rows));
        tree.commit();
        rows.rotate_left(turn);
        tree.gemm(TABLE, gemm(&rows));
        let report = report(&tree);
        prop_assert_eq!(&report["change"]["class"], "re-encode");
        prop_assert_eq!(states(&report), ["latency-not-positive inherited 1"]);
    }

    /// A table that is replaced by one with the same values on another device changes no latency.
    #[test]
    fn a_replacement_with_equal_values_changes_no_latency(seed in 0u64..1000) {
        let rows = sweep(seed);
        let tree = Tree::new();
        tree.gemm(TABLE, gemm(&rows).replace("NVIDIA H200", "NVIDIA H100 80GB HBM3"));
        tree.commit();
        tree.gemm(TABLE, gemm(&rows));
        let report = report(&tree);
        prop_assert_eq!(&report["change"]["class"], "replacement");
        prop_assert_eq!(&report["change"]["served"]["median_ratio"], 1.0);
        prop_assert_eq!(states(&report), Vec::<String>::new());
        prop_assert_eq!(repaired(&report), ["device-mismatch 40"]);
    }
}
