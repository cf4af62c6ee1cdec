//! What a sample can tell before it is measured: which bias it finds, how often it blames honest data.

use super::spread;
use super::stats::{at_least, at_most, median_error, normal_within};
use crate::noise::Band;
use crate::spec::{Margins, Spread};

/// The power of a sample, by the spread of reruns in `rules/noise.yaml`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// The least bias, as a log ratio, that fails 9 times of 10.
    pub detects: Option<f64>,
    /// How often honest data fails.
    pub false_alarm: f64,
}

/// How often a bias that is called detected is found.
const FOUND: f64 = 0.9;

/// The share of honest reruns whose log ratio is within `limit`, either way: linear between the
/// percentiles of the band.
pub fn within(band: &Band, limit: f64) -> f64 {
    let known = [(0.0, 0.0), (band.p50.ln(), 0.5), (band.p95.ln(), 0.95), (band.p99.ln(), 0.99)];
    let next = known.iter().position(|(x, _)| limit < *x).unwrap_or(known.len() - 1).max(1);
    let ((x0, y0), (x1, y1)) = (known[next - 1], known[next]);
    if x1 <= x0 {
        return y1;
    }
    // Beyond the last percentile as it rose before it.
    (y0 + (limit - x0) / (x1 - x0) * (y1 - y0)).clamp(0.0, 1.0)
}

/// A band that is nowhere narrower than what points on another card differ by.
fn widened(band: &Band, by: &Spread) -> Band {
    let (p50, p95, p99) = (band.p50.max(by.p50), band.p95.max(by.p95), band.p99.max(by.p99));
    Band { p50, p95, p99, ..band.clone() }
}

/// The power of a sample with these bands, a point each.
pub fn power(bands: &[&Band], limits: &Margins) -> Power {
    let count = bands.len();
    if count < limits.least_points {
        return Power { detects: None, false_alarm: 0.0 };
    }
    let spread = spread(limits, median_error(middle_half(bands, limits), count));
    let beyond: Vec<f64> =
        bands.iter().map(|b| 1.0 - within(&widened(b, &limits.elsewhere), b.p99.ln())).collect();
    let most =
        (0..=count).find(|more| at_least(more + 1, count, limits.tail_share) <= limits.tail_level);
    let tail = most.map_or(0.0, |count| 1.0 - at_most(count, &beyond));
    // On one side of what is allowed, a table's own bias is missed so seldom.
    let sides = normal_within(1.0 - limits.level) + normal_within(2.0 * FOUND - 1.0);
    Power { detects: Some(sides * spread), false_alarm: (limits.level + tail).min(1.0) }
}

/// The width of the middle half of points with these bands: half of them are within half of it. Of no
/// points it is 0.
pub fn middle_half(bands: &[&Band], limits: &Margins) -> f64 {
    let bands: Vec<Band> = bands.iter().map(|b| widened(b, &limits.elsewhere)).collect();
    let share = |limit: f64| bands.iter().map(|b| within(b, limit)).sum::<f64>();
    let half = bands.len() as f64 / 2.0;
    let mut steps = (0..7000).map(|step| f64::from(step) / 1e4);
    2.0 * steps.find(|limit| share(*limit) >= half).unwrap_or(0.7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band() -> Band {
        Band { below_ms: None, pairs: 1000, tables: 9, p50: 1.02, p95: 1.06, p99: 1.12 }
    }

    fn limits() -> Margins {
        Margins {
            bias: 0.02,
            level: 0.03,
            elsewhere: Spread::default(),
            excludes: 0.05,
            confidence: 0.9,
            tail_share: 0.1,
            tail_level: 0.01,
            least_points: 6,
        }
    }

    #[test]
    fn shares_follow_the_percentiles() {
        let band = band();
        for (limit, share) in [(1.02f64, 0.5), (1.06, 0.95), (1.12, 0.99), (1.0, 0.0)] {
            assert!((within(&band, limit.ln()) - share).abs() < 1e-9, "{limit}");
        }
        assert_eq!(within(&band, 5.0), 1.0);
    }

    #[test]
    fn more_points_find_a_smaller_bias() {
        let band = band();
        let of = |n: usize| power(&vec![&band; n], &limits());
        let (few, many) = (of(10), of(100));
        assert!(few.detects.unwrap() > many.detects.unwrap(), "{few:?} {many:?}");
        // By hand, of 100: half are within ln 1.02, so the median's error is 0.926 · 2 · 0.0198 / 10; beside
        // 0.0102 of collections that is 0.01085, of which 2.1701 + 1.2816 are found.
        assert!((many.detects.unwrap() - 0.03745).abs() < 1e-4, "{many:?}");
        assert!((many.false_alarm - 0.03).abs() < 1e-3 && few.false_alarm < 0.05, "{few:?}");
        assert_eq!(of(3).detects, None);
    }
}
