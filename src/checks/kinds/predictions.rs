//! What a pull request does to predicted step times; the job that predicts them judges it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::inputs::CheckInputs;
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

/// What both need.
fn inputs() -> CheckInputs {
    CheckInputs { changes: true, predictions: true, ..CheckInputs::default() }
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
