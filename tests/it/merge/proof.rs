//! What a merge changes, by what `sanity` says of it.

use std::collections::BTreeMap;

use super::{DIR, ledger, merge, rows, site};
use crate::common::{self, Tree, gemm, remeasured};
use proptest::prelude::*;

/// Rows of a table and of a run: `m` with a latency each, whole hundredths of a millisecond.
fn measured(most: usize) -> impl Strategy<Value = BTreeMap<u64, f64>> {
    prop::collection::btree_map(1..40u64, (50..200u32).prop_map(|n| f64::from(n) / 100.0), 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    /// A merge of the last measurements is a change of values on the keys of the run alone.
    #[test]
    fn sanity_finds_changed_values_only_on_merged_keys(table in measured(30), run in measured(30)) {
        let own: Vec<(u64, f64)> = table.iter().map(|(m, ms)| (*m, *ms)).collect();
        // What the table does not have is left out of the run: this is about values.
        let again: Vec<(u64, f64)> =
            run.iter().filter(|(m, _)| table.contains_key(m)).map(|(m, ms)| (*m, *ms)).collect();
        let changed: BTreeMap<u64, f64> =
            again.iter().filter(|(m, ms)| table[m] != *ms).copied().collect();
        prop_assume!(!again.is_empty());
        let (tree, path) = site(&own);
        tree.commit();
        tree.file("run/gemm_perf.txt", gemm(&again));
        let done = merge(&tree, &["run"], &["--write"]);
        prop_assert_eq!(done.code(), 0, "{}{}", done.out(), done.err());
        let wanted: Vec<(u64, f64)> =
            own.iter().map(|(m, ms)| (*m, run.get(m).copied().filter(|_| changed.contains_key(m)).unwrap_or(*ms))).collect();
        prop_assert_eq!(rows(&path), wanted);
        let json = tree.sanity(&["--base-ref", "HEAD"]).json();
        if changed.is_empty() {
            prop_assert_eq!(json["diff"].as_array().unwrap().len(), 0);
            return Ok(());
        }
        let diff = &json["diff"][0];
        prop_assert_eq!(diff["class"].as_str(), Some("values"), "{}", diff);
        prop_assert_eq!(diff["changed"].as_u64(), Some(changed.len() as u64));
        prop_assert_eq!((diff["added"].as_u64(), diff["removed"].as_u64()), (Some(0), Some(0)));
        prop_assert_eq!(diff["served"]["common"].as_u64(), Some(own.len() as u64));
        prop_assert_eq!((diff["served"]["lost"].as_u64(), diff["served"]["gained"].as_u64()), (Some(0), Some(0)));
    }
}

/// A table as a reviewer found it: borrowed from another device, and measured again on its own with five
/// keys that take many times as long, with more keys, and with repeats that the loader drops.
#[test]
fn a_repair_changes_only_the_served_latencies_of_the_listed_keys() {
    let tree = Tree::new();
    let far = [7, 19, 23, 41, 58];
    let honest = |m: u64| 0.05 + 0.01 * m as f64;
    let borrowed: Vec<(u64, f64)> = (1..=60).map(|m| (m, honest(m))).collect();
    let mut own: Vec<(u64, f64)> =
        (1..=70).map(|m| (m, honest(m) * if far.contains(&m) { 4.0 } else { 1.01 })).collect();
    // The loader serves the first row of a key.
    own.extend([(7, 9.0), (8, 9.0)]);
    tree.file(
        &format!("{DIR}/gemm_perf.txt"),
        gemm(&borrowed).replace("NVIDIA H200", "NVIDIA H100 80GB HBM3"),
    );
    let root = tree.path().display().to_string();
    assert_eq!(common::run(&["convert", "--root", &root, "--write"]).code(), 0);
    tree.commit();
    tree.file("run/gemm_perf.txt", gemm(&own));
    let table = tree.path().join(DIR).join("gemm_perf.parquet");
    let file = |name: &str| tree.path().join(name).display().to_string();
    let list = file("rerun.yaml");
    let named = remeasured(&format!("{DIR}/gemm_perf.parquet"), &far.map(|m| m as usize - 1));
    let report = tree.file("report.json", named).display().to_string();
    let planned = common::run(&["plan", "--root", &root, "--from", &report, "--output", &list]);
    assert!(planned.out().contains("5 points of 1 table"), "{}{}", planned.out(), planned.err());

    let refused = merge(&tree, &["run"], &["--only", &list, "--policy", "min"]);
    assert_eq!(refused.code(), 1, "the run has more keys than the list");
    // Of a key that the run repeats, its last row counts.
    let done = merge(&tree, &["run"], &["--only", &list, "--pick", "--policy", "last", "--write"]);
    assert_eq!(done.code(), 0, "{}", done.out());
    assert!(done.out().contains("5 keys replaced, 0 added, 0 others touched"), "{}", done.out());
    assert_eq!(ledger(&tree).len(), 1 + 5);
    let wanted = |m: u64| match m {
        7 => 9.0,
        m if far.contains(&m) => honest(m) * 4.0,
        m => honest(m),
    };
    assert_eq!(rows(&table), (1..=60).map(|m| (m, wanted(m))).collect::<Vec<_>>());
    let json = tree.sanity(&["--base-ref", "HEAD"]).json();
    let served = &json["diff"][0]["served"];
    assert_eq!(json["diff"][0]["class"], "replacement", "the device is another: {json}");
    assert_eq!((&served["common"], &served["lost"]), (&60.into(), &0.into()));
    assert_eq!((&served["slower_2x"], &served["faster_2x"]), (&5.into(), &0.into()));
}
