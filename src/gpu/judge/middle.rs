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
    /// Upper confidence limit of the table's error, as an absolute log ratio: the sample rules out a larger error. NaN
    /// without points.
    pub excluded: f64,
}

impl Middle {
    /// Computes the median of the points' log ratios, with its standard deviation and the limits for judging it. The
    /// standard deviation is computed from the interquartile range of the log ratios, or from `least` if `least` is
    /// larger. `among` is the standard deviation of the median between repeated measurements of the table.
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

/// Returns the standard deviation by which a table's median log ratio varies from one measurement of the table to the
/// next.
pub(crate) fn collections(limits: &Margins) -> f64 {
    limits.bias / normal_within(0.95)
}
