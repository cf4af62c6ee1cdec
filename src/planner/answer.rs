//! The runner's replies.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{PlannerError, Quant};

/// The planner's reply to the request `versions`: the versions of each backend on each system.
#[derive(Debug, Deserialize)]
pub(super) struct VersionsReply {
    pub backends: Vec<BackendVersions>,
}

/// The versions that a query can name for one backend on one system.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct BackendVersions {
    pub system: String,
    pub backend: String,
    /// The version in each slot (`current`, `next`, `previous`), by slot name; `None` if the database does not declare
    /// slots.
    pub slots: Option<BTreeMap<String, String>>,
    /// The version that the planner uses for a query without a version; `None` if there is none.
    pub latest: Option<String>,
}

/// The planner's reply to the request `sources`: the files that serve each table. The map's keys are the tables' file
/// names. The files of a table are in the order in which the planner reads them, with paths relative to the folder of
/// systems.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct SourcesReply {
    pub tables: BTreeMap<String, Vec<SourceFile>>,
}

/// The path of a file, and the kernels whose rows are taken from the file. All rows are taken if the kernels are
/// `None`.
pub(super) type SourceFile = (String, Option<Vec<String>>);

/// The planner's reply to the request `load`. For each table, by file name: the error with which the engine refuses the
/// table, or `None` if the engine loads it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct LoadReply {
    pub tables: BTreeMap<String, Option<PlannerError>>,
}

/// The planner's reply to the request `predict`: the predictions for one model.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PredictReply {
    /// The quantisation that the planner chose.
    pub quant: Quant,
    /// The kinds of each operation, by the operation's name. A kind is a list of texts: first the kind's name, such as
    /// `Gemm`, then the dtypes of the tables that this kind reads.
    pub operations: BTreeMap<String, Vec<Vec<String>>>,
    pub points: Vec<PointReply>,
}

impl PredictReply {
    /// Creates the reply for a model that the package refuses as a whole: all `steps` have the same error.
    pub(crate) fn refused(error: &PlannerError, steps: usize) -> Self {
        let points = vec![PointReply::Error { error: error.clone() }; steps];
        Self { quant: Quant::default(), operations: BTreeMap::new(), points }
    }

    /// Returns true if at least one step has a predicted time.
    pub(crate) fn has_time(&self) -> bool {
        self.points.iter().any(|point| matches!(point, PointReply::Time { .. }))
    }
}

/// The predicted time of an inference step, or the planner's error.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum PointReply {
    Time { ms: f64, power: f64, ops: Vec<(String, f64, Option<Source>)> },
    Error { error: PlannerError },
}

/// The planner's answers about one version in one state of the database.
#[derive(Debug, Clone, Default)]
pub(super) struct StateAnswer {
    /// For each table that the planner's engine was asked to load, by file name: the engine's error, or `None` if the
    /// table was loaded.
    pub loads: BTreeMap<String, Option<PlannerError>>,
    /// The predictions in the order of the requested models. `None` for a model about which the planner gave no answer.
    pub cases: Vec<Option<PredictReply>>,
    /// The most recent reason why the planner gave no answer; `None` if all requests were answered.
    pub failure: Option<String>,
}

/// The origin of an operation's predicted time. The variants are ordered from the most to the least trustworthy origin.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Deserialize,
    serde::Serialize,
    schemars::JsonSchema,
    strum_macros::IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Source {
    /// The time comes from measured rows.
    Silicon,
    /// The time comes from measured rows and formulas.
    Mixed,
    /// The time comes from a formula that was fitted to measurements.
    Empirical,
    /// The time is computed from the times of other operations.
    Estimated,
    /// The time is the speed-of-light bound: a lower bound, not a prediction.
    Sol,
    /// The planner names an origin that this program does not know.
    #[serde(other)]
    Unknown,
}

impl Source {
    /// Returns true if the time is based on measured rows.
    pub(crate) fn is_measured(self) -> bool {
        matches!(self, Self::Silicon | Self::Mixed)
    }

    /// Returns true if the time is based on neither measured rows nor a fitted formula.
    pub(crate) fn is_guess(self) -> bool {
        matches!(self, Self::Estimated | Self::Sol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::cases::Phase;

    #[test]
    fn reports_and_json_use_the_same_names() {
        use Source::{Empirical, Estimated, Mixed, Silicon, Sol, Unknown};
        for source in [Silicon, Mixed, Empirical, Estimated, Sol, Unknown] {
            assert_eq!(serde_json::to_value(source).unwrap(), source.into_str());
        }
        for phase in [Phase::Prefill, Phase::Decode] {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.into_str());
        }
    }
}
