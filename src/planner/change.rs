//! Predicted step times before and after a change.

use std::time::Duration;

use super::{
    AskedVersion, Case, Layout, MoveCause, PlannedVersion, PlannerError, Quant, Refusal, Source,
    StepPoint,
};

/// The planner's answers about one state, or about two states to compare.
#[derive(Debug, Default)]
pub struct Impact {
    /// The planner that was asked.
    pub planner: PlannerView,
    /// True if two states are compared.
    pub compared: bool,
    /// Versions about which the planner was asked.
    pub asked: Vec<AskedVersion>,
    /// Versions about which the planner was not asked or gave no answer, each with the reason.
    pub not_asked: Vec<(PlannedVersion, String)>,
    /// Predictions of all models, in the order of versions, then in the order of the YAML file of models.
    pub cases: Vec<ImpactCase>,
    /// Tables and versions that the planner's engine refuses after the change, but did not refuse before.
    pub refusals: Vec<Refusal>,
    /// Systems that accept models which another system with GPUs of the same generation refuses.
    pub neighbours: Vec<Neighbour>,
    /// The reason why the planner gave no answer at all; `None` if it gave at least one.
    pub failure: Option<String>,
    /// Time that asking the planner took, from the first request to the last answer.
    pub elapsed: Duration,
}

/// The planner that was asked.
#[derive(Debug, Default, Clone)]
pub struct PlannerView {
    /// The package with its version and the Python interpreter, as text for people.
    pub name: String,
    /// The package's name and version.
    pub package: String,
    /// A note that the installed package is older than the planner in the judged repository; `None` if it is not older
    /// or if one of the two versions is unknown.
    pub age: Option<String>,
}

/// A system that accepts models which another system refuses. Both systems have GPUs of the same generation.
#[derive(Debug)]
pub struct Neighbour {
    /// The version that refuses the models.
    pub version: PlannedVersion,
    /// The version on the other system that accepts the models.
    pub other: PlannedVersion,
    /// The cases (models with their layouts) that the other system accepts.
    pub cases: Vec<Case>,
}

/// The predictions for one model on one version of a backend, before and after a change.
#[derive(Debug)]
pub struct ImpactCase {
    /// The system, backend and version.
    pub version: PlannedVersion,
    /// The model with its layout and the requested quantisation.
    pub case: Case,
    /// Quantisation that the planner chose after the change. If the planner refuses the model after the change, this is
    /// the quantisation that it chose before.
    pub quant: Quant,
    /// Quantisation that the planner chose before the change; `None` if it is the same after the change. It can differ
    /// because the precision of attention depends on the available tables.
    pub quant_before: Option<Quant>,
    /// The steps that are predicted for the model.
    pub points: Vec<PointImpact>,
}

/// The time of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Time in ms.
    pub ms: f64,
    /// Share of the time that comes from operations with measured energy, from 0 to 1.
    pub power: f64,
}

impl StepTime {
    /// Returns true if the planner reports the power of the step: operations with measured energy make up at least 90 %
    /// of the step's time.
    pub(crate) fn has_power(&self) -> bool {
        self.power >= 0.9
    }
}

/// The time of a step, or the planner's error.
pub(crate) type Step = Result<StepTime, PlannerError>;

/// The predictions of a step before and after a change.
#[derive(Debug)]
pub struct PointImpact {
    /// The step.
    pub point: StepPoint,
    /// Prediction before the change; `None` if only one state is predicted.
    pub before: Option<Step>,
    /// Prediction after the change.
    pub after: Step,
    /// Operations whose time or source changed, largest change first.
    pub ops: Vec<OpMove>,
}

/// An operation whose time or source changed.
#[derive(Debug, Clone, PartialEq)]
pub struct OpMove {
    /// The operation's name in the model's operation list.
    pub name: String,
    /// Time of the operation before the change in ms, summed over all layers.
    pub before: f64,
    /// Time of the operation after the change in ms, summed over all layers.
    pub after: f64,
    /// Origin of the time before the change; `None` if the planner states none.
    pub source_before: Option<Source>,
    /// Origin of the time after the change; `None` if the planner states none.
    pub source_after: Option<Source>,
    /// The changed tables that explain the operation's new time or source.
    pub cause: MoveCause,
}

/// The effect of a change on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepEffect {
    /// The time is the same, or only one state is predicted.
    Same,
    /// The time changed.
    Moved,
    /// The step had a time and has an error now.
    Lost,
    /// The step had an error and has a time now.
    Gained,
    /// The step has an error now, and had no time before.
    Missing,
}

impl OpMove {
    /// Returns the time after the change minus the time before, in ms.
    pub(crate) fn delta(&self) -> f64 {
        self.after - self.before
    }

    /// Returns true if the time was based on measured rows before the change, and is based on neither measurements nor
    /// a fitted formula after it.
    pub(crate) fn is_lost(&self) -> bool {
        self.source_before.is_some_and(Source::is_measured)
            && self.source_after.is_none_or(Source::is_guess)
    }

