//! The predictions of a change: cases, and the steps of each.

use std::time::Duration;

use super::attribution::OpMove;
use super::planned_version::PlannedVersion;
use crate::base::exit::Exit;
use crate::planner::{Layout, Quant, RowsRead, Step, StepPoint};

/// What a prediction of a step leaves out.
pub const LEFT_OUT: [&str; 5] = [
    "scheduling and batching over time",
    "memory capacity",
    "speculative decoding",
    "pipeline and context parallelism",
    "corrections that the planner applies above its tables",
];

/// Predictions before and after.
#[derive(Debug, Default)]
pub struct Impact {
    /// Whether there are two states.
    pub compared: bool,
    /// Versions that were predicted.
    pub versions: Vec<PlannedVersion>,
    /// Cases in the order of systems, backends, versions and models.
    pub cases: Vec<ImpactCase>,
    /// How long it took.
    pub elapsed: Duration,
}

/// A model in a layout, on a version of a backend.
#[derive(Debug)]
pub struct ImpactCase {
    /// Where it runs.
    pub version: PlannedVersion,
    /// Its name.
    pub model: String,
    /// How it is spread over GPUs.
    pub parallel: Layout,
    /// Quantisation as it is planned after the change, or before it where nothing is planned after.
    pub quant: Quant,
    /// Quantisation before, where it differs: data decides on the precision of attention.
    pub quant_before: Option<Quant>,
    /// Its steps.
    pub points: Vec<PointImpact>,
    /// Rows that its steps read after the change, of the files that were asked for.
    pub rows_read: RowsRead,
}

/// A step before and after.
#[derive(Debug)]
pub struct PointImpact {
    /// The step.
    pub point: StepPoint,
    /// Its time before, ms; none where there is one state.
    pub before: Option<Step>,
    /// Its time after, ms.
    pub after: Step,
    /// Operations whose time moved, most first; of moved steps alone.
    pub ops: Vec<OpMove>,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The same time, or one state.
    Same,
    /// Another time.
    Moved,
    /// It had a time, and has none.
    Lost,
    /// It had none, and has one.
    Gained,
    /// It has none.
    Missing,
}

impl PointImpact {
    /// What became of it.
    pub fn fate(&self) -> Fate {
        match (&self.before, &self.after) {
            (Some(Ok(before)), Ok(after)) if before.ms != after.ms => Fate::Moved,
            (Some(Ok(_)), Err(_)) => Fate::Lost,
            (Some(Err(_)), Ok(_)) => Fate::Gained,
            (_, Err(_)) => Fate::Missing,
            _ => Fate::Same,
        }
    }

    /// The change of its time, as a share of the time before; none where it has not both.
    pub fn change(&self) -> Option<f64> {
        let (before, after) = (self.before.as_ref()?.as_ref().ok()?, self.after.as_ref().ok()?);
        (before.ms > 0.0).then(|| after.ms / before.ms - 1.0)
    }
}

impl Impact {
    /// Its steps with their cases.
    pub fn points(&self) -> impl Iterator<Item = (&ImpactCase, &PointImpact)> {
        self.cases.iter().flat_map(|case| case.points.iter().map(move |point| (case, point)))
    }

    /// How many steps have a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.points().filter(|(_, point)| point.fate() == fate).count()
    }

    /// Inconclusive where nothing was predicted.
    pub fn exit(&self) -> Exit {
        if self.cases.is_empty() { Exit::Inconclusive } else { Exit::Clean }
    }
}
