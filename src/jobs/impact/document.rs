//! The JSON document of an impact, schema `perfdb-gate/impact/v1`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::summary::LEFT_OUT;
use crate::jobs::ToolName;
use crate::planner::{
    Impact, ImpactCase, Layout, OpMove, Phase, PlannedVersion, PointImpact, PowerCoverage, Quant,
    Source, Step, StepEffect,
};

/// The JSON document that `impact --format json` writes.
#[derive(Serialize, JsonSchema)]
struct ImpactDocument<'a> {
    /// Always `perfdb-gate/impact/v1`.
    schema: &'static str,
    /// The program that wrote the document.
    tool: ToolName,
    /// Always `impact`.
    command: &'static str,
    /// Name and version of the Python package that predicted the times, with its interpreter.
    planner: &'a str,
    /// Counts of steps over all cases, such as the number of steps whose predicted time changed.
    summary: ImpactCounts,
    /// Effects that the predicted times leave out, such as scheduling.
    left_out: [&'static str; 5],
    /// The versions without predictions, each with the reason.
    not_asked: Vec<Unasked<'a>>,
    /// The predictions of each case: a model in a parallel layout on one version of a backend.
    cases: Vec<CaseView<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ImpactCounts {
    /// Number of cases. A case is a model in a parallel layout on one version of a backend.
    cases: usize,
    /// Number of steps whose time was requested from the planner.
    values: usize,
    /// Number of steps whose predicted time changed.
    moved: usize,
    /// Number of steps that had a predicted time before the change and have an error after it.
    lost: usize,
    /// Number of steps that had an error before the change and have a predicted time after it.
    gained: usize,
    /// Number of steps that have an error after the change.
    errors: usize,
    /// How much of the predicted time before the change comes from operations with measured energy, over all steps.
    /// Absent if nothing is compared or no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// How much of the predicted time after the change comes from operations with measured energy, over all steps.
    /// Absent if no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_after: Option<PowerCoverage>,
    /// Duration of the run in ms.
    elapsed_ms: u64,
}

/// A version without predictions.
#[derive(Serialize, JsonSchema)]
struct Unasked<'a> {
    /// The system, backend and version without predictions.
    #[serde(flatten)]
    version: &'a PlannedVersion,
    /// The reason why the version has no predictions.
    why: &'a str,
}

/// The predictions of one case: a model in a parallel layout on one version of a backend.
#[derive(Serialize, JsonSchema)]
struct CaseView<'a> {
    /// The system, backend and version.
    #[serde(flatten)]
    version: &'a PlannedVersion,
    /// The model's name.
    model: &'a str,
    /// The quantisation that the planner chooses for the model after the change.
    quant: &'a Quant,
    /// The quantisation that the planner chooses for the model before the change; absent if it is the same as after the
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    quant_before: Option<&'a Quant>,
    /// Degrees of parallelism, such as the number of GPUs that share a layer.
    parallel: Layout,
    /// How much of the case's predicted time before the change comes from operations with measured energy. Absent if
    /// nothing is compared or no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// How much of the case's predicted time after the change comes from operations with measured energy. Absent if no
    /// step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_after: Option<PowerCoverage>,
    /// The predicted times of each step.
    points: Vec<StepView<'a>>,
}

/// The predicted time of one step before and after the change.
#[derive(Serialize, JsonSchema)]
struct StepView<'a> {
    /// The kind of step: prefill or decode.
    phase: Phase,
    /// Number of requests in the batch.
    batch: u64,
    /// Tokens per request. In prefill, these tokens are computed. In decode, these tokens are in the cache.
    isl: u64,
    /// Predicted time before the change in ms; null if nothing is compared or the planner gave no time.
    before_ms: Option<f64>,
    /// Predicted time after the change in ms; null if the planner gave no time.
    after_ms: Option<f64>,
    /// Share of `before_ms` that comes from operations with measured energy; null if `before_ms` is null.
    power_before: Option<f64>,
    /// Share of `after_ms` that comes from operations with measured energy; null if `after_ms` is null.
    power_after: Option<f64>,
    /// The error message if the planner failed to predict the step before or after the change. If both predictions
    /// failed, this is the message for the time after the change. Null if no prediction failed.
    error: Option<String>,
    /// The error message for the time before the change, if both predictions failed; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_before: Option<String>,
    /// Operations whose time changed or now comes from another source, largest change first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ops: Vec<OpView<'a>>,
}

/// An operation whose time changed or now comes from another source, such as a formula instead of measured rows.
#[derive(Serialize, JsonSchema)]
struct OpView<'a> {
    /// The operation's name in the planner.
    name: &'a str,
    /// The operation's time before the change in ms, summed over all layers.
    before_ms: f64,
    /// The operation's time after the change in ms, summed over all layers.
    after_ms: f64,
    /// What the time before the change is based on, such as measured rows or a formula.
    source_before: Option<Source>,
    /// What the time after the change is based on, such as measured rows or a formula.
    source_after: Option<Source>,
    /// Paths of the changed tables from which the planner takes the operation's time.
    tables: &'a [String],
    /// A sentence on why the time changed: the changed tables with their slices, or other changed files.
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
