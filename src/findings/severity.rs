//! The severity of a finding, and the confidence in the findings of a rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum_macros::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Severity {
    /// A defect that a maintainer would fix.
    Error,
    /// A suspicious value that a maintainer should check.
    Warning,
    /// Information that needs no action.
    Info,
}

impl Severity {
    /// Returns `most` if the severity is worse than `most`; otherwise returns the severity unchanged.
    pub(crate) fn at_most(self, most: Self) -> Self {
        self.max(most)
    }
}

/// How often warnings and infos of a rule turned out to be right. People judged each one by hand, on data for which no
/// rule was tuned (docs/precision.md). Variants are in ascending order of confidence.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
    strum_macros::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Confidence {
    /// Less than 75 % of the rule's findings were defects, or too few were judged: worth a look.
    #[default]
    Look,
    /// At least 75 % of the rule's findings were defects.
    Likely,
    /// At least 95 % of the rule's findings were defects, or the finding only states what a file contains.
    Certain,
}

impl Confidence {
    /// Returns the confidence as a precision level of GitHub code scanning, such as `very-high`.
    pub(crate) fn precision(self) -> &'static str {
        match self {
            Self::Look => "medium",
            Self::Likely => "high",
            Self::Certain => "very-high",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn reports_and_json_use_the_same_names() {
        for severity in [Severity::Error, Severity::Warning, Severity::Info] {
            assert_eq!(serde_json::to_value(severity).unwrap(), severity.into_str());
        }
        for confidence in Confidence::value_variants() {
            assert_eq!(serde_json::to_value(confidence).unwrap(), confidence.into_str());
        }
    }
}
