//! The decimals of measured numbers, and the error of their rounding.

/// Digits of a measured column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Digits {
    /// A number of decimals, as a writer rounds.
    Decimals(i32),
    /// All digits that arithmetic leaves.
    All,
}

impl Digits {
    /// Returns the largest error of a writer that rounds to these digits.
    pub(super) fn cut(self) -> f64 {
        match self {
            // A little over the half, for the binary form of a decimal number.
            Self::Decimals(d) => 0.51 * 10f64.powi(-d),
            Self::All => 0.0,
        }
    }
}

/// Most decimals that count as rounding.
const MOST_DECIMALS: i32 = 8;

/// Rounding of the arithmetic by which a line is drawn, over the value.
const ARITHMETIC: f64 = 1e-9;

/// Returns the largest error of a value's rounding, by the digits that it has.
pub(super) fn rounding(value: f64) -> f64 {
    match digits(value) {
        Digits::All => ARITHMETIC * value,
        decimals => decimals.cut(),
    }
}

/// Returns the digits of a number.
pub(super) fn digits(value: f64) -> Digits {
    let fits = |d: &i32| is_whole(value * 10f64.powi(*d));
    (0..=MOST_DECIMALS).find(fits).map_or(Digits::All, Digits::Decimals)
}

/// The digits that most of a table's values have, by a sample.
pub(super) fn usual_digits(values: &[f64]) -> Digits {
    const SAMPLE: usize = 64;
    let step = values.len().div_ceil(SAMPLE).max(1);
    let positive = values.iter().step_by(step).filter(|v| **v > 0.0);
    let mut found: Vec<i32> = positive
        .map(|v| match digits(*v) {
            Digits::Decimals(d) => d,
            Digits::All => MOST_DECIMALS + 1,
        })
        .collect();
    found.sort_unstable();
    match found.get(found.len() / 2) {
        Some(d) if *d <= MOST_DECIMALS => Digits::Decimals(*d),
        _ => Digits::All,
    }
}

/// Returns true if a number is whole up to the error of binary floating point.
pub(super) fn is_whole(value: f64) -> bool {
    // Adding and taking this away rounds to the next whole number, many at a time.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    (value - (value + ROUNDER - ROUNDER)).abs() <= 1e-12 * value.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_decimal_number() {
        assert_eq!(digits(0.0123), Digits::Decimals(4));
        assert_eq!(digits(1.0), Digits::Decimals(0));
        // As a sum leaves it.
        assert_eq!(digits(0.1 + 0.2), Digits::Decimals(1));
        assert_eq!(digits(0.1 / 3.0), Digits::All);
        let measured: Vec<f64> = (0..1000).map(|i| f64::from(i) / 7.0).collect();
        assert_eq!(usual_digits(&measured), Digits::All);
        assert_eq!(usual_digits(&[]), Digits::All);
    }
}
