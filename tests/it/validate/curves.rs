//! Curves against those of other tables: points, shapes and noise, on synthetic GEMMs.

use std::collections::BTreeSet;
use std::fmt::Write;

use perfdb_gate::base::random::Random;
use serde_json::Value;

use crate::common::{GEMM, Tree};

/// Where synthetic tables are: system, backend, version, its level, and the framework's name.
const PLACES: [(&str, &str, &str, f64, &str); 8] = [
    ("h200_sxm", "vllm", "0.24.0", 1.0, "VLLM"),
    ("h200_sxm", "vllm", "0.23.0", 1.05, "VLLM"),
    ("h200_sxm", "sglang", "0.5.14", 1.2, "SGLang"),
    ("h200_sxm", "trtllm", "1.3.0rc15", 0.9, "TRTLLM"),
    ("h100_sxm", "vllm", "0.24.0", 1.31, "VLLM"),
    ("h100_sxm", "vllm", "0.23.0", 1.36, "VLLM"),
    ("h100_sxm", "sglang", "0.5.14", 1.55, "SGLang"),
    ("h100_sxm", "trtllm", "1.3.0rc15", 1.2, "TRTLLM"),
];

/// A grid whose kernel steps at some sizes; `factor` is by the number of the place, m and n.
fn tree(places: usize, factor: impl Fn(usize, u64, u64) -> f64) -> Tree {
    grid(places, 6, factor)
}

/// The same with more or fewer sizes of n.
fn grid(places: usize, columns: u64, factor: impl Fn(usize, u64, u64) -> f64) -> Tree {
    let tree = Tree::new();
    let h100 = std::fs::read_to_string("systems/h100_sxm.yaml").expect("a shipped system");
    tree.file("systems/h100_sxm.yaml", h100.replace("../data/", "data/"));
    for (number, (system, backend, version, level, framework)) in
        PLACES.iter().enumerate().take(places)
    {
        let device = if *system == "h200_sxm" { "NVIDIA H200" } else { "NVIDIA H100 80GB HBM3" };
        let mut text = GEMM.to_owned();
        for m in (1..=16).map(|i| 256 * i) {
            for n in (1..=columns).map(|i| 1024 * i) {
                let step = if (m / 256) % 5 == 0 { 1.4 } else { 1.0 };
                // No two tables have the same figures.
                let own =
                    1.0 + 1e-4 * ((m / 256 * 7 + n / 1024 * 3 + number as u64 * 5) % 11) as f64;
                let time =
                    (0.02 + (m * n) as f64 / 1e8) * step * level * own * factor(number, m, n);
                let _ = writeln!(
                    text,
                    "{framework},{version},{device},gemm,cutlass,bfloat16,{m},{n},4096,{time:.9}"
                );
            }
        }
        tree.file(&format!("systems/data/{system}/{backend}/{version}/gemm_perf.txt"), text);
    }
    tree
}

/// Findings of a rule: severity, path, message.
fn found(tree: &Tree, rule: &str) -> Vec<(String, String, String)> {
    let json = tree.validate(&["--format", "json", "--only", rule]).json();
    let text = |f: &Value, name: &str| f[name].as_str().unwrap_or_default().to_owned();
    let findings = json["findings"].as_array().expect("a list").iter();
    findings.map(|f| (text(f, "severity"), text(f, "path"), text(f, "message"))).collect()
}

#[test]
fn a_point_twice_as_slow_as_in_other_tables_is_a_spike() {
    let slow = |factor: f64| {
        move |place, m, n| {
            if (place, m, n) == (0, 2048, 3072) { factor } else { 1.0 }
        }
    };
    let one = found(&tree(4, slow(2.2)), "latency-spike");
    assert_eq!(one.len(), 1, "{one:?}");
    let (severity, path, message) = &one[0];
    assert_eq!(severity, "warning");
    assert!(path.contains("vllm/0.24.0"), "{path}");
    insta::assert_snapshot!(message, @"1 point is slower than its neighbours along columns m, n, by up to 2.2×; the same points are smooth in other tables");
    // Less than twice is worth a second look, no warning.
    let mild = found(&tree(4, slow(1.8)), "latency-spike");
    assert_eq!(mild.len(), 1, "{mild:?}");
    assert_eq!(mild[0].0, "info");
    assert_eq!(found(&tree(4, slow(1.0)), "latency-spike"), []);
    // One group of references may be off itself.
    assert_eq!(found(&tree(2, slow(2.2)), "latency-spike"), []);
    let fast = found(&tree(4, slow(0.4)), "latency-drop");
    assert_eq!(fast.len(), 1, "{fast:?}");
}

#[test]
fn a_step_that_other_tables_have_is_not_a_spike() {
    let step = |_, m, n| if (m, n) == (2048, 3072) { 2.2 } else { 1.0 };
    assert_eq!(found(&tree(4, step), "latency-spike"), []);
}

