//! The stages of a change. A stage is a group of rules that answers one question, with a status, the numbers of checked
//! items, and the findings.

mod coverage;
mod render;

pub(crate) use super::stage_input::{ChangedReach, StageInput, StageSpecs};
pub(super) use render::json;
pub(crate) use render::schema;

use self::coverage::Coverage;
use super::Report;
use super::run::RunOutcome;
use super::stage_input::{Checked, StageSpec};
use crate::findings::Finding;

/// The status of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "UPPERCASE")]
enum StageStatus {
    /// Everything was checked, and no finding of the stage fails the run.
    Pass,
    /// A finding of the stage fails the run.
    Fail,
    /// No finding of the stage fails the run, but something was not checked.
    Incomplete,
    /// The change has nothing that the stage checks.
    #[strum(serialize = "NOT APPLICABLE")]
    NotApplicable,
}

/// A stage with its status and its findings.
struct Stage<'a> {
    spec: &'a StageSpec,
    status: StageStatus,
    checked: Checked,
    /// The new findings of the stage that are not waived, in the report's order.
    findings: Vec<&'a Finding>,
    /// The number of the stage's findings that the base also has.
    existing: usize,
    /// The number of the stage's waived findings.
    waived: usize,
    /// The reasons why items were not checked, and other remarks.
    reasons: Vec<String>,
}

fn stages<'a>(report: &'a Report, input: &'a StageInput, outcome: RunOutcome) -> Vec<Stage<'a>> {
    let stage = |spec: &'a StageSpec| {
        let is_of_stage = |f: &&Finding| input.specs.stage_of(&f.rule) == Some(spec.id);
        let all: Vec<&Finding> = report.findings.iter().filter(is_of_stage).collect();
        let findings: Vec<&Finding> = all.iter().copied().filter(|f| f.counts()).collect();
        let coverage = Coverage::of(spec, report, input, outcome);
        let status = if coverage.failed || findings.iter().any(|f| outcome.fails(f)) {
            StageStatus::Fail
        } else if !coverage.gaps.is_empty() {
            StageStatus::Incomplete
        } else if coverage.nothing.is_some() {
            StageStatus::NotApplicable
        } else {
            StageStatus::Pass
        };
        let Coverage { checked, gaps, notes, nothing, .. } = coverage;
        let is_empty = status == StageStatus::NotApplicable;
        let nothing = nothing.filter(|_| is_empty).map(str::to_owned);
        Stage {
            spec,
            status,
            checked,
            existing: all.iter().filter(|f| f.is_old()).count(),
            waived: all.iter().filter(|f| f.waived_by.is_some()).count(),
            findings,
            reasons: nothing.into_iter().chain(gaps).chain(notes).collect(),
        }
    };
    input.specs.all().iter().map(stage).collect()
}
