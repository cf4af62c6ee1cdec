//! What the ratios of some keys say: same, faster, slower, mixed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::stats::at_least;
use crate::gpu::judge::{Middle, power};
use crate::gpu::recipe::Margins;
use crate::specs::NoiseBand;

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tendency {
    /// No more apart than honest collections are.
    Same,
    /// The second is faster.
    Faster,
    /// The second is slower.
    Slower,
    /// Parts differ either way, or single keys by more than reruns do.
    Mixed,
    /// Too few keys to say.
    Unclear,
}

impl Tendency {
    /// Its name in reports.
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

/// A key's log ratio, with how far honest reruns of it differ.
#[derive(Debug, Clone, Copy)]
pub struct Deviation<'a> {
    /// The logarithm of the second latency over the first.
    pub log: f64,
    /// None where nothing is known.
    pub band: Option<&'a NoiseBand>,
}

impl Deviation<'_> {
    /// Whether it is beyond the 99th percentile of reruns.
    pub fn is_beyond(&self) -> bool {
        self.band.is_some_and(|band| self.log.abs() > band.p99.ln())
    }
}

/// The ratios of some keys, summed up.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioSummary {
    /// Keys that have a ratio.
    pub keys: usize,
    /// Their middle ratio; null of no keys.
    pub ratio: Option<f64>,
    /// Where it is with the confidence of `rules/recipes.yaml`; null of no keys.
    pub interval: Option<[f64; 2]>,
    /// A ratio that honest collections of as many keys stay within, either way.
    pub allowed: f64,
    /// Share of keys beyond the 99th percentile of reruns.
    pub beyond: f64,
    /// What they say.
    pub verdict: Tendency,
}

impl RatioSummary {
    /// Sums up keys by the statistics of `remeasure`'s verdict.
    pub fn of(all: &[Deviation<'_>], limits: &Margins) -> Self {
        let logs: Vec<f64> = all.iter().map(|d| d.log).collect();
        let bands: Vec<&NoiseBand> = all.iter().filter_map(|d| d.band).collect();
        let middle = Middle::of(&logs, power::middle_half(&bands, limits), limits);
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

/// What a table says, by all its keys and by its slices.
pub fn of_table(whole: &RatioSummary, slices: &[Tendency]) -> Tendency {
    let any = |tendency: Tendency| slices.contains(&tendency);
    match whole.verdict {
        Tendency::Unclear => Tendency::Unclear,
        _ if any(Tendency::Faster) && any(Tendency::Slower) => Tendency::Mixed,
        Tendency::Same
            if any(Tendency::Faster) || any(Tendency::Slower) || any(Tendency::Mixed) =>
        {
            Tendency::Mixed
        }
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
    fn keys_say_what_their_middle_and_their_tail_say() {
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
        let none = summary([]);
        assert_eq!((none.ratio, none.interval, none.beyond), (None, None, 0.0));
    }

    #[test]
    fn slices_that_go_either_way_are_mixed() {
        let same = summary([0.0; 9]);
        assert_eq!(of_table(&same, &[Tendency::Same, Tendency::Unclear]), Tendency::Same);
        assert_eq!(of_table(&same, &[Tendency::Same, Tendency::Slower]), Tendency::Mixed);
        let slower = summary([0.2; 9]);
        assert_eq!(of_table(&slower, &[Tendency::Slower, Tendency::Same]), Tendency::Slower);
        assert_eq!(of_table(&slower, &[Tendency::Slower, Tendency::Faster]), Tendency::Mixed);
    }
}
