//! The predictions of a change: cases, their steps, and the operations that changed a step's time.

use std::time::Duration;

use super::planned_version::PlannedVersion;
use crate::base::exit::Exit;
use crate::planner::{Layout, Quant, RowsRead, Step, StepPart, StepPoint, StepTime, TableLookup};

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

/// An operation whose time changed.
#[derive(Debug, Clone, PartialEq)]
pub struct OpMove {
    /// The operation's name in the model's operation list.
    pub name: String,
    /// Time before the change, in ms over all layers.
    pub before: f64,
    /// Time after the change, in ms over all layers.
    pub after: f64,
    /// Lookups before the change that are not among the lookups after it.
    pub lookups_before: Vec<TableLookup>,
    /// Lookups after the change that are not among the lookups before it.
    pub lookups_after: Vec<TableLookup>,
}

impl OpMove {
    /// Returns the time after the change minus the time before, in ms.
    pub fn delta(&self) -> f64 {
        self.after - self.before
    }
}

/// Returns the operations of a step whose time changed, largest change first. Operations are
/// matched by name: the lists can differ, since data decides on the precision of attention.
pub fn moves(before: Vec<StepPart>, after: Vec<StepPart>) -> Vec<OpMove> {
    let mut moves: Vec<OpMove> = Vec::new();
    for now in after {
        let Some(then) = before.iter().find(|part| part.name == now.name) else { continue };
        let (Ok(a), Ok(b)) = (&then.ms, &now.ms) else { continue };
        if a == b {
            continue;
        }
        let gone = then.lookups.iter().filter(|l| !now.lookups.contains(l)).cloned().collect();
        let new = now.lookups.iter().filter(|l| !then.lookups.contains(l)).cloned().collect();
        moves.push(OpMove {
            name: now.name,
            before: *a,
            after: *b,
            lookups_before: gone,
            lookups_after: new,
        });
    }
    moves.sort_by(|a, b| b.delta().abs().total_cmp(&a.delta().abs()));
    moves
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

/// Coverage of predicted steps by measured power, in one state.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct PowerCoverage {
    /// Mean share of a step's time that comes from rows with measured power, from 0 to 1.
    pub mean: f64,
    /// Number of steps for which the planner reports power: at least 90 % of their time is covered.
    pub available: usize,
    /// Number of steps with a time.
    pub steps: usize,
}

impl PowerCoverage {
    /// Returns the coverage of steps; `None` if there are no steps.
    pub fn of(times: impl Iterator<Item = StepTime>) -> Option<Self> {
        let times: Vec<StepTime> = times.collect();
        let steps = times.len();
        let sum: f64 = times.iter().map(|time| time.measured_power).sum();
        (steps > 0).then(|| Self {
            mean: sum / steps as f64,
            available: times.iter().filter(|time| time.has_power()).count(),
            steps,
        })
    }

    /// Returns the coverage before and after a change; `None` for a state without times.
    pub fn both<'p>(points: impl Iterator<Item = &'p PointImpact> + Clone) -> [Option<Self>; 2] {
        let before = points.clone().filter_map(|p| p.before.as_ref()?.as_ref().ok().copied());
        let after = points.filter_map(|p| p.after.as_ref().ok().copied());
        [Self::of(before), Self::of(after)]
    }

    /// Renders the coverage, such as `power of 12 of 280 steps`.
    pub fn words(self) -> String {
        format!("power of {} of {} steps", self.available, self.steps)
    }
}

impl ImpactCase {
    /// Returns the coverage of the case's steps before and after the change.
    pub fn power(&self) -> [Option<PowerCoverage>; 2] {
        PowerCoverage::both(self.points.iter())
    }

    /// Returns true if the number of steps with power differs before and after the change.
    pub fn power_changes(&self) -> bool {
        matches!(self.power(), [Some(before), Some(after)] if before.available != after.available)
    }
}
