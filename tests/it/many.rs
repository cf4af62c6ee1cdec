//! Databases with thousands of places: what a run takes grows with their number, not with its square.

use std::time::{Duration, Instant};

use crate::common::{Tree, gemm};

/// Times a run over synthetic tables in so many places, which `path` names by number.
fn taken(places: usize, path: &dyn Fn(usize) -> String) -> Duration {
    let tree = Tree::new();
    let rows: Vec<(u64, f64)> = (0..24).map(|i| (1 << (i % 12), 0.5 + 0.01 * i as f64)).collect();
    let rows = gemm(&rows);
    for place in 0..places {
        tree.file(&format!("systems/data/{}/gemm_perf.txt", path(place)), &rows);
    }
    let start = Instant::now();
    let run = tree.validate(&["--format", "concise"]);
    assert_eq!(run.code(), 1, "sidecars are missing");
    start.elapsed()
}

/// Eight times the places take eight times as long, sixty-four times where each is compared with every other. The
/// machine may be busy: one of a few tries suffices.
#[test]
fn eight_times_the_places_do_not_take_the_square() {
    let kinds: [(&str, &dyn Fn(usize) -> String); 2] = [
        ("systems without YAML", &|i| format!("sys_{i}/gemm/vllm/0.24.0")),
        ("backends", &|i| format!("h200_sxm/gemm/backend_{i}/0.24.0")),
    ];
    for (kind, path) in kinds {
        let ratio = || taken(2400, path).as_secs_f64() / taken(300, path).as_secs_f64();
        let mut ratios = Vec::new();
        let is_square = |ratios: &mut Vec<f64>| {
            ratios.push(ratio());
            ratios.last().is_some_and(|ratio| *ratio >= 20.0)
        };
        assert!((0..3).any(|_| !is_square(&mut ratios)), "{kind}: {ratios:?}");
    }
}
