//! Judges the latency ratios of a set of keys: same, faster, slower, mixed or unclear.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::stats::at_least;
use crate::gpu::judge::{Middle, collections, power};
use crate::gpu::recipe::Margins;
use crate::specs::NoiseBand;

/// The verdict of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tendency {
    /// The latencies differ by no more than honest collections do.
    Same,
    /// The second collection is faster.
    Faster,
    /// The second collection is slower.
    Slower,
    /// Some parts are faster and others slower, or single keys differ by more than rerun noise.
    Mixed,
    /// There are too few keys for a verdict, or the confidence interval crosses the margin.
    Unclear,
}

impl Tendency {
    /// Returns the verdict's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Mixed => "mixed",
            Self::Unclear => "unclear",
        }
    }
}

/// A key's log ratio with the rerun noise at its latency.
#[derive(Debug, Clone, Copy)]
pub struct Deviation<'a> {
    /// The logarithm of the second latency divided by the first.
    pub log: f64,
    /// The rerun noise; `None` if it is not known for this table and backend.
    pub band: Option<&'a NoiseBand>,
}

impl Deviation<'_> {
    /// Returns true if the ratio is beyond the 99th percentile of reruns.
    pub fn is_beyond(&self) -> bool {
        self.band.is_some_and(|band| self.log.abs() > band.p99.ln())
    }
}

/// Summary statistics of the latency ratios of a set of keys.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioSummary {
    /// Number of keys that have a ratio.
    pub keys: usize,
    /// The median ratio; null if there are no keys.
    pub ratio: Option<f64>,
    /// Confidence interval of the median ratio, with the confidence of `rules/recipes.yaml`; null
    /// if there are no keys.
    pub interval: Option<[f64; 2]>,
    /// The median ratio that is still accepted as the same for this number of keys, as a factor in
    /// either direction.
    pub allowed: f64,
    /// Share of keys whose ratio is beyond the 99th percentile of reruns, from 0 to 1.
    pub beyond: f64,
    /// The verdict on these keys.
    pub verdict: Tendency,
}

impl RatioSummary {
    /// Summarises keys with the same statistics as the verdict of `remeasure`.
    pub fn of(all: &[Deviation<'_>], limits: &Margins) -> Self {
        let logs: Vec<f64> = all.iter().map(|d| d.log).collect();
        let bands: Vec<&NoiseBand> = all.iter().filter_map(|d| d.band).collect();
        let middle =
            Middle::of(&logs, power::middle_half(&bands, limits), collections(limits), limits);
        let beyond = all.iter().filter(|d| d.is_beyond()).count();
        let interval = middle.interval(limits.confidence);
        let some = !logs.is_empty();
        let verdict = if all.len() < limits.least_points {
            Tendency::Unclear
        } else if middle.bias > middle.allowed {
            Tendency::Slower
        } else if middle.bias < -middle.allowed {
            Tendency::Faster
        } else if at_least(beyond, all.len(), limits.tail_share) < limits.tail_level {
            Tendency::Mixed
        } else if interval.low < -middle.allowed || interval.high > middle.allowed {
            Tendency::Unclear
        } else {
            Tendency::Same
        };
        Self {
            keys: all.len(),
            ratio: some.then(|| middle.bias.exp()),
            interval: some.then(|| [interval.low.exp(), interval.high.exp()]),
            allowed: middle.allowed.exp(),
            beyond: if some { beyond as f64 / all.len() as f64 } else { 0.0 },
            verdict,
        }
    }
}

/// The share of the smaller table's keys that must be in both tables for a verdict on the tables.
const LEAST_SHARE: f64 = 0.1;

/// Returns true if so few keys are in both tables that they do not represent the tables.
pub fn share_few(common: usize, only_a: usize, only_b: usize) -> bool {
    (common as f64) < LEAST_SHARE * (common + only_a.min(only_b)) as f64
}

/// Returns the verdict on a table from the summary of all its keys and the verdicts of its slices.
pub fn of_table(whole: &RatioSummary, slices: &[Tendency]) -> Tendency {
    let any = |tendency: Tendency| slices.contains(&tendency);
    let differs = any(Tendency::Faster) || any(Tendency::Slower) || any(Tendency::Mixed);
    match whole.verdict {
        _ if any(Tendency::Faster) && any(Tendency::Slower) => Tendency::Mixed,
        Tendency::Same | Tendency::Unclear if differs => Tendency::Mixed,
        own => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Margins {
        Margins {
            bias: 0.02,
            level: 0.03,
            excludes: 0.05,
            confidence: 0.9,
            tail_share: 0.1,
            tail_level: 0.01,
            least_points: 6,
            ..Margins::default()
        }
    }

    fn summary(logs: impl IntoIterator<Item = f64>) -> RatioSummary {
        let band =
            NoiseBand { below_ms: None, pairs: 1000, tables: 9, p50: 1.01, p95: 1.06, p99: 1.12 };
        let all: Vec<Deviation<'_>> =
            logs.into_iter().map(|log| Deviation { log, band: Some(&band) }).collect();
        RatioSummary::of(&all, &limits())
    }

    #[test]
    fn the_verdict_follows_the_median_and_the_tail() {
        let around = |middle: f64| (0..40).map(move |i| middle + 0.01 * f64::from(i % 3 - 1));
        assert_eq!(summary(around(0.0)).verdict, Tendency::Same);
        assert_eq!(summary(around(0.1)).verdict, Tendency::Slower);
        assert_eq!(summary(around(-0.1)).verdict, Tendency::Faster);
        let tails = around(0.0).enumerate().map(|(i, log)| match i % 4 {
            0 if i % 8 == 0 => 0.5,
            0 => -0.5,
            _ => log,
        });
        assert_eq!(summary(tails).verdict, Tendency::Mixed);
        assert_eq!(summary([0.0; 5]).verdict, Tendency::Unclear);
        // The median of a few scattered keys may be beyond the margin.
        let scattered = [-0.15, -0.1, -0.06, -0.04, -0.03, 0.0, 0.02, 0.04];
        assert_eq!(summary(scattered).verdict, Tendency::Unclear);
        assert!(share_few(8, 288, 900) && !share_few(8, 288, 0) && !share_few(60, 240, 900));
        let none = summary([]);
        assert_eq!((none.ratio, none.interval, none.beyond), (None, None, 0.0));
    }

    #[test]
    fn a_table_with_faster_and_slower_slices_is_mixed() {
        let same = summary([0.0; 9]);
        assert_eq!(of_table(&same, &[Tendency::Same, Tendency::Unclear]), Tendency::Same);
        assert_eq!(of_table(&same, &[Tendency::Same, Tendency::Slower]), Tendency::Mixed);
        let unclear = summary([0.0; 5]);
        assert_eq!(of_table(&unclear, &[Tendency::Same, Tendency::Unclear]), Tendency::Unclear);
        let slower = summary([0.2; 9]);
        assert_eq!(of_table(&slower, &[Tendency::Slower, Tendency::Same]), Tendency::Slower);
        assert_eq!(of_table(&slower, &[Tendency::Slower, Tendency::Faster]), Tendency::Mixed);
    }
}
