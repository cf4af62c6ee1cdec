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
    /// The noise band of the point: percentiles of the ratio between undisturbed reruns; `None` if unknown.
    pub band: Option<NoiseBand>,
    /// The host limit in ms: if the recorded time is below this limit, kernel launches of the host determine the time.
    /// 0 if they never do.
    pub host_ms: f64,
    /// The log ratio of this card's times to those of other cards; 0 if unknown.
    pub card: f64,
}

/// The comparison of one point's measured and recorded times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointVerdict {
    /// The ratio is within the band of undisturbed reruns.
    Within,
    /// The ratio is beyond the 99th percentile of the band.
    Beyond,
    /// Something else than the recorded kernel was measured. The point is shown and not judged.
    Proxy,
    /// Kernel launches of the host determine the time. The point is shown and not judged.
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

    /// Returns the ratio of measured to recorded time.
    pub(crate) fn ratio(&self) -> Option<f64> {
        self.measured_ms().map(|ms| ms / self.point.recorded_ms)
    }

    /// Returns the log ratio of measured to recorded time, without the log ratio of the card.
    pub(crate) fn log(&self) -> Option<f64> {
        self.ratio().map(|ratio| ratio.ln() - self.card)
    }

    /// Returns a confidence interval of the ratio from the point's own samples. With too few samples, it is the range
    /// from the fastest to the slowest sample.
    pub(crate) fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let samples = &self.answer.as_ref().ok()?.samples_ms;
        let (low, high) = match median_interval(samples, confidence) {
            Some(interval) => (interval.low, interval.high),
            None => extremes(samples),
        };
        Some((low / self.point.recorded_ms, high / self.point.recorded_ms))
    }

    /// Returns the reason why the point is a proxy; `None` if it is not.
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

    /// Returns true if kernel launches of the host determine the time.
    pub(crate) fn is_host_bound(&self) -> bool {
        self.verdict() == PointVerdict::HostBound
    }

    /// Returns true if the point is judged.
    pub(crate) fn is_judged(&self) -> bool {
        matches!(self.verdict(), PointVerdict::Within | PointVerdict::Beyond)
    }

    /// Computes the median log ratio of the judged points, with its error. `among` is the standard deviation between
    /// undisturbed collections.
    pub(super) fn middle(points: &[impl Borrow<Self>], among: f64, limits: &Margins) -> Middle {
        let points = points.iter().map(Borrow::borrow);
        let judged: Vec<&Self> = points.filter(|point| point.is_judged()).collect();
        let logs: Vec<f64> = judged.iter().filter_map(|p| p.log()).collect();
        let bands: Vec<&NoiseBand> = judged.iter().filter_map(|p| p.band.as_ref()).collect();
        Middle::of(&logs, power::middle_half(&bands, limits), among, limits)
    }

    /// Returns true if the measured time is within 2 % of the recorded one, as the collection guide
    /// requires.
    pub(crate) fn within_2_percent(&self) -> Option<bool> {
        self.ratio().map(|r| (r - 1.0).abs() <= 0.02)
    }

    /// Returns true if the point's own samples differ by a larger factor than 95 % of reruns do.
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
