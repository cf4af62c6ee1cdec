//! Statistics for verdicts: medians with intervals, quantiles and counts, and the precision with which numbers are
//! written.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// Returns the smallest value above 0; `None` if there is none.
pub(crate) fn least_positive(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|value| *value > 0.0).reduce(f64::min)
}

/// Returns the median: for an even number of values, the mean of the two middle values; NaN if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the median: for an even number of values, the larger of the two middle values; NaN if there are no values.
/// Takes linear time and reorders the values.
pub fn upper_median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Returns the ratio or its inverse, whichever is at least 1: 2 for a ratio of 0.5.
pub(crate) fn times_off(ratio: f64) -> f64 {
    ratio.max(1.0 / ratio)
}

/// A confidence interval of a median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The confidence of the interval; at least the requested one.
    pub confidence: f64,
}

/// Returns the rank of the lower end of a median's confidence interval among the sorted values, counted from 1. The
/// upper end has the same rank, counted from the largest value. `None` if there are too few values for the confidence
/// (5 or fewer at 95 %).
///
/// The interval inverts the sign test: David and Nagaraja, "Order Statistics" (2003), section 7.1; Conover, "Practical
/// Nonparametric Statistics" (1999), section 3.2.
fn rank(count: usize, confidence: f64) -> Option<usize> {
    let signs = Binomial::new(0.5, count as u64).ok()?;
    let outside = (1.0 - confidence) / 2.0;
    (1..=count / 2).rev().find(|rank| signs.cdf(*rank as u64 - 1) <= outside)
}

/// Returns a confidence interval of the median; `None` if there are too few values. The interval is interpolated
/// between two intervals of order statistics, one with more and one with less than the requested confidence. The
/// confidence is exact for symmetric distributions and approximate for others.
///
/// Hettmansperger and Sheather, "Confidence intervals based on interpolated order statistics", Statistics & Probability
/// Letters 4 (1986).
pub(crate) fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let (count, rank) = (values.len(), rank(values.len(), confidence)?);
    let sorted = sorted(values);
    let signs = Binomial::new(0.5, count as u64).ok()?;
    let covered = |rank: usize| 1.0 - 2.0 * signs.cdf(rank as u64 - 1);
    let ends = |rank: usize| (sorted[rank - 1], sorted[count - rank]);
    let ((low, high), wide) = (ends(rank), covered(rank));
    if 2 * (rank + 1) > count {
        return Some(Interval { low, high, confidence: wide });
    }
    let ((inner_low, inner_high), narrow) = (ends(rank + 1), covered(rank + 1));
    let between = (wide - confidence) / (wide - narrow);
    let (n, k) = (count as f64, rank as f64);
    let share = (n - k) * between / (k + (n - 2.0 * k) * between);
    let mix = |outer: f64, inner: f64| outer + share * (inner - outer);
    Some(Interval { low: mix(low, inner_low), high: mix(high, inner_high), confidence })
}

/// Returns the standard error of a median: 1.25 × `middle_half` / (1.35 × √`count`), where `middle_half` is the
/// interquartile range of the `count` values. A few outliers hardly change the result.
///
/// McGill, Tukey and Larsen, "Variations of Box Plots", The American Statistician 32 (1978).
pub(crate) fn median_error(middle_half: f64, count: usize) -> f64 {
    1.25 * middle_half / (1.35 * (count as f64).sqrt())
}

