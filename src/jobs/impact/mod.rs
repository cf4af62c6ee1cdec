//! What a change does to predictions: the time of steps of default models before and after, and the
//! rows behind every value that moved.
//!
//! It is an estimate of static steps: [`LEFT_OUT`] names what it does not model.

mod attribution;
mod choose;
mod document;
mod human;
mod markdown;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tracing::debug;

use crate::base::error::Result;
use crate::base::exit::Exit;
use crate::base::threads;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, no_database};
use crate::database::source::{self, Source};
use crate::jobs::DocumentFormat;
use crate::planner::{
    BackendPlan, Layout, ModelList, Models, POINTS, PlannerSession, Quant, Refusal, Resolved,
    Snapshot, Step, StepPoint, Store, TableName,
};

pub use attribution::OpMove;
pub use choose::PlannedVersion;

use choose::Choice;

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
    /// Threads; 0 for as many as the machine has cores.
    pub threads: usize,
}

/// Predictions before and after.
#[derive(Debug)]
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
            (Some(Ok(before)), Ok(after)) if before != after => Fate::Moved,
            (Some(Ok(_)), Err(_)) => Fate::Lost,
            (Some(Err(_)), Ok(_)) => Fate::Gained,
            (_, Err(_)) => Fate::Missing,
            _ => Fate::Same,
        }
    }

    /// The change of its time, as a share of the time before; none where it has not both.
    pub fn change(&self) -> Option<f64> {
        let (before, after) = (self.before.as_ref()?.as_ref().ok()?, self.after.as_ref().ok()?);
        (*before > 0.0).then(|| after / before - 1.0)
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
    let head = source::open(&options.root, options.head.as_deref())?;
    let base = options.base.as_deref().map(|base| head.base(base)).transpose()?;
    let judged = base.as_ref().map_or(head.as_ref(), |base| base as &dyn Source);
    // A change must not alter how it is judged.
    let settings = Settings::read(judged, options.rules.as_deref(), None)?;
    let specs = &settings.specs;
    let wanted = choose::names(&options.models, "model", Models::names(&specs.library))?;
    let models = Models::read(&specs.library, |name| wanted.has(name))?;
    debug!(models = models.lists.len(), took = ?start.elapsed(), "parsed");

    let after = Catalog::walk(head.as_ref(), specs)?;
    let before = base.as_ref().map(|base| Catalog::walk(base, specs)).transpose()?;
    if after.systems.is_empty() && before.as_ref().is_none_or(|b| b.systems.is_empty()) {
        return Err(no_database());
    }
    debug!(took = ?start.elapsed(), "listed");
    let store = Store::default();
    let after = Snapshot::new(head.as_ref(), &after, &store)?;
    let before = base.as_ref().zip(before.as_ref());
    let before = before.map(|(base, catalog)| Snapshot::new(base, catalog, &store)).transpose()?;
    let states = States { before: before.as_ref(), after: &after };
    let versions = Choice { options, models: &models, states: &states }.versions()?;
    let threads = threads::threads(options.threads);
    let cases = predict(&states, &models, &versions, threads);
    debug!(cases = cases.len(), took = ?start.elapsed(), "predicted");
    Ok(Impact { compared: before.is_some(), versions, cases, elapsed: start.elapsed() })
}

/// Renders an impact.
///
/// # Errors
///
/// When a template fails, which is a fault of this program.
pub fn render(impact: &Impact, format: DocumentFormat) -> Result<String> {
    Ok(match format {
        DocumentFormat::Human { brief: true } => human::brief(impact),
        DocumentFormat::Human { brief: false } => human::text(impact),
        DocumentFormat::Markdown => markdown::text(impact)?,
        DocumentFormat::Json => document::json(impact),
    })
}

/// The states of a comparison, or one.
struct States<'s, 'a> {
    before: Option<&'s Snapshot<'a>>,
    after: &'s Snapshot<'a>,
}

/// A version on both sides, or why there is none.
struct VersionSides<'s, 'a> {
    version: &'s PlannedVersion,
    before: Option<Result<PlannerSession<'s, 'a>, Refusal>>,
    after: Result<PlannerSession<'s, 'a>, Refusal>,
}

impl<'s, 'a> VersionSides<'s, 'a> {
    fn of(states: &States<'s, 'a>, version: &'s PlannedVersion) -> Self {
        let side = |snapshot: &'s Snapshot<'a>| version.session(snapshot);
        Self { version, before: states.before.map(side), after: side(states.after) }
    }

