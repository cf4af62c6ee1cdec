//! Renders the stages of a change as JSON.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::{Stage, StageInput, StageStatus, stages};
use crate::base::error::{Error, Result};
use crate::base::escape::inert_json;
use crate::findings::{Finding, Severity};
use crate::report::json::Tool;
use crate::report::stage_input::{Checked, StageId};
use crate::report::view::ReportView;

/// The document of `--report stages=FILE`.
#[derive(Serialize, JsonSchema)]
struct StagesDocument<'a> {
    /// Always `perfdb-gate/stages/v1`.
    #[schemars(extend("const" = "perfdb-gate/stages/v1"))]
    schema: &'static str,
    /// The program that wrote the document.
    tool: Tool,
    /// Always `sanity`.
    command: &'a str,
    /// The merge base with which the head was compared.
    base: &'a str,
    /// The judged commit; null for files on disk.
    head: Option<&'a str>,
    /// The verdict on the whole run. It determines the exit code.
    verdict: &'static str,
    /// The stages, in order.
    stages: Vec<StageView<'a>>,
}

/// A stage and its result, as written to the document.
#[derive(Serialize, JsonSchema)]
struct StageView<'a> {
    id: StageId,
    title: &'a str,
    /// The question that the stage answers.
    asks: &'a str,
    #[schemars(extend("enum" = STATUSES))]
    status: &'static str,
    /// The number of checked items of each kind, such as 12 for `tables`.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "std::collections::BTreeMap<String, u64>")]
    checked: &'a Checked,
    /// The new findings of the stage that are not waived.
    findings: Vec<StageFinding<'a>>,
    /// The number of the stage's findings that the base also has.
    existing: usize,
    /// The number of the stage's waived findings.
    waived: usize,
    /// The reason why the stage is incomplete or does not apply, and further remarks; null if there are none.
    reason: Option<String>,
}

/// The names of all stage statuses, for the JSON schema.
const STATUSES: [&str; 4] = [
    StageStatus::Pass.into_str(),
    StageStatus::Fail.into_str(),
    StageStatus::Incomplete.into_str(),
    StageStatus::NotApplicable.into_str(),
];

/// A finding of a stage.
#[derive(Serialize, JsonSchema)]
struct StageFinding<'a> {
    rule: &'a str,
    #[schemars(with = "Severity")]
    severity: &'static str,
    fingerprint: String,
    path: &'a str,
    rows: u64,
    message: &'a str,
}

fn as_map<S: Serializer>(pairs: &Checked, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// Returns the JSON schema of the stages document.
pub(crate) fn schema(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<StagesDocument<'_>>()
}

/// Returns the data that only the report format `stages` needs.
///
/// # Errors
///
/// If the run did not compare two states and thus has no stages.
fn input<'a>(view: &ReportView<'a>) -> Result<&'a StageInput> {
    view.raw.stages.as_ref().ok_or_else(|| {
        let hint = "`perfdb-gate sanity --base-ref REF` compares a change with its base";
        Error::new("stages are those of a change, and nothing was compared", hint)
    })
}

/// Renders the stages as JSON, schema `perfdb-gate/stages/v1`.
///
/// # Errors
///
/// If the run did not compare two states.
pub(in crate::report) fn json(view: &ReportView<'_>) -> Result<String> {
    let report = view.raw;
    let stages = stages(report, input(view)?, view.outcome);
    let document = StagesDocument {
        schema: "perfdb-gate/stages/v1",
        tool: Tool::own(),
        command: report.command,
        base: &report.states.base,
        head: report.states.head.as_deref(),
        verdict: view.outcome.verdict.into_str(),
        stages: stages.iter().map(stage_view).collect(),
    };
    // Maps with text keys and finite numbers always serialise.
    Ok(inert_json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n")
}

fn stage_view<'a>(stage: &'a Stage<'a>) -> StageView<'a> {
    let finding = |f: &&'a Finding| StageFinding {
        rule: &f.rule,
        severity: f.severity.into_str(),
        fingerprint: f.fingerprint(),
        path: &f.path,
        rows: f.rows,
        message: &f.message,
    };
    StageView {
        id: stage.spec.id,
        title: &stage.spec.title,
        asks: &stage.spec.asks,
        status: stage.status.into_str(),
        checked: &stage.checked,
        findings: stage.findings.iter().map(finding).collect(),
        existing: stage.existing,
        waived: stage.waived,
        reason: (!stage.reasons.is_empty()).then(|| stage.reasons.join("; ")),
    }
}
