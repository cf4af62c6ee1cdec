//! The median log ratio of a sample, with its error and limits.

use crate::base::stats::{Interval, median, median_error, middle_half, normal_within};
use crate::gpu::recipe::Margins;

/// The median log ratio of measured to recorded time of a sample, with its error and the limits by which it is judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Middle {
    /// The median log ratio.
    pub bias: f64,
    /// Standard deviation of the median.
    pub error: f64,
    /// The limit for `bias`: the table fails if the absolute median log ratio is larger.
    pub allowed: f64,
    /// The largest bias of the table that the sample does not rule out, as an absolute log ratio; NaN without points.
    pub excluded: f64,
}

impl Middle {
    /// Computes the median of the points' log ratios, with its error and limits. The error follows from the
    /// interquartile range of the log ratios, which counts as at least `least`. `among` is the standard deviation of
    /// the median between measurements of the whole table.
    pub(crate) fn of(logs: &[f64], least: f64, among: f64, limits: &Margins) -> Self {
        let bias = median(logs);
        let error = match logs.len() {
            0 => 0.0,
            count => median_error(middle_half(logs).max(least), count),
        };
        let spread = among.hypot(error);
        Self {
            bias,
            error,
            allowed: normal_within(1.0 - limits.level) * spread,
            excluded: bias.abs() + normal_within(limits.confidence) * spread,
        }
    }

    /// Returns the confidence interval of the median log ratio.
    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        let side = normal_within(confidence) * self.error;
        Interval { low: self.bias - side, high: self.bias + side, confidence }
    }
}

/// Returns the standard deviation of the median log ratio between two measurements of the same whole table.
pub(crate) fn collections(limits: &Margins) -> f64 {
    limits.bias / normal_within(0.95)
}
