//! Stored against measured: a verdict about a sample, with its statistics.
//!
//! Single honest reruns differ by several percent, their median hardly. So a table fails when the
//! median log ratio is one that few samples of honest collections show (bias), or when more points
//! leave the band of reruns than chance allows (tail). It passes when it does not fail and the sample
//! excludes that it is off by more than a little. A machine that was busy,
//! throttled or drifted is not the table's fault: inconclusive.

pub mod power;
mod words;

pub use words::{against_recorded, longer, percent, size};

use crate::base::stats::{
    Interval, at_least, median, median_error, median_interval, middle_half, normal_within,
};
use crate::gpu::device::{Answer, Point, Unmeasured};
use crate::gpu::recipe::Margins;
use crate::specs::NoiseBand;

/// A point with what was measured.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What was asked for.
    pub point: Point,
    /// What was answered, or why nothing was.
    pub answer: Result<Answer, Unmeasured>,
    /// How far honest reruns of such a point differ.
    pub band: Option<NoiseBand>,
}

/// What one point says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Within the band of honest reruns.
    Within,
    /// Beyond its 99th percentile.
    Beyond,
    /// Not what was recorded, another kernel for example: shown, not judged.
    Proxy,
    /// Not measured.
    Missing,
}

impl Standing {
    /// Its name in reports.
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
    /// The median sample in ms.
    pub fn measured_ms(&self) -> Option<f64> {
        self.answer.as_ref().ok().map(|a| median(&a.samples_ms))
    }

    /// Measured over recorded.
    pub fn ratio(&self) -> Option<f64> {
        self.measured_ms().map(|ms| ms / self.point.recorded_ms)
    }

    /// Where the ratio lies by the point's own samples: the interval of their median, or all of them
    /// where there are too few points.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let samples = &self.answer.as_ref().ok()?.samples_ms;
        let (low, high) = match median_interval(samples, confidence) {
            Some(interval) => (interval.low, interval.high),
            None => extremes(samples),
        };
        Some((low / self.point.recorded_ms, high / self.point.recorded_ms))
    }

    /// Why it is a proxy.
    pub fn proxy(&self) -> Option<&str> {
        self.answer.as_ref().ok()?.proxy.as_deref()
    }

    /// What it says.
    pub fn standing(&self) -> Standing {
        match (self.ratio(), self.proxy(), &self.band) {
            (None, ..) => Standing::Missing,
            (_, Some(_), _) => Standing::Proxy,
            (Some(ratio), _, Some(band)) if ratio.ln().abs() > band.p99.ln() => Standing::Beyond,
            _ => Standing::Within,
        }
    }

    /// Whether it is within 2 % of what is recorded, as the collection guide asks.
    pub fn within_2_percent(&self) -> Option<bool> {
        self.ratio().map(|r| (r - 1.0).abs() <= 0.02)
    }

    /// Whether its own samples differ by more than 19 of 20 reruns do.
    fn restless(&self) -> bool {
        let samples = self.answer.as_ref().map(|a| extremes(&a.samples_ms));
        matches!((samples, &self.band), (Ok((low, high)), Some(band)) if high / low > band.p95)
    }
}

/// The least and the greatest.
pub(crate) fn extremes(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// How a sample ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The table holds.
    Pass,
    /// Nothing can be said.
    Inconclusive,
    /// It does not.
    Fail,
}

impl Outcome {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Fail => "FAIL",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, a sentence each; none where it passes.
    pub reasons: Vec<String>,
    /// Points judged: measured, and no proxies.
    pub judged: usize,
    /// Median log ratio of measured over recorded.
    pub bias: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// A log ratio that the medians of most honest samples as wide as this one are within, either way.
    pub allowed: f64,
    /// The least bias of a table, as a log ratio, that the sample excludes; NaN of no points.
    pub excluded: f64,
    /// Points beyond the band of reruns.
    pub beyond: usize,
    /// How likely that many are.
    pub tail: f64,
    /// Points within 2 %.
    pub within_2_percent: usize,
    /// The share of honest reruns that are, by the same bands.
    pub honest_within: f64,
    /// How far the control points moved, as a log ratio to their first pass, a pass each.
    pub drift: Vec<f64>,
}

/// Judges a sample. `controls` holds, for each control point, its time in every pass in ms;
/// `trouble` is what the device had to say about itself.
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

/// A sample's median, and what follows from its error and from how far collections differ.
pub(crate) struct Middle {
    /// The median log ratio.
    pub bias: f64,
    error: f64,
    /// A log ratio that the medians of most honest samples as wide are within, either way.
    pub allowed: f64,
    excluded: f64,
}

impl Middle {
    /// By the points' log ratios. Few points lie close together by chance: their middle half is
    /// taken to be no narrower than `least`. Of no points the bias is NaN.
    pub fn of(logs: &[f64], least: f64, limits: &Margins) -> Self {
        let bias = median(logs);
        let error = match logs.len() {
            0 => 0.0,
            count => median_error(middle_half(logs).max(least), count),
        };
        let spread = collections(limits).hypot(error);
        Self {
            bias,
            error,
            allowed: normal_within(1.0 - limits.level) * spread,
            excluded: bias.abs() + normal_within(limits.confidence) * spread,
        }
    }

    /// Where the median is with that confidence.
    pub fn interval(&self, confidence: f64) -> Interval {
        let side = normal_within(confidence) * self.error;
        Interval { low: self.bias - side, high: self.bias + side, confidence }
    }
}

/// The standard deviation of what honest collections differ by; near enough, they do so normally.
fn collections(limits: &Margins) -> f64 {
    limits.bias / normal_within(0.95)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The median movement of the controls from their first pass, a later pass each.
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

    /// Why the machine, not the table, decides what was measured.
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

    /// What the table does not hold.
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

    /// Why the sample is too wide to pass.
    fn vague(&self, limits: &Margins) -> Option<String> {
        // Of no points nothing is excluded.
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
