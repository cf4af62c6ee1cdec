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
    /// Limit of the absolute median log ratio. The medians of most undisturbed samples with the same error do not
    /// exceed it.
    pub allowed: f64,
    /// Upper bound of the table's bias, as an absolute log ratio: the sample rules out a larger bias. NaN without
    /// points.
    pub excluded: f64,
}

impl Middle {
    /// Computes the median and its limits from the log ratios of points. The error follows from the width of the middle
    /// half of the log ratios. This width counts as at least `least`, because a few points may agree by chance. `among`
    /// is the standard deviation between undisturbed collections. Without points, the bias is NaN.
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

/// Returns the standard deviation of the log ratio between undisturbed collections, which is nearly normal.
pub(crate) fn collections(limits: &Margins) -> f64 {
    limits.bias / normal_within(0.95)
}
