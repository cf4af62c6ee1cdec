//! Judges measured times against recorded ones: a verdict on a sample, with its statistics.
//!
//! Single undisturbed reruns differ by several percent, but their medians hardly differ. A table fails if its median
//! log ratio is rare among undisturbed collections (bias), or if more points are outside the band of reruns than chance
//! allows (tail). It passes if it does not fail and the sample rules out a larger error of the table. If the machine
//! was busy, throttled or drifting, the verdict is inconclusive, because the measured times are unreliable.

mod measured;
mod middle;
mod offset;
pub(crate) mod power;
mod slices;
mod words;

pub(crate) use measured::extremes;
pub(crate) use measured::{Measured, PointVerdict};
pub(crate) use middle::Middle;
pub(crate) use middle::collections;
pub(crate) use offset::Offset;
pub(crate) use slices::{SliceVerdict, unmeasured};
pub(crate) use words::{against_recorded, longer, percent, size};

use crate::base::stats::{Interval, at_least, median, middle_half, quantile};
use crate::base::words::Figure;
use crate::gpu::recipe::Margins;
use crate::specs::NoiseBand;

/// The result of judging a table by its measured points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The table agrees with the measurements.
    Pass,
    /// The measurements neither confirm nor refute the table.
    Inconclusive,
    /// The table disagrees with the measurements.
    Fail,
}

impl Outcome {
    /// Returns the outcome's name in reports.
    pub(crate) fn name(self) -> &'static str {
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
    /// Whether the table passes, fails or is inconclusive.
    pub outcome: Outcome,
    /// Reasons for the outcome, one sentence each; empty if the table passes.
    pub reasons: Vec<String>,
    /// Number of judged points: measured points, without proxies and host-bound points.
    pub judged: usize,
    /// Median log ratio of measured to recorded time.
    pub bias: f64,
    /// Confidence interval of `bias`; `None` without judged points.
    pub interval: Option<Interval>,
    /// Limit for the absolute value of `bias`. A table with a larger bias fails.
    pub allowed: f64,
    /// The largest error of the table that the sample does not rule out, as an absolute log ratio (upper confidence
    /// limit). NaN without points.
    pub excluded: f64,
    /// Number of judged points whose ratio of measured to recorded time is outside the noise of repeated measurements.
    pub beyond: usize,
    /// The probability that a correct table has at least `beyond` points outside the noise.
    pub tail: f64,
    /// The number of points whose measured time is within 2 % of the recorded time, and the expected share of such
    /// points.
    pub near: Near,
    /// Drift of the device during the run: one value for each pass over the control points after the first pass. The
    /// value is the median log ratio of the points' times in this pass to their times in the first pass.
    pub drift: Vec<f64>,
    /// The verdicts on single slices that have enough points.
    pub slices: Vec<SliceVerdict>,
}

/// The number of points whose measured time is within 2 % of the recorded time, and the expected share of such points.
#[derive(Debug, Clone, Copy)]
pub struct Near {
    /// Number of judged points within 2 % of the recorded time.
    pub points: usize,
    /// The expected share of points within 2 % of the recorded time if the table is correct. It follows from the noise
    /// of repeated measurements.
    pub undisturbed: f64,
}

/// Judges a table by its measured points, after subtracting the GPU's offset from their log ratios. `controls` has one
/// list per control point: the point's time in ms in each pass. `trouble` has reasons why the measurements are
/// unreliable.
pub(crate) fn judge(
    points: &mut [Measured],
    controls: &[Vec<f64>],
    trouble: &[String],
    offset: Option<&Offset>,
    limits: &Margins,
) -> Verdict {
    points.iter_mut().for_each(|p| p.card = offset.map_or(0.0, |o| o.log));
    let among = Offset::collections(offset, limits);
    let judged: Vec<&Measured> = points.iter().filter(|p| p.is_judged()).collect();
    let middle = Measured::middle(&judged, among, limits);
    let beyond = judged.iter().filter(|p| p.verdict() == PointVerdict::Beyond).count();
    let bands: Vec<&NoiseBand> = judged.iter().filter_map(|p| p.band.as_ref()).collect();
    let within_2: Vec<f64> = bands.iter().map(|b| power::within(b, 0.02)).collect();
    let mut verdict = Verdict {
        outcome: Outcome::Pass,
        reasons: Vec::new(),
        judged: judged.len(),
        bias: middle.bias,
        interval: (!judged.is_empty()).then(|| middle.interval(limits.confidence)),
        allowed: middle.allowed,
        excluded: middle.excluded,
        beyond,
        tail: at_least(beyond, judged.len(), limits.tail_share),
        near: Near {
            points: judged.iter().filter(|p| p.within_2_percent() == Some(true)).count(),
            undisturbed: mean(&within_2),
        },
        drift: drift(controls),
        slices: slices::slices(&judged, among, limits),
    };
    let trouble: Vec<String> =
        trouble.iter().cloned().chain(offset.and_then(|o| o.trouble(limits))).collect();
    verdict.conclude(&judged, &trouble, limits);
    verdict
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the drift of the device: one value for each pass over the control points after the first pass. The value is
/// the median log ratio of the points' times in this pass to their times in the first pass.
fn drift(controls: &[Vec<f64>]) -> Vec<f64> {
    let passes = controls.iter().map(Vec::len).min().unwrap_or(0);
    let moved = |pass: usize| {
        let logs: Vec<f64> = controls.iter().map(|c| (c[pass] / c[0]).ln()).collect();
        median(&logs)
    };
    (1..passes).map(moved).collect()
}

/// Returns the reasons why the times of a sample are not steady: control points drifted, or the samples of single
/// points differ too much.
fn unsteady(judged: &[&Measured], drift: &[f64], limits: &Margins) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(moved) = drift.iter().copied().find(|d| d.abs() > limits.bias) {
        reasons.push(format!("the control points drifted by {} during the run", percent(moved)));
    }
    let restless = judged.iter().filter(|p| p.is_unsteady()).count();
    if restless * 2 > judged.len() {
        reasons.push(format!(
            "in {restless} of {} points the samples of one point differ more than 95 % of reruns do",
            judged.len()
        ));
    }
    reasons
}

