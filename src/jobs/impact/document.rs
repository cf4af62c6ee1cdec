//! Impact as JSON, schema `perfdb-gate/impact/v1`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Fate, Impact, ImpactCase, LEFT_OUT, OpMove, PointImpact};
use crate::base::escape::inert_json;
use crate::planner::{How, Layout, Phase, Quant, TableLookup};

/// The document.
#[derive(Serialize)]
struct ImpactDocument<'a> {
    schema: &'static str,
    tool: ToolName,
    command: &'static str,
    summary: ImpactCounts,
    /// What a prediction leaves out.
    left_out: [&'static str; 5],
    /// Files that rows name by their index.
    files: Vec<&'a str>,
    cases: Vec<CaseView<'a>>,
}

#[derive(Serialize)]
struct ToolName {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct ImpactCounts {
    cases: usize,
    values: usize,
    moved: usize,
    lost: usize,
    gained: usize,
    errors: usize,
    elapsed_ms: u64,
}

#[derive(Serialize)]
struct CaseView<'a> {
    system: &'a str,
    backend: &'a str,
    version: &'a str,
    model: &'a str,
    quant: &'a Quant,
    #[serde(skip_serializing_if = "Option::is_none")]
    quant_before: Option<&'a Quant>,
    parallel: Layout,
    points: Vec<StepView<'a>>,
}

#[derive(Serialize)]
struct StepView<'a> {
    phase: Phase,
    batch: u64,
    isl: u64,
    before_ms: Option<f64>,
    after_ms: Option<f64>,
    /// Why a state has no time: the later one's reason, else the earlier one's.
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_before: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ops: Vec<OpView<'a>>,
}

#[derive(Serialize)]
struct OpView<'a> {
    name: &'a str,
    before_ms: f64,
    after_ms: f64,
    lookups_before: Vec<LookupView<'a>>,
    lookups_after: Vec<LookupView<'a>>,
}

#[derive(Serialize)]
struct LookupView<'a> {
    op: &'a str,
    table: &'a str,
    key: &'a str,
    how: How,
    bandwidth_scaled: bool,
    ms: f64,
    /// File, row from 0, weight.
    rows: Vec<(usize, u32, f64)>,
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
        let view = |l: &'a TableLookup| LookupView {
            op: &l.op,
            table: l.table,
            key: &l.key,
            how: l.how,
            bandwidth_scaled: l.bandwidth_scaled,
            ms: l.ms,
            rows: l.rows.iter().map(|r| (self.number(&r.origin.path), r.row, r.weight)).collect(),
        };
        lookups.iter().map(view).collect()
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
        let error = |step: &super::Step| step.as_ref().err().map(ToString::to_string);
        let before = point.before.as_ref();
        let (now, then) = (error(&point.after), before.and_then(error));
        StepView {
            phase: point.point.phase,
            batch: point.point.batch,
            isl: point.point.isl,
            before_ms: before.and_then(|step| step.as_ref().ok().copied()),
            after_ms: point.after.as_ref().ok().copied(),
            error_before: then.clone().filter(|_| now.is_some()),
            error: now.or(then),
            ops: point.ops.iter().map(|op| self.op(op)).collect(),
        }
    }

    fn case(&mut self, case: &'a ImpactCase) -> CaseView<'a> {
        CaseView {
            system: &case.version.system,
            backend: &case.version.backend,
            version: &case.version.version,
            model: &case.model,
            quant: &case.quant,
            quant_before: case.quant_before.as_ref(),
            parallel: case.parallel,
            points: case.points.iter().map(|point| self.point(point)).collect(),
        }
    }
}

/// The document as text.
pub(super) fn json(impact: &Impact) -> String {
    let mut files = FileNumbers::default();
    let cases: Vec<CaseView<'_>> = impact.cases.iter().map(|case| files.case(case)).collect();
    let document = ImpactDocument {
        schema: "perfdb-gate/impact/v1",
        tool: ToolName { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
        command: "impact",
        summary: ImpactCounts {
            cases: cases.len(),
            values: impact.points().count(),
            moved: impact.count(Fate::Moved),
            lost: impact.count(Fate::Lost),
            gained: impact.count(Fate::Gained),
            errors: impact.count(Fate::Missing) + impact.count(Fate::Lost),
            elapsed_ms: impact.elapsed.as_millis() as u64,
        },
        left_out: LEFT_OUT,
        files: files.paths,
        cases,
    };
    inert_json(&serde_json::to_string(&document).unwrap_or_default()) + "\n"
}
