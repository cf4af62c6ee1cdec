//! The checks that rules on traces name; the traces room performs them.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::checks::{CheckInputs, Input, Judge};

/// The check of end-to-end traces that a rule performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceCheck {
    /// Reports trace files that cannot be read.
    Unreadable,
    /// Checks each field of a workload card by itself.
    CardInvalid,
    /// Compares the fields of a workload card with each other and with the card's name.
    CardContradiction,
    /// Reports fields of a workload card that are unlikely for its accelerator.
    CardImplausible,
    /// Checks each field of an experiment config by itself.
    ConfigInvalid,
    /// Compares the fields of an experiment config with each other, with its name and with its workload card.
    ConfigContradiction,
    /// Checks each column and each cell of a metric file by itself.
    MetricInvalid,
    /// Reports cells of one row of a metric file that contradict each other.
    MetricContradiction,
    /// Reports metric values that a measurement cannot produce.
    MetricImplausible,
    /// Reports ranks without a file, empty files of ranks, and ranks with different numbers of iterations.
    Ranks,
}

impl Judge for TraceCheck {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Traces])
    }
}
