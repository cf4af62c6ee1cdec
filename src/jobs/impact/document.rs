//! Impact as JSON, schema `perfdb-gate/impact/v1`.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::case::{Fate, Impact, ImpactCase, LEFT_OUT, PointImpact};
use super::{OpMove, PowerCoverage};
use crate::jobs::ToolName;
use crate::planner::{How, Layout, Phase, Quant, TableLookup};

/// An impact.
#[derive(Serialize, JsonSchema)]
struct ImpactDocument<'a> {
    /// Always `perfdb-gate/impact/v1`.
    schema: &'static str,
    /// What wrote it.
    tool: ToolName,
    /// Always `impact`.
    command: &'static str,
    /// Counts over all cases.
    summary: ImpactCounts,
    /// What a prediction leaves out.
    left_out: [&'static str; 5],
    /// Files that rows name by their index.
    files: Vec<&'a str>,
    /// Models in their layouts on versions.
    cases: Vec<CaseView<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ImpactCounts {
    /// Models in their layouts on versions.
    cases: usize,
    /// Steps of them.
    values: usize,
    /// Steps with another time than before.
    moved: usize,
    /// Steps that had a time and have none.
    lost: usize,
    /// Steps that had no time and have one.
    gained: usize,
    /// Steps without a time.
    errors: usize,
    /// Measured power before; none where there is one state, or no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// Measured power.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_after: Option<PowerCoverage>,
    /// How long it took.
    elapsed_ms: u64,
}

/// A model in a layout on a version.
#[derive(Serialize, JsonSchema)]
struct CaseView<'a> {
    /// System.
    system: &'a str,
    /// Backend.
    backend: &'a str,
    /// Version.
    version: &'a str,
    /// Its name.
    model: &'a str,
    /// Quantisation as it is planned after the change.
    quant: &'a Quant,
    /// Quantisation before, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    quant_before: Option<&'a Quant>,
    /// GPUs by what they share.
    parallel: Layout,
    /// Measured power before; none where there is one state, or no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_before: Option<PowerCoverage>,
    /// Measured power.
    #[serde(skip_serializing_if = "Option::is_none")]
    power_after: Option<PowerCoverage>,
    /// Its steps.
    points: Vec<StepView<'a>>,
}

/// A step.
#[derive(Serialize, JsonSchema)]
struct StepView<'a> {
    /// Phase.
    phase: Phase,
    /// Requests.
    batch: u64,
    /// Tokens of a request: in prefill those that are computed, in decode those in the cache before.
    isl: u64,
    /// Time before, ms; null where there is one state, or no time.
    before_ms: Option<f64>,
    /// Time, ms; null where there is none.
    after_ms: Option<f64>,
    /// The share of the time before that stands on rows whose power was measured.
    power_before: Option<f64>,
    /// The share of the time that does.
    power_after: Option<f64>,
    /// Why a state has no time: the later one's reason, else the earlier one's.
    error: Option<String>,
    /// Why the earlier one has none, where neither has.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_before: Option<String>,
    /// Of a step that moved, the operations that did, most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ops: Vec<OpView<'a>>,
}

/// An operation that moved.
#[derive(Serialize, JsonSchema)]
struct OpView<'a> {
    /// Its name in the list.
    name: &'a str,
    /// Its time before, ms over all layers.
    before_ms: f64,
    /// Its time, ms over all layers.
    after_ms: f64,
    /// Lookups before that are not the same after.
    lookups_before: Vec<LookupView<'a>>,
    /// Lookups after that are not the same before.
    lookups_after: Vec<LookupView<'a>>,
}

/// A lookup of a table.
#[derive(Serialize, JsonSchema)]
struct LookupView<'a> {
    /// The operation, of one that consists of others the part.
    op: &'a str,
    /// The table's file stem.
    table: &'a str,
    /// What was looked up.
    key: &'a str,
    /// How it was answered.
    how: How,
    /// Whether the answer was then scaled by link bandwidths, to more GPUs than were measured.
    bandwidth_scaled: bool,
    /// Its time, ms, before it is multiplied by layers.
    ms: f64,
    /// File, row from 0, weight.
    rows: Vec<(usize, u32, f64)>,
}

/// The schema of the document.
pub fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<ImpactDocument<'_>>()
}

/// Files by path, numbered as they are met.
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
        let error = |step: &crate::planner::Step| step.as_ref().err().map(ToString::to_string);
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
            system: &case.version.system,
            backend: &case.version.backend,
            version: &case.version.version,
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

/// The document as text.
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
