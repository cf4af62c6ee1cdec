//! Judges measured times against recorded ones: a verdict on a sample, with its statistics.
//!
//! Single honest reruns differ by several percent, but their median hardly differs. A table fails if its
//! median log ratio is rare among samples of honest collections (bias), or if more points are outside
//! the band of reruns than chance allows (tail). It passes if it does not fail and the sample rules out
//! that the table is off by more than a little. A machine that was busy, throttled or drifting makes the
//! verdict inconclusive, because the table is not to blame.

mod middle;
pub mod power;
mod words;

pub(crate) use middle::Middle;
pub use words::{against_recorded, longer, percent, size};

use crate::base::reason::Reason;
use crate::base::stats::{Interval, at_least, median, median_interval};
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
    /// Noise band: how far honest reruns of such a point differ.
    pub band: Option<NoiseBand>,
}

/// The comparison of one point's measured and recorded times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The ratio is within the band of honest reruns.
    Within,
    /// The ratio is beyond the 99th percentile of the band.
    Beyond,
    /// Measured with something else than was recorded, such as another kernel: shown, not judged.
    Proxy,
    /// The point was not measured.
    Missing,
}

impl Standing {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Beyond => "beyond",
            Self::Proxy => "proxy",
            Self::Missing => "missing",
        }
    }
}

impl Measured {
    /// The median of the samples in ms; `None` if the point was not measured.
    pub fn measured_ms(&self) -> Option<f64> {
        self.answer.as_ref().ok().map(|a| median(&a.samples_ms))
    }

    /// Ratio of measured to recorded time.
    pub fn ratio(&self) -> Option<f64> {
        self.measured_ms().map(|ms| ms / self.point.recorded_ms)
    }

    /// Confidence interval of the ratio from the point's own samples; with too few samples, the ratios
    /// of the fastest and the slowest.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let samples = &self.answer.as_ref().ok()?.samples_ms;
        let (low, high) = match median_interval(samples, confidence) {
            Some(interval) => (interval.low, interval.high),
            None => extremes(samples),
        };
        Some((low / self.point.recorded_ms, high / self.point.recorded_ms))
    }

    /// The reason why the point is a proxy; `None` if it is not.
    pub fn proxy(&self) -> Option<&str> {
        self.answer.as_ref().ok()?.proxy.as_deref()
    }

    /// Compares the measured time with the recorded one.
    pub fn standing(&self) -> Standing {
        match (self.ratio(), self.proxy(), &self.band) {
            (None, ..) => Standing::Missing,
            (_, Some(_), _) => Standing::Proxy,
            (Some(ratio), _, Some(band)) if ratio.ln().abs() > band.p99.ln() => Standing::Beyond,
            _ => Standing::Within,
        }
    }

    /// Returns true if the measured time is within 2 % of the recorded one, as the collection guide
    /// requires.
    pub fn within_2_percent(&self) -> Option<bool> {
        self.ratio().map(|r| (r - 1.0).abs() <= 0.02)
    }

    /// Returns true if the point's own samples differ by more than 95 % of reruns do.
    fn restless(&self) -> bool {
        let samples = self.answer.as_ref().map(|a| extremes(&a.samples_ms));
        matches!((samples, &self.band), (Ok((low, high)), Some(band)) if high / low > band.p95)
    }
}

/// The smallest and the largest value.
pub(crate) fn extremes(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// The outcome of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The table agrees with the measurements.
    Pass,
    /// The measurements do not decide.
    Inconclusive,
    /// The table disagrees with the measurements.
    Fail,
}

impl Outcome {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Fail => "FAIL",
        }
    }
}

/// The verdict on a table, with its statistics.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The outcome of the sample.
    pub outcome: Outcome,
    /// Reasons for the outcome, one sentence each; empty if the table passes.
    pub reasons: Vec<String>,
    /// Number of points judged: those measured, without proxies.
    pub judged: usize,
    /// Median log ratio of measured to recorded time.
    pub bias: f64,
    /// Confidence interval of the median log ratio; `None` without points.
    pub interval: Option<Interval>,
    /// Log ratio, in either direction, that the medians of most honest samples of the same width do not
    /// exceed.
    pub allowed: f64,
    /// Smallest bias of a table, as a log ratio, that the sample rules out; NaN without points.
    pub excluded: f64,
    /// Number of points beyond the band of reruns.
    pub beyond: usize,
    /// Probability of at least that many points beyond the band.
    pub tail: f64,
    /// Number of points within 2 % of the recorded time.
    pub within_2_percent: usize,
    /// Share of honest reruns that are within 2 %, by the same bands.
    pub honest_within: f64,
    /// Median log ratio of the control points to their first pass, for each later pass.
    pub drift: Vec<f64>,
}

