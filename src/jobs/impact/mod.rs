//! What a change does to predictions: the time of steps of default models before and after, and the
//! rows behind every value that moved.
//!
//! It is an estimate of static steps: [`LEFT_OUT`] names what it does not model.

mod attribution;
pub(crate) mod choose;
mod document;
mod findings;
mod power;
pub(crate) mod predict;
pub(crate) mod predictions;
mod states;
mod summary;
mod text;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tracing::debug;

use crate::base::error::Result;
use crate::base::exit::Exit;
use crate::jobs::DocumentFormat;
use crate::planner::{Layout, POINTS, Quant, RowsRead, Step, StepPoint, Store};

pub use attribution::OpMove;
pub use choose::PlannedVersion;
pub use document::schema;
pub use power::PowerCoverage;
pub(crate) use states::{Opened, States};

/// What a prediction of a step leaves out.
pub const LEFT_OUT: [&str; 5] = [
    "scheduling and batching over time",
    "memory capacity",
    "speculative decoding",
    "pipeline and context parallelism",
    "corrections that the planner applies above its tables",
];

/// What to predict.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch that is merged into; without it one state is predicted.
    pub base: Option<String>,
    /// The commit to predict; the files on disk without one.
    pub head: Option<String>,
    /// Systems, as globs; all when empty.
    pub systems: Vec<String>,
    /// Backends, as globs; all when empty.
    pub backends: Vec<String>,
    /// Versions by name; when empty those that changed and each backend's current one.
    pub versions: Vec<String>,
    /// Models, as globs over their names; all when empty.
    pub models: Vec<String>,
    /// A folder that overlays the rules.
    pub rules: Option<PathBuf>,
}

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

/// Predicts a state, or two.
///
/// # Errors
///
/// When nothing can be predicted: no database, a missing commit, an unknown name, a list of operations
/// that is not written right. What the data does not answer is part of the result.
pub fn run(options: &Options) -> Result<Impact> {
    let start = Instant::now();
    let opened = Opened::read(options)?;
    debug!(models = opened.models.lists.len(), took = ?start.elapsed(), "read lists and listed files");
    let mut impact = Impact { compared: options.base.is_some(), ..Impact::default() };
    let versions = opened.versions(options)?;
    for of_system in versions.chunk_by(|a, b| a.system == b.system) {
        // What was read of a system is dropped before the next one is.
        let store = Store::default();
        let states = opened.states(&store)?;
        impact.cases.extend(predict::cases(&states, &opened.models, of_system));
    }
    impact.versions = versions;
    impact.elapsed = start.elapsed();
    debug!(cases = impact.cases.len(), took = ?impact.elapsed, "predicted");
    Ok(impact)
}

/// Renders an impact.
pub fn render(impact: &Impact, format: DocumentFormat) -> String {
    format.render(
        || summary::headline(impact),
        || text::document(impact),
        || document::json(impact),
    )
}
