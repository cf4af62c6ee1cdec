//! The checks that rules on traces name; the traces room performs them.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::{CheckInputs, Input, Judge};

/// The check that a rule on traces performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceCheck {
    /// Files that cannot be read.
    Unreadable,
    /// Fields of cards one by one.
    CardInvalid,
    /// Fields of a card that contradict each other or the card's name.
    CardContradiction,
    /// Fields of a card that are unlikely for its accelerator.
    CardImplausible,
    /// Fields of configs one by one.
    ConfigInvalid,
    /// Fields of a config that contradict each other, its name or its card.
    ConfigContradiction,
    /// Single columns and cells of metric files.
    MetricInvalid,
    /// Cells of a row that contradict each other.
    MetricContradiction,
    /// Values that a measurement cannot produce.
    MetricImplausible,
    /// Files of ranks.
    Ranks,
}

impl Judge for TraceCheck {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Traces])
    }
}
