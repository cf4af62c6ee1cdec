//! Measures how much predicted time comes from rows with measured power.

use super::case::{ImpactCase, PointImpact};
use crate::planner::StepTime;

/// Coverage of predicted steps by measured power, in one state.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct PowerCoverage {
    /// Mean share of a step's time that comes from rows with measured power, from 0 to 1.
    pub mean: f64,
    /// Number of steps for which the planner reports power: at least 90 % of their time is covered.
    pub available: usize,
    /// Number of steps with a time.
    pub steps: usize,
}

impl PowerCoverage {
    /// Returns the coverage of steps; `None` if there are no steps.
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

    /// Returns the coverage before and after a change; `None` for a state without times.
    pub fn both<'p>(points: impl Iterator<Item = &'p PointImpact> + Clone) -> [Option<Self>; 2] {
        let before = points.clone().filter_map(|p| p.before.as_ref()?.as_ref().ok().copied());
        let after = points.filter_map(|p| p.after.as_ref().ok().copied());
        [Self::of(before), Self::of(after)]
    }

    /// Renders the coverage, such as `power of 12 of 280 steps`.
    pub fn words(self) -> String {
        format!("power of {} of {} steps", self.available, self.steps)
    }
}

impl ImpactCase {
    /// Returns the coverage of the case's steps before and after the change.
    pub fn power(&self) -> [Option<PowerCoverage>; 2] {
        PowerCoverage::both(self.points.iter())
    }

    /// Returns true if the number of steps with power differs before and after the change.
    pub fn power_changes(&self) -> bool {
        matches!(self.power(), [Some(before), Some(after)] if before.available != after.available)
    }
}
