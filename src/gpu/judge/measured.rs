//! Measured points, and the comparison of each with its recorded time.

use std::borrow::Borrow;

use super::{middle::Middle, power};
use crate::base::error::Reason;
use crate::base::stats::{median, median_interval};
use crate::gpu::device::{Answer, Point};
use crate::gpu::recipe::Margins;
use crate::specs::NoiseBand;

/// A point with its measurement.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The requested point.
    pub point: Point,
    /// The device's answer, or the reason why there is none.
    pub answer: Result<Answer, Reason>,
    /// The noise band of the point: percentiles of the ratio between two measurements of the same point. `None` if
    /// unknown.
    pub band: Option<NoiseBand>,
    /// The threshold in ms below which a recorded time is host-bound: the host's kernel launches, and not the GPU,
    /// determine the time. 0 if no time is host-bound.
    pub host_ms: f64,
    /// The offset of this GPU: the log ratio of measured to recorded times, as estimated from control tables. It is
    /// subtracted from the point's log ratio; 0 if unknown.
    pub card: f64,
}

/// The result of comparing a point's measured time with its recorded time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointVerdict {
    /// The ratio of measured to recorded time is within the noise of repeated measurements.
    Within,
    /// The ratio of measured to recorded time is farther from 1 than in 99 % of repeated measurements.
    Beyond,
    /// The measured time cannot be compared with the recorded one, for example because the device ran another kernel.
    /// The point is shown, but not judged.
    Proxy,
    /// The host's kernel launches, and not the GPU, determine the time. The point is shown, but not judged.
    HostBound,
    /// The point was not measured.
    Missing,
}

impl PointVerdict {
    /// Returns the verdict's name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Beyond => "beyond",
            Self::Proxy => "proxy",
            Self::HostBound => "host-bound",
            Self::Missing => "missing",
        }
    }
}

impl Measured {
    /// Returns the median of the samples in ms; `None` if the point was not measured.
    pub(crate) fn measured_ms(&self) -> Option<f64> {
        self.answer.as_ref().ok().map(|a| median(&a.samples_ms))
    }

    /// Returns the ratio of measured to recorded time; `None` if the point was not measured.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.measured_ms().map(|ms| ms / self.point.recorded_ms)
    }

    /// Returns the log ratio of measured to recorded time, after subtracting the GPU's offset. `None` if the point was
    /// not measured.
    pub(crate) fn log(&self) -> Option<f64> {
        self.ratio().map(|ratio| ratio.ln() - self.card)
    }

    /// Returns a confidence interval of the ratio of measured to recorded time, from the point's samples. With too few
    /// samples, returns the ratios of the fastest and the slowest sample.
    pub(crate) fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let samples = &self.answer.as_ref().ok()?.samples_ms;
        let (low, high) = match median_interval(samples, confidence) {
            Some(interval) => (interval.low, interval.high),
            None => extremes(samples),
        };
        Some((low / self.point.recorded_ms, high / self.point.recorded_ms))
    }

    /// Returns the reason why the measured time cannot be compared with the recorded one; `None` if it can.
    pub(crate) fn proxy(&self) -> Option<&str> {
        let own = self.point.call.as_ref().and_then(|call| call.proxy.as_deref());
        self.answer.as_ref().ok()?.proxy.as_deref().or(own)
    }

    /// Compares the measured time with the recorded one.
    pub(crate) fn verdict(&self) -> PointVerdict {
        match (self.log(), self.proxy(), &self.band) {
            (None, ..) => PointVerdict::Missing,
            (_, Some(_), _) => PointVerdict::Proxy,
            _ if self.point.recorded_ms < self.host_ms => PointVerdict::HostBound,
            (Some(log), _, Some(band)) if log.abs() > band.p99.ln() => PointVerdict::Beyond,
            _ => PointVerdict::Within,
        }
    }

    /// Returns true if the host's kernel launches, and not the GPU, determine the time.
    pub(crate) fn is_host_bound(&self) -> bool {
        self.verdict() == PointVerdict::HostBound
    }

    /// Returns true if the point counts in the verdict on its table: it is measured, comparable and not host-bound.
    pub(crate) fn is_judged(&self) -> bool {
        matches!(self.verdict(), PointVerdict::Within | PointVerdict::Beyond)
    }

    /// Computes the median log ratio of measured to recorded time over the judged points, with its standard deviation
    /// and the limits for judging it. `among` is the standard deviation of a table's median log ratio over repeated
    /// measurements of the whole table.
    pub(super) fn middle(points: &[impl Borrow<Self>], among: f64, limits: &Margins) -> Middle {
        let points = points.iter().map(Borrow::borrow);
        let judged: Vec<&Self> = points.filter(|point| point.is_judged()).collect();
        let logs: Vec<f64> = judged.iter().filter_map(|p| p.log()).collect();
        let bands: Vec<&NoiseBand> = judged.iter().filter_map(|p| p.band.as_ref()).collect();
        Middle::of(&logs, power::expected_middle_half(&bands, limits), among, limits)
    }

    /// Returns true if the measured time is within 2 % of the recorded time; `None` if the point was not measured.
    pub(crate) fn within_2_percent(&self) -> Option<bool> {
        self.ratio().map(|r| (r - 1.0).abs() <= 0.02)
    }

    /// Returns true if the point's samples are unsteady: the ratio of the slowest to the fastest sample exceeds the
    /// 95th percentile of the ratio between two measurements of the same point.
    pub(super) fn is_unsteady(&self) -> bool {
        let samples = self.answer.as_ref().map(|a| extremes(&a.samples_ms));
        matches!((samples, &self.band), (Ok((low, high)), Some(band)) if high / low > band.p95)
    }
}

/// Returns the smallest and the largest value.
pub(crate) fn extremes(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}
