//! The statistical power of a sample before it is measured: the bias that it detects, and the rate of false alarms.
//!
//! Both are estimated from simulated samples, which are judged like measured ones.

use super::middle::Middle;
use crate::base::random::Random;
use crate::base::stats::at_least;
use crate::gpu::recipe::{Margins, RatioPercentiles};
use crate::specs::NoiseBand;

/// The statistical power of a sample: how large an error of the table it detects, and how often it blames a correct
/// table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// The smallest error of a table, as a log ratio, that makes 9 of 10 samples of the table fail; `None` if there are
    /// too few points.
    pub detects: Option<f64>,
    /// The share of samples of a correct table that fail.
    pub false_alarm: f64,
}

/// The share of simulated samples that must fail for a bias to count as detected.
const FOUND: f64 = 0.9;

/// The maximum number of samples to simulate. Fewer are simulated if all samples together would have more than
/// [`DRAWN`] points.
const DRAWS: usize = 2000;
const DRAWN: usize = 1_000_000;

/// Returns four points (x, y) of the distribution of repeated measurements: in the share y of them, the absolute log
/// ratio is at most x.
fn known(band: &NoiseBand) -> [(f64, f64); 4] {
    [(0.0, 0.0), (band.p50.ln(), 0.5), (band.p95.ln(), 0.95), (band.p99.ln(), 0.99)]
}

/// Interpolates linearly between ascending points `(x, y)`. Beyond the last point, extends the last segment.
fn interpolate(points: [(f64, f64); 4], x: f64) -> f64 {
    let next = points.iter().position(|point| x < point.0).unwrap_or(points.len() - 1).max(1);
    let ((x0, y0), (x1, y1)) = (points[next - 1], points[next]);
    if x1 <= x0 { y1 } else { y0 + (x - x0) / (x1 - x0) * (y1 - y0) }
}

/// Returns the share of repeated measurements whose absolute log ratio is at most `limit`.
pub(crate) fn within(band: &NoiseBand, limit: f64) -> f64 {
    interpolate(known(band), limit).clamp(0.0, 1.0)
}

/// Returns the absolute log ratio that a given share of repeated measurements does not exceed. This is the inverse of
/// [`within`].
fn quantile_of_band(band: &NoiseBand, share: f64) -> f64 {
    interpolate(known(band).map(|(ratio, share)| (share, ratio)), share)
}

/// Returns the noise band, widened so that each percentile is at least that of `by`.
fn widened(band: &NoiseBand, by: &RatioPercentiles) -> NoiseBand {
    let (p50, p95, p99) = (band.p50.max(by.p50), band.p95.max(by.p95), band.p99.max(by.p99));
    NoiseBand { p50, p95, p99, ..band.clone() }
}

/// Simulates samples to find their statistical power. `bands` has the noise band of each point. `among` is the standard
/// deviation of a table's median log ratio over repeated measurements of the whole table.
pub(crate) fn power(bands: &[&NoiseBand], among: f64, limits: &Margins) -> Power {
    let count = bands.len();
    if count < limits.least_points {
        return Power { detects: None, false_alarm: 0.0 };
    }
    let half = expected_middle_half(bands, limits);
    let wide: Vec<NoiseBand> = bands.iter().map(|b| widened(b, &limits.elsewhere)).collect();
    let many = |more: &usize| at_least(more + 1, count, limits.tail_share) <= limits.tail_level;
    let most = (0..count).find(many).unwrap_or(count);
    // The seed is fixed, so that the power of a sample is reproducible.
    let mut random = Random::new(0);
    let draws = (DRAWN / count).clamp(100, DRAWS);
    let mut blamed = 0;
    let mut needed = Vec::new();
    for _ in 0..draws {
        let own = among * f64::from(random.normal());
        let logs: Vec<f64> = wide.iter().map(|b| own + drawn(b, &mut random)).collect();
        let middle = Middle::of(&logs, half, among, limits);
        let beyond = logs.iter().zip(bands).filter(|(x, b)| x.abs() > b.p99.ln()).count();
        blamed += usize::from(middle.bias.abs() > middle.allowed || beyond > most);
        // The sample fails if every point has a bias of at least this size.
        needed.push(middle.allowed - middle.bias);
    }
    needed.sort_by(f64::total_cmp);
    Power {
        detects: Some(needed[(FOUND * draws as f64) as usize]),
        false_alarm: blamed as f64 / draws as f64,
    }
}

/// Returns a random log ratio of a repeated measurement. Positive and negative values are equally probable.
fn drawn(band: &NoiseBand, random: &mut Random) -> f64 {
    let beside = quantile_of_band(band, random.unit());
    if random.below(2) == 0 { beside } else { -beside }
}

