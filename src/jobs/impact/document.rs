//! The JSON document of an impact, schema `perfdb-gate/impact/v1`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::summary::LEFT_OUT;
use crate::jobs::ToolName;
use crate::planner::{
    Impact, ImpactCase, Layout, OpMove, Phase, PlannedVersion, PointImpact, PowerCoverage, Quant,
    Source, Step, StepEffect,
};

/// The document of `impact --format json`.
#[derive(Serialize, JsonSchema)]
struct ImpactDocument<'a> {
    /// Always `perfdb-gate/impact/v1`.
    schema: &'static str,
    /// The program that wrote the document.
    tool: ToolName,
    /// Always `impact`.
    command: &'static str,
    /// The package that predicted, with its version and interpreter.
    planner: &'a str,
    /// Counts over all cases.
    summary: ImpactCounts,
    /// Effects that a prediction does not model.
    left_out: [&'static str; 5],
    /// Versions without predictions, each with the reason.
    not_asked: Vec<Unasked<'a>>,
    /// Predictions of each case, which is a model in a parallel layout on a version.
    cases: Vec<CaseView<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ImpactCounts {
    /// Number of cases; a case is a model in a parallel layout on a version.
    cases: usize,
    /// Number of predicted steps.
    values: usize,
    /// Number of steps whose time changed.
    moved: usize,
    /// Number of steps that had a time and have an error now.
    lost: usize,
    /// Number of steps that had an error and have a time now.
    gained: usize,
    /// Number of steps with an error.
    errors: usize,
    /// Coverage of all predicted steps by measured power, before the change; absent if there is one state or no step
    /// has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// Coverage of all predicted steps by measured power, after the change; absent if no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_after: Option<PowerCoverage>,
    /// Duration of the run in ms.
    elapsed_ms: u64,
}

/// A version about which the planner was not asked, or gave no answer.
#[derive(Serialize, JsonSchema)]
struct Unasked<'a> {
    /// The system, backend and version.
    #[serde(flatten)]
    version: &'a PlannedVersion,
    /// The reason why the version has no predictions.
    why: &'a str,
}

/// The predictions for one case: a model with its degrees of parallelism, on one version of a backend.
#[derive(Serialize, JsonSchema)]
struct CaseView<'a> {
    /// The system, backend and version.
    #[serde(flatten)]
    version: &'a PlannedVersion,
    /// The model's name.
    model: &'a str,
    /// Quantisation planned after the change.
    quant: &'a Quant,
    /// Quantisation before the change, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    quant_before: Option<&'a Quant>,
    /// Degrees of parallelism.
    parallel: Layout,
    /// Coverage of the case's steps by measured power, before the change; absent if there is one state or no step has
    /// a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// Coverage of the case's steps by measured power, after the change; absent if no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_after: Option<PowerCoverage>,
    /// The steps of the case.
    points: Vec<StepView<'a>>,
}

/// The prediction of one step.
#[derive(Serialize, JsonSchema)]
struct StepView<'a> {
    /// Prefill or decode.
    phase: Phase,
    /// Number of requests in the batch.
    batch: u64,
    /// Tokens per request: computed tokens in prefill, cached tokens in decode.
    isl: u64,
    /// Time before the change in ms; null if there is one state or no time.
    before_ms: Option<f64>,
    /// Time after the change in ms; null if there is no time.
    after_ms: Option<f64>,
    /// Share of the time before the change that comes from operations with measured energy.
    power_before: Option<f64>,
    /// Share of the time after the change that comes from operations with measured energy.
    power_after: Option<f64>,
    /// The reason why the step has no time after the change. If it has one, the reason why it had none before; null if
    /// there is no such reason.
    error: Option<String>,
    /// The reason why the step had no time before the change, if it has none after the change either.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_before: Option<String>,
    /// Operations whose time or source changed, largest change first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ops: Vec<OpView<'a>>,
}

/// An operation whose time or source changed.
#[derive(Serialize, JsonSchema)]
struct OpView<'a> {
    /// The operation's name in the model's operation list.
    name: &'a str,
    /// The operation's time before the change in ms, summed over all layers.
    before_ms: f64,
    /// The operation's time after the change in ms, summed over all layers.
    after_ms: f64,
    /// Origin of the time before the change, as the planner names it.
    source_before: Option<Source>,
    /// Origin of the time after the change, as the planner names it.
    source_after: Option<Source>,
    /// The paths of the changed tables that serve the operation.
    tables: &'a [String],
    /// The cause of the change, for people: the tables with their changed slices, or other changed files.
    cause: &'a str,
}

/// Returns the JSON schema of the document.
pub(crate) fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<ImpactDocument<'_>>()
}

impl<'a> From<&'a OpMove> for OpView<'a> {
    fn from(op: &'a OpMove) -> Self {
        Self {
            name: &op.name,
            before_ms: op.before,
            after_ms: op.after,
            source_before: op.source_before,
            source_after: op.source_after,
            tables: &op.cause.tables,
            cause: &op.cause.words,
        }
    }
}

impl<'a> From<&'a PointImpact> for StepView<'a> {
    fn from(point: &'a PointImpact) -> Self {
        let error = |step: &Step| step.as_ref().err().map(ToString::to_string);
        let before = point.before.as_ref();
        let then_time = before.and_then(|step| step.as_ref().ok());
        let now_time = point.after.as_ref().ok();
        let (now, then) = (error(&point.after), before.and_then(error));
        let crate::planner::StepPoint(phase, batch, isl) = point.point;
        Self {
            phase,
            batch,
            isl,
            before_ms: then_time.map(|time| time.ms),
            after_ms: now_time.map(|time| time.ms),
            power_before: then_time.map(|time| time.power),
            power_after: now_time.map(|time| time.power),
            error_before: then.clone().filter(|_| now.is_some()),
            error: now.or(then),
            ops: point.ops.iter().map(OpView::from).collect(),
        }
    }
}

impl<'a> From<&'a ImpactCase> for CaseView<'a> {
    fn from(case: &'a ImpactCase) -> Self {
        let [power_before, power_after] = PowerCoverage::both(case.points.iter());
        Self {
            version: &case.version,
            model: &case.case.model,
            quant: &case.quant,
            quant_before: case.quant_before.as_ref(),
            parallel: case.layout(),
            power_before,
            power_after,
            points: case.points.iter().map(StepView::from).collect(),
        }
    }
}

pub(super) fn json(impact: &Impact) -> String {
    let points: Vec<&PointImpact> = impact.points().map(|(_, point)| point).collect();
    let [power_before, power_after] = PowerCoverage::both(points.iter().copied());
    let not_asked = impact.not_asked.iter().map(|(version, why)| Unasked { version, why });
    let document = ImpactDocument {
        schema: "perfdb-gate/impact/v1",
        tool: ToolName::own(),
        command: "impact",
        planner: &impact.planner.name,
        summary: ImpactCounts {
            cases: impact.cases.len(),
            values: points.len(),
            moved: impact.count(StepEffect::Moved),
            lost: impact.count(StepEffect::Lost),
            gained: impact.count(StepEffect::Gained),
            errors: impact.count(StepEffect::Missing) + impact.count(StepEffect::Lost),
            power_before,
            power_after,
            elapsed_ms: impact.elapsed.as_millis() as u64,
        },
        left_out: LEFT_OUT,
        not_asked: not_asked.collect(),
        cases: impact.cases.iter().map(CaseView::from).collect(),
    };
    serde_json::to_string(&document).unwrap_or_default()
}