    /// The sessions that there are.
    fn sessions(&self) -> impl Iterator<Item = &PlannerSession<'s, 'a>> {
        let before = self.before.iter().filter_map(|side| side.as_ref().ok());
        before.chain(self.after.as_ref().ok())
    }

    /// Whether both sides answer alike, so that one needs no evaluation.
    fn is_same(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(Ok(before)), Ok(after)) => before.answers_as(after),
            _ => false,
        }
    }
}

fn predict(
    states: &States<'_, '_>,
    models: &Models,
    versions: &[PlannedVersion],
    threads: usize,
) -> Vec<ImpactCase> {
    let sides: Vec<VersionSides<'_, '_>> =
        versions.iter().map(|v| VersionSides::of(states, v)).collect();
    read_ahead(&sides, models, threads);
    let mut work: Vec<(&VersionSides<'_, '_>, &ModelList, &BackendPlan, usize)> = Vec::new();
    for side in &sides {
        for list in &models.lists {
            let Some(plan) = list.plan(&side.version.backend) else { continue };
            work.extend((0..plan.layouts.len()).map(|layout| (side, list, plan, layout)));
        }
    }
    let order: Vec<usize> = (0..work.len()).collect();
    threads::map(&work, &order, threads, |(side, list, plan, layout)| {
        case(side, list, plan, *layout)
    })
}

/// Decodes the tables that will be asked for, the largest first, by all threads.
fn read_ahead(sides: &[VersionSides<'_, '_>], models: &Models, threads: usize) {
    let mut files: BTreeMap<(TableName, String, bool), (u64, &PlannerSession<'_, '_>, usize)> =
        BTreeMap::new();
    for side in sides {
        let mut tables = BTreeSet::new();
        models.lists.iter().for_each(|list| list.tables(&side.version.backend, &mut tables));
        for (second, session) in side.sessions().enumerate() {
            for table in &tables {
                for (i, file) in session.files(*table).enumerate() {
                    let key = (*table, file.entry.path.clone(), second > 0);
                    files.entry(key).or_insert((file.entry.size, session, i));
                }
            }
        }
    }
    let files: Vec<(TableName, u64, &PlannerSession<'_, '_>, usize)> = files
        .into_iter()
        .map(|((table, ..), (size, session, i))| (table, size, session, i))
        .collect();
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(files[*i].1));
    threads::map(&files, &order, threads, |(table, _, session, i)| session.read(*table, *i));
}

fn case(
    side: &VersionSides<'_, '_>,
    list: &ModelList,
    plan: &BackendPlan,
    layout: usize,
) -> ImpactCase {
    let planned = &plan.layouts[layout];
    let resolve = |session: &PlannerSession<'_, '_>| list.resolve(plan, planned, session);
    let after = side.after.as_ref().map(|session| (session, resolve(session)));
    let before = match &side.before {
        None => None,
        Some(_) if side.is_same() => Some(after.clone()),
        Some(before) => Some(before.as_ref().map(|session| (session, resolve(session)))),
    };
    let step = |state: &Result<(&PlannerSession<'_, '_>, Resolved), &Refusal>, point| match state {
        Ok((session, list)) => list.ops.step(session, point),
        Err(why) => Err((*why).clone()),
    };
    let point = |point: StepPoint| {
        let now = step(&after, point);
        let then = match &before {
            Some(_) if side.is_same() => Some(now.clone()),
            before => before.as_ref().map(|before| step(before, point)),
        };
        let mut impact = PointImpact { point, before: then, after: now, ops: Vec::new() };
        if let (Fate::Moved, Some(Ok(before)), Ok(after)) = (impact.fate(), &before, &after) {
            let parts = |(session, list): &(&PlannerSession<'_, '_>, Resolved)| {
                list.ops.parts(session, point)
            };
            impact.ops = attribution::moves(parts(before), parts(after));
        }
        impact
    };
    let points = POINTS.into_iter().map(point).collect();
    let quants = [before.as_ref().and_then(|b| b.as_ref().ok()), after.as_ref().ok()];
    let [quant_before, quant] = quants.map(|side| side.map(|(_, list)| list.quant.clone()));
    let differs = quant.is_some() && quant_before != quant;
    ImpactCase {
        version: side.version.clone(),
        model: list.model.clone(),
        parallel: planned.parallel,
        quant: quant.or(quant_before.clone()).unwrap_or_else(|| list.stated(plan)),
        quant_before: quant_before.filter(|_| differs),
        points,
    }
}
