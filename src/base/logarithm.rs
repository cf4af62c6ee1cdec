//! Logarithms that are taken by the million, where a coarse one shows which values deserve an exact one.

/// How far [`coarse_log2`] is from the true logarithm, at most; 1.4e-5 was found over the mantissas.
pub(crate) const COARSE_ERROR: f64 = 2e-5;

/// The logarithm to the base of 2 of a normal number above 0, to [`COARSE_ERROR`]. The polynomial is the best of
/// its degree between two powers of 2 (least squares, reweighted).
#[inline]
pub(crate) fn coarse_log2(value: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = value.to_bits();
    let power = (bits >> 52) as f64 - 1023.0;
    let m = f64::from_bits(bits & MANTISSA | 1023 << 52) - 1.0;
    let curve =
        m * (1.441_966 + m * (-0.709_663 + m * (0.417_595 + m * (-0.196_269 + m * 0.046_385))));
    power + curve
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coarse_logarithm_is_near_the_true_one() {
        let is_near = |value: f64| (coarse_log2(value) - value.log2()).abs() < COARSE_ERROR;
        for value in [1e-300, 1e-5, 0.001, 0.37, 1.0, 1.999_999, 2.0, 3.0, 5e4, 1e300] {
            assert!(is_near(value), "{value}");
        }
        for step in 0..=4096 {
            let value = 1.0 + f64::from(step) / 4096.0;
            assert!(is_near(value), "{value}");
        }
    }
}
