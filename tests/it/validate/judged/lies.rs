//! Tables that look measured and are not: drawn, copied, and power that no meter reads. Synthetic rows.

use perfdb_gate::base::random::Random;

use super::told;
use crate::common::{GEMM, Tree};

/// A GEMM sweep: latency by `m` and `n`, and power.
struct Sweep {
    rows: Vec<(u64, u64, f64, f64)>,
}

const SIZES: std::ops::RangeInclusive<u64> = 1..=12;

impl Sweep {
    /// Latencies with steps and noise, as kernels have them; power that rises with the size.
    fn measured(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut noise = |share: f64| 1.0 + share * f64::from(random.normal());
        let mut rows = Vec::new();
        for n in 1..=24_u64 {
            for m in SIZES {
                let waves = ((m * n) as f64 / 13.0).ceil();
                let power = 150.0 + 500.0 * (1.0 - (-((m * n) as f64) / 60.0).exp());
                rows.push((64 * m, 128 * n, 0.01 * waves * noise(0.08), power * noise(0.02)));
            }
        }
        Self { rows }
    }

    /// Every second point along `m` on the line between its neighbours, give or take.
    fn drawn(mut self, noise: f64) -> Self {
        let mut random = Random::new(9);
        for series in self.rows.chunks_mut(SIZES.count()) {
            for at in (1..series.len() - 1).step_by(2) {
                let (before, after) = (series[at - 1], series[at + 1]);
                let line = before.2
                    + (after.2 - before.2) * (series[at].0 - before.0) as f64
                        / (after.0 - before.0) as f64;
                series[at].2 = line * (1.0 + noise * f64::from(random.normal()));
            }
        }
        self
    }

    fn text(&self, version: &str) -> String {
        let row = |(m, n, latency, _): &(u64, u64, f64, f64)| {
            format!("VLLM,{version},NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},128,{latency}\n")
        };
        GEMM.to_owned() + &self.rows.iter().map(row).collect::<String>()
    }
}

fn path(version: &str) -> String {
    format!("systems/data/h200_sxm/vllm/{version}/gemm_perf.txt")
}

fn judged(sweep: &Sweep, rule: &str) -> Option<(String, String)> {
    let tree = Tree::new();
    tree.file(&path("0.24.0"), sweep.text("0.24.0"));
    told(&tree, rule)
}

#[test]
fn a_series_with_every_second_point_on_a_line_is_synthetic() {
    assert_eq!(judged(&Sweep::measured(1), "synthetic-rows"), None);
    let (severity, message) = judged(&Sweep::measured(1).drawn(0.0), "synthetic-rows").unwrap();
    assert_eq!(severity, "warning");
    insta::assert_snapshot!(message, @"120 points in 24 series are exactly on the line between their neighbours along column m");
}

#[test]
fn a_scaled_copy_is_found_and_a_rerun_is_not_a_copy() {
    let of = |other: &Sweep| {
        let tree = Tree::new();
        tree.file(&path("0.23.0"), Sweep::measured(1).text("0.23.0"));
        tree.file(&path("0.24.0"), other.text("0.24.0"));
        told(&tree, "copied-table")
    };
    let times = |factor: f64, noise: f64| {
        let mut copy = Sweep::measured(1);
        let mut random = Random::new(5);
        for row in &mut copy.rows {
            row.2 *= factor * (1.0 + noise * f64::from(random.normal()));
        }
        copy
    };
    assert_eq!(of(&Sweep::measured(2)), None);
    assert_eq!(of(&times(1.0, 0.01)), None, "as near as two runs");
    let (severity, message) = of(&times(0.8, 0.0)).unwrap();
    assert_eq!(severity, "error");
    insta::assert_snapshot!(message, @"all 288 points shared with systems/data/h200_sxm/vllm/0.23.0/gemm_perf.txt have the same measurements, each multiplied by 0.800000; which of the two is the copy is not known");
}

#[test]
fn implausible_power_readings_are_reported_with_their_pattern() {
    let of = |power: &mut dyn FnMut(f64) -> f64| {
        let sweep = Sweep::measured(1);
        let mut text = GEMM.replace("latency", "latency,power,power_limit");
        for (m, n, latency, watts) in sweep.rows {
            let watts = power(watts);
            text += &format!(
                "VLLM,0.24.0,NVIDIA H200,gemm,cutlass,bfloat16,{m},{n},128,{latency},{watts},700\n"
            );
        }
        let tree = Tree::new();
        tree.file(&path("0.24.0"), text);
        told(&tree, "power-implausible")
    };
    assert_eq!(of(&mut |watts| watts), None);
    let mut random = Random::new(4);
    let mut noise = Random::new(6);
    let said = [
        of(&mut |_| 410.0),
        of(&mut |_| 700.0),
        of(&mut |_| 410.0 * (1.0 + 0.02 * f64::from(noise.normal()))),
        of(&mut |watts| 80.0 + 0.1 * watts),
        of(&mut |_| 150.0 + 500.0 * random.unit()),
        of(&mut |watts| watts / 1000.0),
    ];
    let said: Vec<String> = said
        .into_iter()
        .map(|found| {
            found.map_or("nothing".into(), |(severity, message)| format!("{severity}: {message}"))
        })
        .collect();
    insta::assert_snapshot!(said.join("\n"), @"
    warning: 288 power readings repeat one value at different keys of their slice: they were not measured
    warning: 288 power readings are exactly the power limit at different keys: they were not measured
    warning: 288 power readings hardly change with the size: no kernel draws the same power at its smallest and its largest size
    warning: 288 power readings stay near idle at every size: the meter did not see the kernel
    warning: 288 power readings jump from point to point as random numbers do: neighbours differ as much as any two rows
    error: 288 power readings are a thousandth of what the GPU draws: they are in kilowatts, not in watts
    ");
}

#[test]
fn a_dtype_that_is_a_scaled_copy_of_another_dtype_is_reported() {
    let tree = |drawn: f64| {
        let row = |dtype: &str, m: u64, latency: f64| {
            format!("VLLM,0.24.0,NVIDIA H200,gemm,cutlass,{dtype},{m},128,128,{latency}\n")
        };
        let rows = (1..=40u64).map(|m| {
            // Latencies that follow no formula.
            let own = 0.05 + (m.wrapping_mul(2_654_435_761) % 97) as f64 / 1e4;
            let other = 0.9 * own + drawn * (m.wrapping_mul(40_503) % 89) as f64 / 1e5;
            row("bfloat16", m, own) + &row("fp8", m, other)
        });
        let tree = Tree::new();
        tree.gemm("gemm_perf.txt", GEMM.to_owned() + &rows.collect::<String>());
        told(&tree, "slice-implausible").map(|(_, message)| message)
    };
    insta::assert_snapshot!(tree(0.0).unwrap(), @"fp8 has 0.9000 times the latency of bfloat16 at 40 of 40 common keys examined");
    assert_eq!(tree(1.0), None);
}