/// Returns the quantile of sorted values at `share`, such as 0.25 for the first quartile. The result is interpolated
/// between two values; NaN if there are no values. Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996,
/// definition 7.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// Returns the quantile of sorted values at `share`, such as 0.25 for the first quartile. The result is always one of
/// the values (nearest rank, Hyndman and Fan's definition 1); `None` if there are no values.
pub fn nearest_rank(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Returns the interquartile range: the third quartile minus the first; NaN if there are no values.
pub(crate) fn middle_half(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    quantile(&sorted, 0.75) - quantile(&sorted, 0.25)
}

/// Returns the number z for which a standard normal value is between −z and z with the given probability: 1.96 for a
/// probability of 0.95.
pub(crate) fn normal_within(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(0.5 + probability / 2.0)
}

/// Returns the probability that `count` or more of `of` independent trials succeed, if each succeeds with
/// probability `share` (binomial).
pub(crate) fn at_least(count: usize, of: usize, share: f64) -> f64 {
    match (count, Binomial::new(share, of as u64)) {
        (0, _) => 1.0,
        (count, Ok(binomial)) => binomial.sf(count as u64 - 1),
        _ => f64::NAN,
    }
}

/// Returns for each value of a column half a unit of its last digit: the maximum error of rounding; 0 for a value that
/// is missing or not finite.
///
/// All values are assumed to be rounded to the same number of decimals or to the same number of significant digits.
/// Both numbers are estimated as the maximum over the column's values, since files omit trailing zeros. Each value's
/// error is computed from the decimals and from the digits, and the larger error is returned.
pub(crate) fn half_units(values: &[Option<f64>]) -> Vec<f64> {
    let finite = || values.iter().flatten().copied().filter(|n| n.is_finite());
    let decimals = finite().map(|n| written(n).0).max().unwrap_or(0);
    let digits = finite().map(|n| written(n).1).max().unwrap_or(0);
    let half = |n: f64| {
        let by_decimals = 10f64.powi(-decimals);
        let leading = if n == 0.0 { f64::MIN } else { n.abs().log10().floor() };
        0.5 * by_decimals.max(10f64.powf(leading - f64::from(digits) + 1.0))
    };
    values.iter().map(|n| n.filter(|n| n.is_finite()).map_or(0.0, half)).collect()
}

/// Returns half a unit of the last digit of one value, for columns whose values are not rounded alike. If the file
/// omits trailing zeros, the result is larger than the maximum error of rounding.
pub(crate) fn half_unit(value: f64) -> f64 {
    if value.is_finite() { 0.5 * 10f64.powi(-written(value).0) } else { 0.0 }
}

/// Counts the decimals and the significant digits of a number in its shortest form.
fn written(n: f64) -> (i32, i32) {
    let text = n.abs().to_string();
    let decimals = text.split_once('.').map_or(0, |(_, after)| after.len());
    let digits = text.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit);
    (decimals as i32, digits.count() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4
    }

    #[test]
    fn ranks_of_a_median_s_interval_equal_published_tables_of_the_sign_test() {
        // Values from tables of the sign test, for 95 %.
        for (count, lower) in [(6, 1), (10, 2), (16, 4), (20, 6), (40, 14)] {
            assert_eq!(rank(count, 0.95), Some(lower), "{count}");
        }
        assert_eq!(rank(5, 0.95), None);
        assert_eq!(rank(0, 0.95), None);
        let twenty: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = median_interval(&twenty, 0.95).unwrap();
        // Calculated by hand: 95.861 % at rank 6, 88.468 % at 7, so 0.2352 of the way.
        assert!(near(interval.low, 6.2352) && near(interval.high, 14.7648), "{interval:?}");
        let six: Vec<f64> = (1..=6).map(f64::from).collect();
        let all = median_interval(&six, 0.95).unwrap();
        // Calculated by hand: 96.875 % at rank 1, 78.125 % at 2, so a tenth between them, 0.3571 of the way.
        assert!(near(all.low, 1.3571) && near(all.high, 5.6429), "{all:?}");
        assert_eq!(median(&twenty), 10.5);
    }

    #[test]
    fn quantiles_are_interpolated_between_values() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0], 0.5), 1.5);
        assert_eq!(quantile(&[3.0], 0.95), 3.0);
        assert_eq!(quantile(&[0.0, 10.0], 0.05), 0.5);
        assert!(quantile(&[], 0.5).is_nan(), "no values");
    }

    #[test]
    fn nearest_ranks_and_upper_medians_are_values_of_the_sample() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(nearest_rank(&ten, 0.95), Some(10.0));
        assert_eq!(nearest_rank(&ten, 0.5), Some(5.0));
        assert_eq!(nearest_rank(&ten, 0.0), Some(1.0));
        assert_eq!(nearest_rank(&[], 0.5), None);
        assert_eq!(upper_median(&mut [4.0, 1.0, 3.0, 2.0]), 3.0);
        assert_eq!(upper_median(&mut [2.0, 9.0, 1.0]), 2.0);
        assert!(upper_median(&mut []).is_nan());
    }

    #[test]
    fn the_error_of_a_median_follows_from_the_quartiles() {
        let values: Vec<f64> = (1..=9).rev().map(f64::from).collect();
        assert_eq!(middle_half(&values), 4.0);
        assert!(near(middle_half(&[1.0, 2.0, 3.0, 4.0]), 1.5), "definition 7: 1.75 to 3.25");
        assert!(near(median_error(4.0, 9), 1.2346));
        // The median's error for normal values is 1.2533 / √n, close to the rule of thumb.
        assert!(near(median_error(1.349, 100), 0.1249));
        assert!(near(normal_within(0.9), 1.6449) && near(normal_within(0.97), 2.1701));
        assert!(middle_half(&[]).is_nan() && middle_half(&[1.0]) == 0.0);
    }

    #[test]
    fn the_probability_of_a_count_is_binomial() {
        // Sums of C(20, i) pⁱ (1 - p)²⁰⁻ⁱ in exact arithmetic.
        assert!(near(at_least(4, 20, 0.05), 0.0159), "{}", at_least(4, 20, 0.05));
        assert!(near(at_least(8, 20, 0.17), 0.0127), "{}", at_least(8, 20, 0.17));
        assert_eq!(at_least(0, 20, 0.05), 1.0);
    }

    #[test]
    fn the_rounding_error_of_a_value_is_half_its_last_digit() {
        let halves = [half_unit(1.25), half_unit(20.0), half_unit(f64::NAN)];
        assert!((halves[0] - 0.005).abs() < 1e-12 && halves[1..] == [0.5, 0.0], "{halves:?}");
    }

    #[test]
    fn the_rounding_of_a_column_is_in_decimals_or_in_digits() {
        let of = |values: &[f64]| half_units(&values.iter().copied().map(Some).collect::<Vec<_>>());
        let near = |got: Vec<f64>, wanted: &[f64]| {
            assert_eq!(got.len(), wanted.len());
            for (a, b) in got.iter().zip(wanted) {
                assert!((a - b).abs() < 1e-9 * b, "{got:?} {wanted:?}");
            }
        };
        near(of(&[0.03]), &[0.005]);
        // 12.5 is 12.50 without its trailing zero.
        near(of(&[0.03, 12.25, 12.5]), &[0.005; 3]);
        near(of(&[1234.0, 0.01235]), &[0.5, 0.000_005]);
        near(of(&[100.0, 0.0]), &[0.5, 0.5]);
        assert!(of(&[20.953_395_2, 0.081_641_868_887_109_95])[0] < 1e-14);
        assert_eq!(half_units(&[None, Some(f64::NAN)]), [0.0, 0.0]);
    }
}
