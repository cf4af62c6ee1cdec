//! The runner's replies.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{PlannerError, Quant};

/// The reply to `versions`.
#[derive(Debug, Deserialize)]
pub(super) struct VersionsReply {
    pub backends: Vec<BackendVersions>,
}

/// The versions of a backend on a system that a query can ask for.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct BackendVersions {
    pub system: String,
    pub backend: String,
    /// The versions by slot (`current`, `next`, `previous`); `None` if the tree names no slots.
    pub slots: Option<BTreeMap<String, String>>,
    /// The version that answers queries that name no version; `None` if there is none.
    pub latest: Option<String>,
}

/// The reply to `sources`: the files that serve each table, by the table's file name, in the order in which the
/// planner reads them. Paths are relative to the folder of systems; a file of another backend has the kernels whose rows
/// are taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct SourcesReply {
    pub tables: BTreeMap<String, Vec<SourceFile>>,
}

/// The path of a file, and the kernels whose rows are taken from it; `None` for all rows.
pub(super) type SourceFile = (String, Option<Vec<String>>);

/// The reply to `load`: the error of each table that the engine refuses, by the table's file name.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct LoadReply {
    pub tables: BTreeMap<String, Option<PlannerError>>,
}

/// The reply to `predict`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PredictReply {
    /// The quantisation that the planner chose.
    pub quant: Quant,
    /// The kinds of each operation, by the operation's name. Each kind is a list: its name, then the dtypes that it
    /// reads.
    pub operations: BTreeMap<String, Vec<Vec<String>>>,
    pub points: Vec<PointReply>,
}

impl PredictReply {
    /// Creates the reply for a case that the package refuses as a whole: every step has the error.
    pub(crate) fn refused(error: &PlannerError, steps: usize) -> Self {
        let points = vec![PointReply::Error { error: error.clone() }; steps];
        Self { quant: Quant::default(), operations: BTreeMap::new(), points }
    }

    /// Returns true if a step has a time.
    pub(crate) fn has_time(&self) -> bool {
        self.points.iter().any(|point| matches!(point, PointReply::Time { .. }))
    }
}

/// The prediction of a step.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum PointReply {
    Time { ms: f64, power: f64, ops: Vec<(String, f64, Option<Source>)> },
    Error { error: PlannerError },
}

/// The planner's answers about one version in one state.
#[derive(Debug, Clone, Default)]
pub(super) struct StateAnswer {
    /// The error of each table that was loaded, by file name.
    pub loads: BTreeMap<String, Option<PlannerError>>,
    /// The predictions of the cases, in order; `None` for a case without an answer.
    pub cases: Vec<Option<PredictReply>>,
    /// The last reason why an answer is missing; `None` if none is.
    pub failed: Option<String>,
}

/// The origin of an operation's time, the most trustworthy first.
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
    /// Measured rows.
    Silicon,
    /// Measured rows and formulas.
    Mixed,
    /// A formula fitted to measurements.
    Empirical,
    /// Computed from other operations.
    Estimated,
    /// The speed of light: a lower bound, not a prediction.
    Sol,
    /// An origin that this program does not know.
    #[serde(other)]
    Unknown,
}

impl Source {
    /// Returns true if measured rows are behind the time.
    pub(crate) fn is_measured(self) -> bool {
        matches!(self, Self::Silicon | Self::Mixed)
    }

    /// Returns true if neither a measurement nor a fitted formula is behind the time.
    pub(crate) fn is_guess(self) -> bool {
        matches!(self, Self::Estimated | Self::Sol)
    }
}
