//! Latency differences between rows that have the same key.

use crate::base::expr::Vals;

/// The latency difference between copies of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CopySpread {
    /// The slowest copy divided by the fastest, for the latency column that differs most.
    pub ratio: f64,
    /// True if the ratio exceeds the rerun noise at the slowest copy's latency.
    pub beyond_noise: bool,
}

impl CopySpread {
    /// Compares `rows` in each of the latency columns, in ms. `tail` returns the largest ratio that reruns explain at
    /// a latency. A latency of zero or less next to a positive one has no ratio, but exceeds any noise.
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

/// The fastest and the slowest value of some rows, without NaN; (∞, 0) if there are none.
pub(super) fn range(rows: &[usize], values: &Vals<'_, f64>) -> (f64, f64) {
    let times = || rows.iter().map(|row| values.get(*row));
    (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
}
