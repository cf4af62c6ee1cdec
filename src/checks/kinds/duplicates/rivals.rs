//! How far rows differ that compete for a key.

use crate::base::expr::Vals;

/// How far copies of a row differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CopySpread {
    /// Slowest over fastest copy, of the latency that differs most.
    pub ratio: f64,
    /// Whether that is more than `tail` allows at the slowest copy's latency.
    pub beyond_noise: bool,
}

impl CopySpread {
    /// Of some rows, by their latencies in ms. A time of zero or less beside one of another is
    /// beyond all noise and has no ratio.
    pub fn of(rows: &[usize], latencies: &[&Vals<'_, f64>], tail: impl Fn(f64) -> f64) -> Self {
        let mut spread = Self { ratio: 1.0, beyond_noise: false };
        for values in latencies {
            let (least, most) = range(rows, values);
            if least > 0.0 && most.is_finite() {
                spread.ratio = spread.ratio.max(most / least);
                spread.beyond_noise |= most / least > tail(most);
            } else {
                spread.beyond_noise |= least < most;
            }
        }
        spread
    }
}

/// The fastest and the slowest of some rows; what is not a number is passed over.
pub(super) fn range(rows: &[usize], values: &Vals<'_, f64>) -> (f64, f64) {
    let times = || rows.iter().map(|row| values.get(*row));
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}
