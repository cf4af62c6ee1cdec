//! How much of predicted time stands on rows whose power was measured.

use super::case::{ImpactCase, PointImpact};
use crate::planner::StepTime;

/// Coverage of some steps in one state.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct PowerCoverage {
    /// The mean share of a step's time that stands on rows with power.
    pub mean: f64,
    /// Steps of which the planner can say the power: those covered to 90 % or more.
    pub available: usize,
    /// Steps with a time.
    pub steps: usize,
}

impl PowerCoverage {
    /// Of steps; none where none has a time.
    pub fn of(times: impl Iterator<Item = StepTime>) -> Option<Self> {
        let times: Vec<StepTime> = times.collect();
        let steps = times.len();
        let sum: f64 = times.iter().map(|time| time.measured_power).sum();
        (steps > 0).then(|| Self {
            mean: sum / steps as f64,
            available: times.iter().filter(|time| time.has_power()).count(),
            steps,
        })
    }

    /// Of steps before and after; none where a state has no times.
    pub fn both<'p>(points: impl Iterator<Item = &'p PointImpact> + Clone) -> [Option<Self>; 2] {
        let before = points.clone().filter_map(|p| p.before.as_ref()?.as_ref().ok().copied());
        let after = points.filter_map(|p| p.after.as_ref().ok().copied());
        [Self::of(before), Self::of(after)]
    }

    /// `power of 12 of 280 steps`
    pub fn words(self) -> String {
        format!("power of {} of {} steps", self.available, self.steps)
    }
}

impl ImpactCase {
    /// Coverage before and after.
    pub fn power(&self) -> [Option<PowerCoverage>; 2] {
        PowerCoverage::both(self.points.iter())
    }

    /// Whether the planner can say the power of more or fewer steps than before.
    pub fn power_changes(&self) -> bool {
        matches!(self.power(), [Some(before), Some(after)] if before.available != after.available)
    }
}