/// Returns the interquartile range of the points' log ratios that is expected from the points' noise bands; 0 without
/// points.
pub(crate) fn expected_middle_half(bands: &[&NoiseBand], limits: &Margins) -> f64 {
    let bands: Vec<NoiseBand> = bands.iter().map(|b| widened(b, &limits.elsewhere)).collect();
    let share = |limit: f64| bands.iter().map(|b| within(b, limit)).sum::<f64>();
    let half = bands.len() as f64 / 2.0;
    let (mut low, mut high) = (0.0, bands.iter().map(|b| b.p99.ln()).fold(0.0, f64::max));
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if share(middle) < half { low = middle } else { high = middle }
    }
    low + high
}

#[cfg(test)]
mod tests {
    use super::super::middle::collections;
    use super::*;

    fn band() -> NoiseBand {
        NoiseBand { below_ms: None, pairs: 1000, tables: 9, p50: 1.02, p95: 1.06, p99: 1.12 }
    }

    fn limits() -> Margins {
        Margins {
            bias: 0.02,
            card: 0.015,
            card_most: 0.03,
            level: 0.03,
            elsewhere: RatioPercentiles::default(),
            elsewhere_in: std::collections::BTreeMap::new(),
            excludes: 0.05,
            confidence: 0.9,
            tail_share: 0.1,
            tail_level: 0.01,
            least_points: 6,
            unmeasured: 0.1,
            constant: [0.6, 0.8],
        }
    }

    #[test]
    fn the_share_within_a_limit_follows_from_the_percentiles() {
        let band = band();
        for (limit, share) in [(1.02f64, 0.5), (1.06, 0.95), (1.12, 0.99), (1.0, 0.0)] {
            assert!((within(&band, limit.ln()) - share).abs() < 1e-9, "{limit}");
        }
        assert_eq!(within(&band, 5.0), 1.0);
    }

    #[test]
    fn the_limit_of_a_share_is_the_inverse_of_the_share_within_a_limit() {
        let band = band();
        for share in [0.01, 0.3, 0.5, 0.8, 0.95, 0.97, 0.99, 0.999] {
            assert!(
                (within(&band, quantile_of_band(&band, share)) - share).abs() < 1e-12,
                "{share}"
            );
        }
        assert!((expected_middle_half(&[&band; 7], &limits()) - 2.0 * 1.02f64.ln()).abs() < 1e-9);
        assert_eq!(expected_middle_half(&[], &limits()), 0.0);
    }

    /// Returns the share of synthetic samples with this bias on every point that fail.
    fn failed(count: usize, bias: f64) -> f64 {
        let (band, limits) = (band(), limits());
        let mut random = Random::new(99);
        let fails = (0..1000).filter(|_| {
            let own = bias + collections(&limits) * f64::from(random.normal());
            let point = |_| {
                let mut point =
                    crate::gpu::judge::tests::measured((own + drawn(&band, &mut random)).exp());
                point.band = Some(band.clone());
                point
            };
            let mut points: Vec<_> = (0..count).map(point).collect();
            crate::gpu::judge::judge(&mut points, &[], &[], None, &limits).outcome
                == crate::gpu::judge::Outcome::Fail
        });
        fails.count() as f64 / 1000.0
    }

    #[test]
    fn statistical_power_is_the_simulated_rate_of_failed_verdicts() {
        for count in [10, 40] {
            let power = power(&vec![&band(); count], collections(&limits()), &limits());
            let found = failed(count, power.detects.unwrap());
            assert!((0.87..0.93).contains(&found), "{count}: {found}");
            let blamed = failed(count, 0.0);
            assert!((blamed - power.false_alarm).abs() < 0.02, "{blamed} {power:?}");
        }
    }

    /// The noise band of NCCL is narrow. Under the differences between cards of other tables, too many points would be
    /// outside of it.
    #[test]
    fn the_spread_of_a_table_is_that_of_its_own_points() {
        let nccl = NoiseBand { p50: 1.002, p95: 1.02, p99: 1.029, ..band() };
        let recipes = crate::gpu::recipe::Recipes::read(&crate::specs::Library::embedded());
        let all = recipes.unwrap().judge;
        let of = |limits: &Margins| power(&[&nccl; 40], collections(limits), limits);
        let (gemm, own) = (of(&all), of(&all.of("nccl_perf")));
        assert!(gemm.false_alarm > 0.5 && own.false_alarm < 0.08, "{gemm:?} {own:?}");
        assert!(own.detects.unwrap() < 0.05, "{own:?}");
        assert_eq!(all.of("gemm_perf").elsewhere.p99, all.elsewhere.p99);
    }

    #[test]
    fn more_points_find_a_smaller_bias() {
        let band = band();
        let of = |n: usize| power(&vec![&band; n], collections(&limits()), &limits());
        let (few, many) = (of(10), of(100));
        assert!(few.detects.unwrap() > many.detects.unwrap(), "{few:?} {many:?}");
        assert!(many.detects.unwrap() > 0.02 && many.detects.unwrap() < 0.05, "{many:?}");
        assert!(few.false_alarm < 0.05 && many.false_alarm < 0.04, "{few:?} {many:?}");
        assert_eq!(of(3).detects, None);
    }
}
