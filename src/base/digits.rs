//! The precision with which numbers are written: a difference that rounding explains is not a
//! contradiction.

/// Returns half a unit of the last digit of each value of one column: the most by which rounding
/// may have changed the value. The result is 0 for a value that is missing or not finite.
///
/// A column has one writer, which rounds to a fixed number of decimals or of significant digits.
/// Files omit trailing zeros, so the most decimals and the most digits of any value are assumed for
/// all. The coarser of the two counts.
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

/// Returns half a unit of the last digit of one value, for columns with several writers. A trailing
/// zero that the file omits makes the result larger than the rounding was.
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
    use super::{half_unit, half_units};

    #[test]
    fn a_value_is_rounded_to_its_last_digit() {
        let halves = [half_unit(1.25), half_unit(20.0), half_unit(f64::NAN)];
        assert!((halves[0] - 0.005).abs() < 1e-12 && halves[1..] == [0.5, 0.0], "{halves:?}");
    }

    #[test]
    fn a_column_is_rounded_to_decimals_or_to_digits() {
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
