//! The effect of a pull request on what the planner answers. The job that asks the planner judges it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::Judge;

/// Predicted step times of a current version that are lost.
pub struct LostPredictions;

/// When a step time that moved is more than something to know.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovedPredictions {
    /// The change of a step's time, as a share of it, from which on a change that should move nothing
    /// is a warning.
    pub unexplained: f64,
}

/// Models that the planner cannot plan in full on a current version.
pub struct IncompleteWorkflows;

/// Tables and versions that the planner cannot load.
pub struct PlannerRefuses;

impl Judge for LostPredictions {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes, Input::Predictions])
    }
}

impl Judge for MovedPredictions {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes, Input::Predictions])
    }
}

impl Judge for IncompleteWorkflows {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Predictions])
    }
}

impl Judge for PlannerRefuses {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Predictions])
    }
}