#[test]
fn a_series_that_is_slow_at_every_point_is_found() {
    let slow = |place, _, n| if (place, n) == (0, 3072) { 3.0 } else { 1.0 };
    let shape = found(&tree(4, slow), "latency-spike");
    assert_eq!(shape.len(), 1, "{shape:?}");
    insta::assert_snapshot!(shape[0].2, @"2 points are slower than their neighbours along columns m, n, by up to 3.0×; the same points are smooth in other tables; 1 series is slower than the rest of the slice all along column m, by up to 3.0× compared with other tables");
}

/// Noise over all of the first place: a number up to `share` that depends on the place in the grid alone.
fn noise(share: f64) -> impl Fn(usize, u64, u64) -> f64 {
    move |place, m, n| if place == 0 { 1.0 + share * drawn(0, m, n) } else { 1.0 }
}

/// A number from -1 to 1 that depends on the place and on the place in the grid.
fn drawn(place: u64, m: u64, n: u64) -> f64 {
    let (row, column): (u64, u64) = (m / 256, n / 1024);
    let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ column.wrapping_mul(0xbf58_476d_1ce4_e5b9)
        ^ place.wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 40) as f64 / f64::from(1 << 23) - 1.0
}

#[test]
fn noise_in_a_whole_table_is_found() {
    let noisy = found(&tree(4, noise(0.3)), "noisy-slice");
    assert_eq!(noisy.len(), 1, "{noisy:?}");
    assert!(
        noisy[0]
            .2
            .starts_with("1 slice is noisy beside every other table: at gemm_dtype=bfloat16, half"),
        "{noisy:?}"
    );
    assert_eq!(found(&tree(4, noise(0.02)), "noisy-slice"), []);
}

#[test]
fn a_smooth_table_with_noisy_peers_has_no_finding() {
    // The first table is smooth. Noisy are: the other version of its backend on its system, the same backend on the
    // other system, and the other backends on its system. The last two tables are smooth.
    let relatives = |place: usize, m, n| {
        let is_noisy = (1..=5).contains(&place);
        if is_noisy { 1.0 + 0.3 * drawn(place as u64, m, n) } else { 1.0 }
    };
    let noisy = found(&tree(8, relatives), "noisy-slice");
    // A table that zigzags by itself has a finding on that, too.
    let paths: BTreeSet<&str> = noisy.iter().map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    assert!(!paths.iter().any(|path| path.contains("h200_sxm/vllm/0.24.0")), "{paths:?}");
}

#[test]
fn noise_findings_do_not_depend_on_row_order_or_tiny_differences() {
    // More stretches than are looked at, so that some are chosen.
    let at = |share: f64| grid(4, 60, move |place, m, n| noise(0.3)(place, m, n) * share);
    let path = "systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt";
    let shuffled = at(1.0);
    let text = std::fs::read_to_string(shuffled.path().join(path)).expect("a table");
    let mut rows: Vec<&str> = text.lines().skip(1).collect();
    let mut random = Random::new(3);
    for last in (1..rows.len()).rev() {
        rows.swap(last, random.below(last + 1));
    }
    shuffled.file(path, format!("{GEMM}{}\n", rows.join("\n")));
    let noisy = found(&at(1.0), "noisy-slice");
    assert_eq!(noisy.len(), 1, "{noisy:?}");
    assert_eq!(found(&shuffled, "noisy-slice"), noisy);
    assert_eq!(found(&at(1.0001), "noisy-slice"), noisy);
}

#[test]
fn a_table_without_peers_is_compared_with_its_base() {
    // Measured again: no figure is the same.
    let again = |share: f64| {
        let noise = noise(share);
        move |place, m, n| noise(place, m, n) * (1.0 + 1e-3 * (m / 256 % 3) as f64)
    };
    let changed = |before: f64, after: f64| {
        let repository = tree(1, noise(before));
        repository.commit();
        let path = "systems/data/h200_sxm/vllm/0.24.0/gemm_perf.txt";
        let text = std::fs::read_to_string(tree(1, again(after)).path().join(path));
        repository.file(path, text.expect("a table"));
        let run = repository.sanity(&["--base-ref", "main", "--only", "noisy-slice"]);
        let findings = run.json()["findings"].clone();
        let messages = findings.as_array().expect("a list").iter().map(|f| f["message"].clone());
        messages.collect::<Vec<_>>()
    };
    let noisier = changed(0.0, 0.3);
    assert_eq!(noisier.len(), 1, "{noisier:?}");
    insta::assert_snapshot!(noisier[0].as_str().expect("a text"), @"1 slice is noisier than before: at gemm_dtype=bfloat16, half of the points are at least 12.9 % off the line between their neighbours, in the ratio to the base");
    assert!(changed(0.3, 0.0).is_empty(), "noise that a pull request takes away");
    assert!(changed(0.0, 0.02).is_empty(), "as reruns differ");
}
