//! Finds a copy with noise on it: the noise is the same at all latencies and has no tail, as only drawn noise is.
//!
//! Two honest runs can be as close as a copy. But short latencies vary more than long ones, and a clock, a cache or
//! a chosen kernel sets some points apart.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::stats::{nearest_rank, upper_median};
use crate::checks::compare::sketch::Sketch;

/// The limits within which the ratios of two tables are a factor with drawn noise. Deviations are those of the
/// ratios' logarithms from their median.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoisyCopies {
    /// The minimum number of shared points.
    points: usize,
    /// The maximum deviation of nine tenths of the points.
    spread: f64,
    /// The maximum deviation of 99 in 100 points, over that of half of them. Drawn noise has 3.8 if it is normal
    /// and 2.0 if it is uniform.
    tail: f64,
    /// The maximum ratio between the deviations in any two quarters of the points by latency.
    evenness: f64,
}

/// The evidence that one of two tables is a copy of the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Likeness {
    /// The number of shared points.
    pub common: usize,
    /// The factor of the second table over the first: 1 for a plain copy.
    pub factor: f64,
    pub by: AlikeBy,
}

/// The way in which the points of a table are those of another, times a factor.
#[derive(Debug, Clone, Copy)]
pub(super) enum AlikeBy {
    /// This many points are equal up to the factor.
    Equal(usize),
    /// Nine tenths of the points deviate from the factor by at most this much, as a logarithm.
    Noise(f64),
}

/// The number of points that are compared first.
const SAMPLE: usize = 64;

/// The factor on the limit for the sample.
const LOOSE: f64 = 2.0;

impl NoisyCopies {
    /// Returns how two tables are alike; `None` if neither is a noisy copy of the other.
    pub(super) fn likeness(&self, a: &Sketch, b: &Sketch) -> Option<Likeness> {
        let positive = |(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0;
        let common = || a.common(b).map(|(a, b)| (a.latency, b.latency)).filter(positive);
        // Points are in the order of a hash, so the first ones are a sample, and nearly every pair of
        // tables ends here.
        let mut first: Vec<f64> = common().take(SAMPLE).map(|(a, b)| b / a).collect();
        if first.len() < SAMPLE {
            return None;
        }
        let factor = upper_median(&mut first);
        let far = first.iter().filter(|r| (*r / factor - 1.0).abs() > LOOSE * self.spread).count();
        if far > SAMPLE / 5 {
            return None;
        }
        let mut pairs: Vec<(f64, f64)> = common().map(|(a, b)| (a, (b / a).ln())).collect();
        if pairs.len() < self.points {
            return None;
        }
        let mut logs: Vec<f64> = pairs.iter().map(|(_, log)| *log).collect();
        let middle = upper_median(&mut logs);
        pairs.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1)));
        let away: Vec<f64> = pairs.iter().map(|(_, log)| (log - middle).abs()).collect();
        let [half, spread, most] = deviations(&away, [0.5, 0.9, 0.99])?;
        let quarters = away.chunks(away.len().div_ceil(4)).filter_map(|of| deviations(of, [0.7]));
        let quarters: Vec<f64> = quarters.map(|[deviation]| deviation).collect();
        let least = quarters.iter().copied().fold(f64::INFINITY, f64::min);
        let is_drawn = spread < self.spread
            && most <= self.tail * half
            && quarters.iter().all(|deviation| *deviation <= self.evenness * least);
        let common = away.len();
        is_drawn.then(|| Likeness { common, factor: middle.exp(), by: AlikeBy::Noise(spread) })
    }
}

/// Returns quantiles of deviations.
fn deviations<const N: usize>(away: &[f64], quantiles: [f64; N]) -> Option<[f64; N]> {
    let mut away = away.to_vec();
    away.sort_by(f64::total_cmp);
    let all: Option<Vec<f64>> = quantiles.iter().map(|q| nearest_rank(&away, *q)).collect();
    all?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;
    use crate::checks::compare::sketch::SketchPoint;

    #[test]
    fn noise_that_is_larger_at_short_latencies_is_not_drawn() {
        let copies = NoisyCopies { points: 200, spread: 0.03, tail: 4.8, evenness: 1.5 };
        let table = sketch(1, 0.0, 1.0, 0);
        let mut honest = sketch(2, 0.008, 0.8, 0);
        for (i, point) in honest.points.iter_mut().enumerate().take(100) {
            let ratio = point.latency / (0.8 * (0.1 + i as f64 * 0.037));
            point.latency *= ratio;
        }
        assert!(copies.likeness(&table, &honest).is_none());
    }

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
        let copies = NoisyCopies { points: 200, spread: 0.03, tail: 4.8, evenness: 1.5 };
        let table = sketch(1, 0.0, 1.0, 0);
        let found = copies.likeness(&table, &sketch(2, 0.01, 0.8, 0)).unwrap();
        let AlikeBy::Noise(spread) = found.by else { panic!("{found:?}") };
        assert!((found.factor / 0.8 - 1.0).abs() < 0.01 && spread < 0.018, "{found:?}");
        assert!(copies.likeness(&table, &sketch(2, 0.03, 0.8, 0)).is_none(), "more noise");
        assert!(copies.likeness(&table, &sketch(2, 0.01, 1.0, 60)).is_none(), "a tail");
        let many = NoisyCopies { points: 500, ..copies };
        assert!(many.likeness(&table, &sketch(2, 0.01, 0.8, 0)).is_none(), "too few points");
    }
}
