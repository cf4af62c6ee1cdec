//! The effect of a pull request on predicted step times. The job that predicts them judges it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::Judge;

/// Answers of a current version that become errors.
pub struct LostPredictions;

/// When a step time that moved is more than something to know.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MovedPredictions {
    /// The change of a step's time, as a share of it, from which on a change that should move nothing
    /// is a warning.
    pub unexplained: f64,
}

/// Returns the inputs of both checks.
fn inputs() -> CheckInputs {
    CheckInputs::of(&[Input::Changes, Input::Predictions])
}

impl Judge for LostPredictions {
    fn needs(&self) -> CheckInputs {
        inputs()
    }
}

impl Judge for MovedPredictions {
    fn needs(&self) -> CheckInputs {
        inputs()
    }
}
