//! The median log ratio of a sample, with its error and limits.

use crate::base::stats::{Interval, median, median_error, middle_half, normal_within};
use crate::gpu::recipe::Margins;

/// The median log ratio of a sample, and the limits that follow from its error and from the differences between
/// collections (measurements of whole tables).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Middle {
    /// The median log ratio.
    pub bias: f64,
    /// Standard deviation of the median.
    pub error: f64,
    /// The absolute log ratio that the medians of most undisturbed samples with the same error do not exceed.
    pub allowed: f64,
    /// The smallest bias of a table, as an absolute log ratio, that the sample rules out; NaN without points.
    pub excluded: f64,
}

impl Middle {
    /// Computes the median and its limits from the log ratios of points. A few points may agree by chance, so the width
    /// of their middle half counts as at least `least`. `among` is the standard deviation between undisturbed
    /// collections. Without points, the bias is NaN.
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

    /// Returns the interval that contains the median with the given confidence.
    pub(crate) fn interval(&self, confidence: f64) -> Interval {
        let side = normal_within(confidence) * self.error;
        Interval { low: self.bias - side, high: self.bias + side, confidence }
    }
}

/// Returns the standard deviation of the log ratio between undisturbed collections, which is nearly normal.
pub(crate) fn collections(limits: &Margins) -> f64 {
    limits.bias / normal_within(0.95)
}
