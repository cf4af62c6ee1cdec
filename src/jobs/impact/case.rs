//! The predictions of a change: cases and their steps.

use std::time::Duration;

use super::attribution::OpMove;
use super::planned_version::PlannedVersion;
use crate::base::exit::Exit;
use crate::planner::{Layout, Quant, RowsRead, Step, StepPoint};

/// Effects that a step's prediction does not model.
pub const LEFT_OUT: [&str; 5] = [
    "scheduling and batching over time",
    "memory capacity",
    "speculative decoding",
    "pipeline and context parallelism",
    "corrections that the planner applies above its tables",
];

/// Predictions of one state, or of two states to compare.
#[derive(Debug, Default)]
pub struct Impact {
    /// True if two states are compared.
    pub compared: bool,
    /// Versions that were predicted.
    pub versions: Vec<PlannedVersion>,
    /// Cases in the order of systems, backends, versions and models.
    pub cases: Vec<ImpactCase>,
    /// Duration of the run.
    pub elapsed: Duration,
}

/// A model in one layout, on one version of a backend.
#[derive(Debug)]
pub struct ImpactCase {
    /// The system, backend and version.
    pub version: PlannedVersion,
    /// The model's name.
    pub model: String,
    /// The distribution of the model over GPUs.
    pub parallel: Layout,
    /// Quantisation planned after the change, or before it if nothing is planned after.
    pub quant: Quant,
    /// Quantisation before the change, if it differs: data decides on the precision of attention.
    pub quant_before: Option<Quant>,
    /// The steps of the case.
    pub points: Vec<PointImpact>,
    /// Rows of the watched files that the steps read after the change.
    pub rows_read: RowsRead,
}

/// The predictions of a step before and after a change.
#[derive(Debug)]
pub struct PointImpact {
    /// The step.
    pub point: StepPoint,
    /// Prediction before the change; `None` if only one state is predicted.
    pub before: Option<Step>,
    /// Prediction after the change.
    pub after: Step,
    /// Operations whose time changed, largest change first; empty unless the step's time changed.
    pub ops: Vec<OpMove>,
}

/// The effect of a change on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The time is the same, or only one state is predicted.
    Same,
    /// The time changed.
    Moved,
    /// The step had a time and has an error now.
    Lost,
    /// The step had an error and has a time now.
    Gained,
    /// The step has an error in every predicted state.
    Missing,
}

impl PointImpact {
    /// Returns the effect of the change on the step.
    pub fn fate(&self) -> Fate {
        match (&self.before, &self.after) {
            (Some(Ok(before)), Ok(after)) if before.ms != after.ms => Fate::Moved,
            (Some(Ok(_)), Err(_)) => Fate::Lost,
            (Some(Err(_)), Ok(_)) => Fate::Gained,
            (_, Err(_)) => Fate::Missing,
            _ => Fate::Same,
        }
    }

    /// Returns the relative change of the time, such as 0.1 for 10 % more; `None` unless both
    /// states have a time.
    pub fn change(&self) -> Option<f64> {
        let (before, after) = (self.before.as_ref()?.as_ref().ok()?, self.after.as_ref().ok()?);
        (before.ms > 0.0).then(|| after.ms / before.ms - 1.0)
    }
}

impl Impact {
    /// Iterates over the steps of all cases, each with its case.
    pub fn points(&self) -> impl Iterator<Item = (&ImpactCase, &PointImpact)> {
        self.cases.iter().flat_map(|case| case.points.iter().map(move |point| (case, point)))
    }

    /// Returns the relative changes of the steps whose time changed.
    pub fn changes(&self) -> Vec<f64> {
        let moved = self.points().filter(|(_, point)| point.fate() == Fate::Moved);
        moved.filter_map(|(_, point)| point.change()).collect()
    }

    /// Counts the steps with this fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.points().filter(|(_, point)| point.fate() == fate).count()
    }

    /// Returns the exit code: inconclusive if nothing was predicted.
    pub fn exit(&self) -> Exit {
        if self.cases.is_empty() { Exit::Inconclusive } else { Exit::Clean }
    }
}
