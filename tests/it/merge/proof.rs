//! What a merge changes, by what `sanity` says of it.

use std::collections::BTreeMap;

use super::{merge, rows, site};
use crate::common::gemm;
use proptest::prelude::*;

/// Rows of a table and of a run: `m` with a latency each, whole hundredths of a millisecond.
fn measured(most: usize) -> impl Strategy<Value = BTreeMap<u64, f64>> {
    prop::collection::btree_map(1..40u64, (50..200u32).prop_map(|n| f64::from(n) / 100.0), 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    /// A merge of the last measurements is a change of values on the keys of the run alone.
    #[test]
    fn sanity_sees_values_on_the_merged_keys_alone(table in measured(30), run in measured(30)) {
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
