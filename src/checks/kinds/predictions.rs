//! The effect of a pull request on what the planner answers. The job that asks the planner judges it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::{CheckInputs, Input, Judge};

/// The check for step times that the planner predicted before a change, but not after it. Only current versions are
/// checked.
pub(crate) struct LostPredictions;

/// The limit above which a changed step time is a warning instead of an info.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovedPredictions {
    /// The finding is a warning if a step time changes by at least this share, such as 0.1 for 10 %, although the pull
    /// request does not explain the change. Otherwise it is an info.
    pub unexplained: f64,
}

/// The check for models that the planner refuses on a backend's current version, but plans on a similar system.
pub(crate) struct IncompleteWorkflows;

/// The check for tables and versions that the planner cannot load.
pub(crate) struct PlannerRefuses;

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