/// Judges a sample. `controls` contains the times in ms of each control point, one per pass; `trouble`
/// contains the device's warnings about itself.
pub fn judge(
    points: &[Measured],
    controls: &[Vec<f64>],
    trouble: &[String],
    limits: &Margins,
) -> Verdict {
    let judged: Vec<&Measured> = points
        .iter()
        .filter(|p| matches!(p.standing(), Standing::Within | Standing::Beyond))
        .collect();
    let logs: Vec<f64> = judged.iter().filter_map(|p| p.ratio()).map(f64::ln).collect();
    let beyond = judged.iter().filter(|p| p.standing() == Standing::Beyond).count();
    let bands: Vec<&NoiseBand> = judged.iter().filter_map(|p| p.band.as_ref()).collect();
    let middle = Middle::of(&logs, power::middle_half(&bands, limits), limits);
    let within_2: Vec<f64> = bands.iter().map(|b| power::within(b, 0.02)).collect();
    let mut verdict = Verdict {
        outcome: Outcome::Pass,
        reasons: Vec::new(),
        judged: judged.len(),
        bias: middle.bias,
        interval: (!logs.is_empty()).then(|| middle.interval(limits.confidence)),
        allowed: middle.allowed,
        excluded: middle.excluded,
        beyond,
        tail: at_least(beyond, judged.len(), limits.tail_share),
        within_2_percent: judged.iter().filter(|p| p.within_2_percent() == Some(true)).count(),
        honest_within: mean(&within_2),
        drift: drift(controls),
    };
    verdict.conclude(&judged, trouble, limits);
    verdict
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Median log ratio of the control points to their first pass, for each later pass.
fn drift(controls: &[Vec<f64>]) -> Vec<f64> {
    let passes = controls.iter().map(Vec::len).min().unwrap_or(0);
    let moved = |pass: usize| {
        let logs: Vec<f64> = controls.iter().map(|c| (c[pass] / c[0]).ln()).collect();
        median(&logs)
    };
    (1..passes).map(moved).collect()
}

impl Verdict {
    fn conclude(&mut self, judged: &[&Measured], trouble: &[String], limits: &Margins) {
        let unsure = self.unsure(judged, trouble, limits);
        let wrong = self.wrong(limits);
        (self.outcome, self.reasons) = match (unsure.is_empty(), wrong.is_empty()) {
            (false, _) => (Outcome::Inconclusive, unsure),
            (true, false) => (Outcome::Fail, wrong),
            (true, true) => match self.vague(limits) {
                Some(why) => (Outcome::Inconclusive, vec![why]),
                None => (Outcome::Pass, Vec::new()),
            },
        };
    }

    /// Reasons why the machine, not the table, decides the measured times.
    fn unsure(&self, judged: &[&Measured], trouble: &[String], limits: &Margins) -> Vec<String> {
        let mut reasons = trouble.to_vec();
        if let Some(moved) = self.drift.iter().copied().find(|d| d.abs() > limits.bias) {
            reasons
                .push(format!("the control points drifted by {} during the run", percent(moved)));
        }
        let restless = judged.iter().filter(|p| p.restless()).count();
        if restless * 2 > judged.len() {
            reasons.push(format!(
                "in {restless} of {} points the samples of one point differ more than 95 % of reruns do",
                judged.len()
            ));
        }
        if judged.len() < limits.least_points {
            reasons.push(format!(
                "only {} points could be compared, at least {} are needed",
                judged.len(),
                limits.least_points
            ));
        }
        reasons
    }

    /// Reasons why the table is wrong.
    fn wrong(&self, limits: &Margins) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.bias.abs() > self.allowed {
            reasons.push(format!(
                "measured times are {} in the median; {:.0} of 100 undisturbed collections differ by at most {} in a sample that spreads like this one",
                against_recorded(self.bias),
                100.0 * (1.0 - limits.level),
                size(self.allowed)
            ));
        }
        if self.tail < limits.tail_level {
            reasons.push(format!(
                "{} of {} points are outside rerun noise; in undisturbed collections it is at most {:.0} %",
                self.beyond,
                self.judged,
                limits.tail_share * 100.0
            ));
        }
        reasons
    }

    /// The reason why the sample is too wide to pass.
    fn vague(&self, limits: &Margins) -> Option<String> {
        // Without points nothing is ruled out, since `excluded` is NaN.
        if self.excluded <= limits.excludes.ln_1p() {
            return None;
        }
        Some(format!(
            "measured times are {} in the median, as in undisturbed collections, but the table may be {} off: take more points",
            against_recorded(self.bias),
            size(self.excluded)
        ))
    }
}

#[cfg(test)]
mod tests;