/// Returns the median log ratio of a control table, from its measured points. `None` if there are too few points or
/// their times are not steady.
pub(crate) fn control(
    points: &[Measured],
    controls: &[Vec<f64>],
    limits: &Margins,
) -> Option<Middle> {
    let judged: Vec<&Measured> = points.iter().filter(|p| p.is_judged()).collect();
    let is_steady = unsteady(&judged, &drift(controls), limits).is_empty();
    (is_steady && judged.len() >= limits.least_points)
        .then(|| Measured::middle(&judged, collections(limits), limits))
}

/// Returns a sentence if the difference between measured and recorded time is nearly the same number of µs in at least
/// half of the points. Otherwise returns `None`.
fn constant(judged: &[&Measured], limits: &Margins) -> Option<String> {
    let us = |p: &&Measured| Some((p.measured_ms()? - p.point.recorded_ms) * 1e3);
    let mut us: Vec<f64> = judged.iter().filter_map(us).collect();
    us.sort_by(f64::total_cmp);
    let logs: Vec<f64> = judged.iter().filter_map(|p| p.ratio().map(f64::ln)).collect();
    let width = |values: &[f64]| middle_half(values) / median(values).abs();
    let most = limits.constant[0].min(limits.constant[1] * width(&logs));
    (width(&us) <= most).then(|| {
        format!(
            "the difference is nearly constant, {:+.0} to {:+.0} µs in half of the points: rather something per call than a {} kernel",
            Figure(quantile(&us, 0.25)),
            Figure(quantile(&us, 0.75)),
            if median(&us) > 0.0 { "slower" } else { "faster" }
        )
    })
}

impl Verdict {
    fn conclude(&mut self, judged: &[&Measured], trouble: &[String], limits: &Margins) {
        let unsure = self.unsure(judged, trouble, limits);
        let wrong = self.wrong(judged, limits);
        (self.outcome, self.reasons) = match (unsure.is_empty(), wrong.is_empty()) {
            (false, _) => (Outcome::Inconclusive, unsure),
            (true, false) => (Outcome::Fail, wrong),
            (true, true) => match self.imprecise(limits) {
                Some(why) => (Outcome::Inconclusive, vec![why]),
                None => (Outcome::Pass, Vec::new()),
            },
        };
    }

    /// Returns the reasons why the measurements are unreliable; empty if they are reliable.
    fn unsure(&self, judged: &[&Measured], trouble: &[String], limits: &Margins) -> Vec<String> {
        let mut reasons = trouble.to_vec();
        reasons.extend(unsteady(judged, &self.drift, limits));
        if judged.len() < limits.least_points {
            reasons.push(format!(
                "only {} points could be compared, at least {} are needed",
                judged.len(),
                limits.least_points
            ));
        }
        reasons
    }

    /// Returns the reasons why the table disagrees with the measurements; empty if it agrees.
    fn wrong(&self, judged: &[&Measured], limits: &Margins) -> Vec<String> {
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
        reasons.extend(slices::wrong(&self.slices));
        if !reasons.is_empty() {
            reasons.extend(constant(judged, limits));
        }
        reasons
    }

    /// Returns a sentence if the points cannot rule out a large error of the table; `None` otherwise.
    fn imprecise(&self, limits: &Margins) -> Option<String> {
        // Without points, `excluded` is NaN, so nothing is ruled out.
        if self.excluded <= limits.excludes.ln_1p() {
            return None;
        }
        Some(format!(
            "measured times are {} in the median, as in undisturbed collections, but the table may be {} off: take more points",
            against_recorded(self.bias),
            size(self.excluded)
        ))
    }

    /// Adds a reason why the points do not cover the whole table. A passing table becomes inconclusive. Changes nothing
    /// if `why` is `None`.
    pub(crate) fn add_uncovered(&mut self, why: Option<String>) {
        self.outcome =
            self.outcome.max(why.as_ref().map_or(Outcome::Pass, |_| Outcome::Inconclusive));
        self.reasons.extend(why);
    }
}

#[cfg(test)]
mod tests;
