//! Copies with noise on them: a table that is another times a factor, give or take a percent.
//!
//! Two honest runs agree to a percent in most points and differ by much in a few, where a clock, a cache or
//! a chosen kernel differs. A copy with noise has no such points.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::{nearest_rank, upper_median};
use crate::checks::compare::sketch::Sketch;

/// How near two tables must be, up to a factor.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoisyCopies {
    /// Points that both have, at least.
    points: usize,
    /// How far nine tenths of the ratios are from their median at most, by logarithm.
    spread: f64,
}

/// Two tables that are alike up to a factor and noise.
#[derive(Debug, Clone, Copy)]
pub struct NoisyLikeness {
    /// Points that both have.
    pub common: usize,
    /// The factor between them.
    pub factor: f64,
    /// How far nine tenths of the ratios are from it, by logarithm.
    pub spread: f64,
}

/// Points that are compared first.
const SAMPLE: usize = 64;

/// How many times the spread most of those may have.
const LOOSE: f64 = 2.0;

impl NoisyCopies {
    /// How alike two tables are; none where they are not.
    pub fn likeness(&self, a: &Sketch, b: &Sketch) -> Option<NoisyLikeness> {
        let positive = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
        let common = || a.common(b).map(|(a, b)| (a.latency, b.latency)).filter(positive);
        // Points are in the order of a hash, so the first ones are a sample, and nearly every pair of
        // tables ends here.
        let mut ratios = [0.0; SAMPLE];
        let mut taken = 0;
        for ((a, b), ratio) in common().zip(&mut ratios) {
            *ratio = b / a;
            taken += 1;
        }
        if taken < SAMPLE {
            return None;
        }
        let factor = upper_median(&mut ratios);
        let far = ratios.iter().filter(|r| (*r / factor - 1.0).abs() > LOOSE * self.spread).count();
        if far > SAMPLE / 5 {
            return None;
        }
        let mut logs: Vec<f64> = common().map(|(a, b)| (b / a).ln()).collect();
        if logs.len() < self.points {
            return None;
        }
        let middle = upper_median(&mut logs);
        let mut away: Vec<f64> = logs.iter().map(|log| (log - middle).abs()).collect();
        away.sort_by(f64::total_cmp);
        let spread = nearest_rank(&away, 0.9).filter(|spread| *spread < self.spread)?;
        Some(NoisyLikeness { common: logs.len(), factor: middle.exp(), spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;
    use crate::checks::compare::sketch::SketchPoint;

    /// Synthetic: latencies of a table, some of them far off.
    fn sketch(seed: u64, noise: f64, factor: f64, far: usize) -> Sketch {
        let mut random = Random::new(seed);
        let mut latency = |i: usize| {
            let noise = 1.0 + noise * f64::from(random.normal());
            let far = if i < far { 1.0 + i as f64 / 100.0 } else { 1.0 };
            factor * (0.1 + i as f64 * 0.037) * noise * far
        };
        let point = |i: usize| SketchPoint::new(i as u64, latency(i), 0);
        let points: Vec<SketchPoint> = (0..400).map(point).collect();
        Sketch { rows: 400, keys: 400, points, end: u64::MAX, ..Sketch::default() }
    }

    #[test]
    fn a_factor_and_a_percent_of_noise_are_a_copy_and_a_tail_is_none() {
        let copies = NoisyCopies { points: 200, spread: 0.02 };
        let table = sketch(1, 0.0, 1.0, 0);
        let found = copies.likeness(&table, &sketch(2, 0.01, 0.8, 0)).unwrap();
        assert!((found.factor / 0.8 - 1.0).abs() < 0.01 && found.spread < 0.018, "{found:?}");
        assert!(copies.likeness(&table, &sketch(2, 0.02, 0.8, 0)).is_none(), "more noise");
        assert!(copies.likeness(&table, &sketch(2, 0.01, 1.0, 60)).is_none(), "a tail");
        let many = NoisyCopies { points: 500, spread: 0.02 };
        assert!(many.likeness(&table, &sketch(2, 0.01, 0.8, 0)).is_none(), "too few points");
    }
}
