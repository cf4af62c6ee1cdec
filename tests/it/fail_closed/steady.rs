//! Tables that somebody writes while they are judged.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Runs the binary while a table changes again and again, from before its start until after its end.
fn meanwhile(tree: &Tree, judge: impl FnOnce() -> Run) -> Run {
    let path = tree.path().join("systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0.0;
            // Where no listing meets it.
            let next = tree.path().join(".git/next");
            while !stop.load(Ordering::Relaxed) {
                round += 0.001;
                std::fs::write(&next, gemm(&[(1, 0.5 + round), (2, 0.6 + round)])).unwrap();
                std::fs::rename(&next, &path).unwrap();
            }
        });
        let run = judge();
        stop.store(true, Ordering::Relaxed);
        run
    })
}

#[test]
fn a_table_that_changes_during_the_run_is_an_error() {
    let tree = Tree::new();
    tree.gemm("gemm_perf.txt", good_table());
    tree.commit();
    // Enough to do between the first look at the table and the end.
    for version in 0..60 {
        let rows: Vec<(u64, f64)> =
            (1..500).map(|m| (m, 0.1 + (m + version) as f64 * 0.01)).collect();
        tree.file(&format!("systems/data/h200_sxm/vllm/0.1.{version}/gemm_perf.txt"), gemm(&rows));
    }
    let report = tree.path().join("report.json").display().to_string();
    let output = ["--output", report.as_str()];
    let run = meanwhile(&tree, || validate(&tree, &output));
    assert_refused(&run, "gemm_perf.txt changed during the check");
    let run = meanwhile(&tree, || tree.sanity(&[&["--base-ref", "HEAD"], &output[..]].concat()));
    assert_refused(&run, "gemm_perf.txt changed during the check");
    assert!(!std::path::Path::new(&report).exists(), "no verdict on what never was");
    // A commit does not change.
    let run = meanwhile(&tree, || validate(&tree, &["--ref", "HEAD"]));
    assert_eq!(run.code(), 0, "{}", run.err());
}
