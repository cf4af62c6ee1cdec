//! What a sample can tell before it is measured: which bias it finds, how often it blames honest data.

use super::stats::{at_most, rank};
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

/// The share of honest reruns whose log ratio is at most `limit`; as many are slower as faster.
fn at_or_below(band: &Band, limit: f64) -> f64 {
    0.5 + limit.signum() * within(band, limit.abs()) / 2.0
}

/// A band that is nowhere narrower than what points on another card differ by.
fn widened(band: &Band, by: &Spread) -> Band {
    let (p50, p95, p99) = (band.p50.max(by.p50), band.p95.max(by.p95), band.p99.max(by.p99));
    Band { p50, p95, p99, ..band.clone() }
}

/// The power of a sample with these bands, a point each.
pub fn power(bands: &[&Band], limits: &Margins) -> Power {
    let bands: Vec<Band> = bands.iter().map(|b| widened(b, &limits.elsewhere)).collect();
    let Some(rank) = rank(bands.len(), limits.confidence) else {
        return Power { detects: None, false_alarm: 0.0 };
    };
    // The interval is beyond the limit when fewer than `rank` points are not.
    let slower = |bias: f64| {
        let below: Vec<f64> = bands.iter().map(|b| at_or_below(b, limits.bias - bias)).collect();
        at_most(rank - 1, &below)
    };
    let beyond: Vec<f64> = bands.iter().map(|b| 1.0 - within(b, b.p99.ln())).collect();
    let most = (0..=bands.len()).find(|count| {
        super::stats::at_least(count + 1, bands.len(), limits.tail_share) <= limits.tail_level
    });
    let tail = most.map_or(0.0, |count| 1.0 - at_most(count, &beyond));
    Power {
        detects: (1..=700).map(|step| f64::from(step) / 1000.0).find(|b| slower(*b) >= FOUND),
        false_alarm: (2.0 * slower(0.0) + tail).min(1.0),
    }
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
            most_bias: 0.025,
            elsewhere: Spread::default(),
            excludes: 0.042,
            confidence: 0.95,
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
        assert!((at_or_below(&band, -(1.02f64.ln())) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn more_points_find_a_smaller_bias() {
        let band = band();
        let of = |n: usize| power(&vec![&band; n], &limits());
        let (few, many) = (of(10), of(100));
        assert!(few.detects.unwrap() > many.detects.unwrap(), "{few:?} {many:?}");
        assert!(many.detects.unwrap() > 0.02 && many.detects.unwrap() < 0.05, "{many:?}");
        assert!(few.false_alarm < 0.03 && many.false_alarm < 0.001, "{few:?} {many:?}");
        assert_eq!(of(3).detects, None);
    }
}
