//! The median of a sample, with its error.

use crate::base::stats::{Interval, median, median_error, middle_half, normal_within};
use crate::gpu::recipe::Margins;

/// The median of a sample, and the limits that follow from its error and from the differences between
/// collections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Middle {
    /// The median log ratio.
    pub bias: f64,
    /// Standard deviation of the median.
    pub error: f64,
    /// Log ratio, in either direction, that the medians of most honest samples of the same width do not
    /// exceed.
    pub allowed: f64,
    /// Smallest bias of a table, as a log ratio, that the sample rules out; NaN without points.
    pub excluded: f64,
}

impl Middle {
    /// Computes the median and its limits from the points' log ratios. A few points agree by chance, so
    /// their middle half counts as at least `least` wide. `among` is the standard deviation of the
    /// differences between honest collections. Without points the bias is NaN.
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

    /// Interval that contains the median with the given confidence.
    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        let side = normal_within(confidence) * self.error;
        Interval { low: self.bias - side, high: self.bias + side, confidence }
    }
}

/// Standard deviation of the differences between honest collections, which are nearly normal.
pub(crate) fn collections(limits: &Margins) -> f64 {
    limits.bias / normal_within(0.95)
}