    /// Returns true if the time was based on measured rows before the change, and is based on a fitted formula after
    /// it.
    pub(crate) fn becomes_empirical(&self) -> bool {
        self.source_before.is_some_and(Source::is_measured)
            && self.source_after == Some(Source::Empirical)
    }
}

impl PointImpact {
    /// Returns the effect of the change on the step.
    pub(crate) fn effect(&self) -> StepEffect {
        match (&self.before, &self.after) {
            (Some(Ok(before)), Ok(after)) if before.ms != after.ms => StepEffect::Moved,
            (Some(Ok(_)), Err(_)) => StepEffect::Lost,
            (Some(Err(_)), Ok(_)) => StepEffect::Gained,
            (_, Err(_)) => StepEffect::Missing,
            _ => StepEffect::Same,
        }
    }

    /// Returns the step's time after the change divided by its time before the change; `None` unless both states have a
    /// time.
    pub(crate) fn factor(&self) -> Option<f64> {
        let (before, after) = (self.before.as_ref()?.as_ref().ok()?, self.after.as_ref().ok()?);
        (before.ms > 0.0 && after.ms > 0.0).then(|| after.ms / before.ms)
    }

    /// Returns the size of the step's time change as an absolute logarithm, so that doubling and halving the time give
    /// the same value. Returns 0 unless both states have a time.
    pub(crate) fn distance(&self) -> f64 {
        self.factor().map_or(0.0, |factor| factor.ln().abs())
    }
}

impl ImpactCase {
    /// Returns true if the planner refuses every step in every state.
    pub(crate) fn is_refused(&self) -> bool {
        self.points.iter().all(|point| point.effect() == StepEffect::Missing)
    }

    /// Renders the model and its layout.
    pub(crate) fn subject(&self) -> String {
        format!("{} {}", self.case.model, self.layout().words())
    }

    /// Returns the layout.
    pub(crate) fn layout(&self) -> Layout {
        self.case.parallel
    }
}

impl Impact {
    /// Iterates over all predicted steps, each with the model that the step belongs to.
    pub(crate) fn points(&self) -> impl Iterator<Item = (&ImpactCase, &PointImpact)> {
        self.cases.iter().flat_map(|case| case.points.iter().map(move |point| (case, point)))
    }

    /// Returns the time after the change divided by the time before, for each step whose time changed.
    pub(crate) fn factors(&self) -> Vec<f64> {
        let moved = self.points().filter(|(_, point)| point.effect() == StepEffect::Moved);
        moved.filter_map(|(_, point)| point.factor()).collect()
    }

    /// Counts the steps on which the change has the effect `effect`.
    pub(crate) fn count(&self, effect: StepEffect) -> usize {
        self.points().filter(|(_, point)| point.effect() == effect).count()
    }

    /// Returns the models with their layouts for which the planner predicts no step time on `version` after the change.
    /// Models that the planner does not know are left out.
    pub(crate) fn refused_on(&self, version: &PlannedVersion) -> impl Iterator<Item = &Case> {
        let cases = self.cases.iter().filter(move |case| case.version == *version);
        let refused = cases.filter(|case| {
            case.points.iter().all(|p| p.after.as_ref().is_err_and(|why| why.class != "NotKnown"))
        });
        refused.map(|case| &case.case)
    }

    /// Returns true if at least one step of the model `case` on `version` has a predicted time after the change.
    pub(super) fn has_time(&self, version: &PlannedVersion, case: &Case) -> bool {
        self.points()
            .any(|(of, point)| of.version == *version && of.case == *case && point.after.is_ok())
    }
}

/// The share of predicted time that comes from operations with measured energy, over all steps of one state.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct PowerCoverage {
    /// Mean share of a step's time that comes from operations with measured energy, from 0 to 1.
    pub mean: f64,
    /// Number of steps for which the planner reports power. These are steps with at least 90 % of their time in
    /// operations with measured energy.
    pub available: usize,
    /// Number of steps with a predicted time.
    pub steps: usize,
}

impl PowerCoverage {
    /// Returns the coverage before a change and the coverage after it. Each is `None` if its state has no predicted
    /// time.
    pub(crate) fn both<'p>(
        points: impl Iterator<Item = &'p PointImpact> + Clone,
    ) -> [Option<Self>; 2] {
        let before = points.clone().filter_map(|p| p.before.as_ref()?.as_ref().ok());
        let after = points.filter_map(|p| p.after.as_ref().ok());
        [Self::of(&before.collect::<Vec<_>>()), Self::of(&after.collect::<Vec<_>>())]
    }

    fn of(times: &[&StepTime]) -> Option<Self> {
        let steps = times.len();
        let sum: f64 = times.iter().map(|time| time.power).sum();
        let available = times.iter().filter(|time| time.has_power()).count();
        (steps > 0).then(|| Self { mean: sum / steps as f64, available, steps })
    }
}
