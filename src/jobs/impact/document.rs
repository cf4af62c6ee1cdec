//! The JSON document of an impact, schema `perfdb-gate/impact/v1`.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::case::{Fate, Impact, ImpactCase, LEFT_OUT, PointImpact};
use super::{OpMove, PlannedVersion, PowerCoverage};
use crate::jobs::ToolName;
use crate::planner::{How, Layout, Phase, Quant, Step, TableLookup};

/// The document of `impact --format json`.
#[derive(Serialize, JsonSchema)]
struct ImpactDocument<'a> {
    /// Always `perfdb-gate/impact/v1`.
    schema: &'static str,
    /// The program that wrote the document.
    tool: ToolName,
    /// Always `impact`.
    command: &'static str,
    /// Counts over all cases.
    summary: ImpactCounts,
    /// Effects that a prediction does not model.
    left_out: [&'static str; 5],
    /// Paths of the files to which rows refer by index.
    files: Vec<&'a str>,
    /// Predictions per model, layout and version.
    cases: Vec<CaseView<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ImpactCounts {
    /// Number of cases, each a model in a layout on a version.
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
    /// Measured power before the change; absent if there is one state or no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// Measured power after the change; absent if no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_after: Option<PowerCoverage>,
    /// Duration of the run in ms.
    elapsed_ms: u64,
}

/// The predictions of a model in a layout on a version.
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
    /// Measured power before the change; absent if there is one state or no step has a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// Measured power after the change; absent if no step has a time.
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
    /// Number of requests.
    batch: u64,
    /// Tokens per request: computed tokens in prefill, cached tokens in decode.
    isl: u64,
    /// Time before the change in ms; null if there is one state or no time.
    before_ms: Option<f64>,
    /// Time after the change in ms; null if there is no time.
    after_ms: Option<f64>,
    /// Share of the time before the change that comes from rows with measured power.
    power_before: Option<f64>,
    /// Share of the time after the change that comes from rows with measured power.
    power_after: Option<f64>,
    /// The reason why the later state has no time, or else why the earlier state has none.
    error: Option<String>,
    /// The reason why the earlier state has no time, if the later state has none either.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_before: Option<String>,
    /// Operations of a changed step whose time changed, largest change first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ops: Vec<OpView<'a>>,
}

/// An operation whose time changed.
#[derive(Serialize, JsonSchema)]
struct OpView<'a> {
    /// The operation's name in the model's operation list.
    name: &'a str,
    /// Time before the change, in ms over all layers.
    before_ms: f64,
    /// Time after the change, in ms over all layers.
    after_ms: f64,
    /// Lookups before the change that are not among the lookups after it.
    lookups_before: Vec<LookupView<'a>>,
    /// Lookups after the change that are not among the lookups before it.
    lookups_after: Vec<LookupView<'a>>,
}

/// A lookup in a table.
#[derive(Serialize, JsonSchema)]
struct LookupView<'a> {
    /// The operation, or the part of a composed operation.
    op: &'a str,
    /// The table's file stem.
    table: &'a str,
    /// The key that was looked up.
    key: &'a str,
    /// The kind of answer, such as an exact row or an interpolation.
    how: How,
    /// True if the answer was scaled by link bandwidths to more GPUs than were measured.
    bandwidth_scaled: bool,
    /// Time in ms, before multiplication by layers.
    ms: f64,
    /// The rows behind the answer: index of the file, row from 0, weight.
    rows: Vec<(usize, u32, f64)>,
}

/// Returns the JSON schema of the document.
pub fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<ImpactDocument<'_>>()
}

/// Numbers of files, in the order of first use.
#[derive(Default)]
struct FileNumbers<'a> {
    numbers: BTreeMap<&'a str, usize>,
    paths: Vec<&'a str>,
}

impl<'a> FileNumbers<'a> {
    fn number(&mut self, path: &'a str) -> usize {
        *self.numbers.entry(path).or_insert_with(|| {
            self.paths.push(path);
            self.paths.len() - 1
        })
    }

    fn lookups(&mut self, lookups: &'a [TableLookup]) -> Vec<LookupView<'a>> {
        lookups.iter().map(|lookup| self.lookup(lookup)).collect()
    }

    fn lookup(&mut self, l: &'a TableLookup) -> LookupView<'a> {
        LookupView {
            op: &l.op,
            table: l.table,
            key: &l.key,
            how: l.how,
            bandwidth_scaled: l.bandwidth_scaled,
            ms: l.ms,
            rows: l.rows.iter().map(|r| (self.number(&r.origin.path), r.row, r.weight)).collect(),
        }
    }

    fn op(&mut self, op: &'a OpMove) -> OpView<'a> {
        OpView {
            name: &op.name,
            before_ms: op.before,
            after_ms: op.after,
            lookups_before: self.lookups(&op.lookups_before),
            lookups_after: self.lookups(&op.lookups_after),
        }
    }

    fn point(&mut self, point: &'a PointImpact) -> StepView<'a> {
        let error = |step: &Step| step.as_ref().err().map(ToString::to_string);
        let before = point.before.as_ref();
        let then_time = before.and_then(|step| step.as_ref().ok());
        let now_time = point.after.as_ref().ok();
        let (now, then) = (error(&point.after), before.and_then(error));
        StepView {
            phase: point.point.phase,
            batch: point.point.batch,
            isl: point.point.isl,
            before_ms: then_time.map(|time| time.ms),
            after_ms: now_time.map(|time| time.ms),
            power_before: then_time.map(|time| time.measured_power),
            power_after: now_time.map(|time| time.measured_power),
            error_before: then.clone().filter(|_| now.is_some()),
            error: now.or(then),
            ops: point.ops.iter().map(|op| self.op(op)).collect(),
        }
    }

    fn case(&mut self, case: &'a ImpactCase) -> CaseView<'a> {
        let [power_before, power_after] = case.power();
        CaseView {
            version: &case.version,
            model: &case.model,
            quant: &case.quant,
            quant_before: case.quant_before.as_ref(),
            parallel: case.parallel,
            power_before,
            power_after,
            points: case.points.iter().map(|point| self.point(point)).collect(),
        }
    }
}

/// Renders an impact as JSON.
pub(super) fn json(impact: &Impact) -> String {
    let mut files = FileNumbers::default();
    let cases: Vec<CaseView<'_>> = impact.cases.iter().map(|case| files.case(case)).collect();
    let points: Vec<&PointImpact> = impact.points().map(|(_, point)| point).collect();
    let [power_before, power_after] = PowerCoverage::both(points.iter().copied());
    let document = ImpactDocument {
        schema: "perfdb-gate/impact/v1",
        tool: ToolName::own(),
        command: "impact",
        summary: ImpactCounts {
            cases: cases.len(),
            values: impact.points().count(),
            moved: impact.count(Fate::Moved),
            lost: impact.count(Fate::Lost),
            gained: impact.count(Fate::Gained),
            errors: impact.count(Fate::Missing) + impact.count(Fate::Lost),
            power_before,
            power_after,
            elapsed_ms: impact.elapsed.as_millis() as u64,
        },
        left_out: LEFT_OUT,
        files: files.paths,
        cases,
    };
    serde_json::to_string(&document).unwrap_or_default()
}
