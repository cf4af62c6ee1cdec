//! The median log ratio of a sample, with its error and limits.

use crate::base::stats::{Interval, median, median_error, middle_half, normal_within};
use crate::gpu::recipe::Margins;

/// The median log ratio of measured to recorded time over the points of a sample, with its standard deviation and the
/// limits for judging it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Middle {
    /// The median of the points' log ratios of measured to recorded time.
    pub bias: f64,
    /// Standard deviation of `bias`, the median log ratio.
    pub error: f64,
    /// Limit for the absolute value of `bias`. A table with a larger bias fails.
    pub allowed: f64,
    /// The largest error of the table that the sample does not rule out, as an absolute log ratio (upper confidence
    /// limit). NaN without points.
    pub excluded: f64,
}

impl Middle {
    /// Computes the median of the points' log ratios, with its standard deviation and the limits for judging it. The
    /// standard deviation follows from the interquartile range of the log ratios, which counts as at least `least`.
    /// `among` is the standard deviation of a table's median log ratio over repeated measurements of the whole table.
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

    /// Returns the confidence interval of `bias`, the median log ratio.
    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        let side = normal_within(confidence) * self.error;
        Interval { low: self.bias - side, high: self.bias + side, confidence }
    }
}

/// Returns the standard deviation of a table's median log ratio over repeated measurements of the whole table. The
/// measurements may be on different GPUs of the same model.
pub(crate) fn collections(limits: &Margins) -> f64 {
    limits.bias / normal_within(0.95)
}
