//! What rules on traces look for; the traces room judges them.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::Judge;

/// What a rule on traces looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceCheck {
    /// Files that cannot be read.
    Unreadable,
    /// Fields of cards one by one.
    CardInvalid,
    /// Fields of a card against each other and its name.
    CardContradiction,
    /// What its accelerator makes unlikely.
    CardImplausible,
    /// Fields of configs one by one.
    ConfigInvalid,
    /// Fields of a config against each other, its name and its card.
    ConfigContradiction,
    /// Columns and cells of metric files one by one.
    MetricInvalid,
    /// Cells of a row against each other.
    MetricContradiction,
    /// What no measurement gives.
    MetricImplausible,
    /// Files of ranks.
    Ranks,
}

impl Judge for TraceCheck {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Traces])
    }
}
