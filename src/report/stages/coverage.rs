//! The coverage of a stage: the checked items of a change, and the reasons why others were not checked.

use crate::base::words::{first_of, plural, plural_verb};
use crate::database::diff::Diff;
use crate::report::Report;
use crate::report::run::{RunOutcome, RunVerdict};
use crate::report::stage_input::{Checked, StageId, StageInput, StageSpec};

/// The maximum number of tables that are listed because no query reaches their rows.
const NAMED: usize = 3;

/// The items that a stage checked, and the reasons why other items were not checked.
#[derive(Default)]
pub(super) struct Coverage {
    pub checked: Checked,
    /// The reason why the stage does not apply to the change; `None` if it applies.
    pub nothing: Option<&'static str>,
    /// True if the stage fails for another reason than a finding, such as a failed smoke command.
    pub failed: bool,
    /// The reasons why items were not checked.
    pub gaps: Vec<String>,
    /// Remarks that do not make the stage incomplete.
    pub notes: Vec<String>,
}

impl Coverage {
    /// Determines which items a stage checked and which it could not check.
    pub(crate) fn of(
        spec: &StageSpec,
        report: &Report,
        input: &StageInput,
        outcome: RunOutcome,
    ) -> Self {
        if !report.touches_database() {
            let nothing = Some("no table, sidecar, system or file of facts changed");
            return Self { nothing, ..Self::default() };
        }
        let mut coverage = match spec.id {
            StageId::ArtifactIntegrity | StageId::NumericalSanity => values(report),
            StageId::ProductionReachability => reachability(input),
            StageId::BehaviourAndParity => behaviour(report, outcome),
        };
        coverage.gaps.extend(not_read(report));
        coverage.gaps.extend(not_run(spec, report));
        coverage
    }
}

/// Returns the coverage of a stage that checks files or measured values: the numbers of checked tables, files and rows.
fn values(report: &Report) -> Coverage {
    let checked = vec![("tables", report.tables), ("files", report.files), ("rows", report.rows)];
    Coverage { checked, ..Coverage::default() }
}

/// Returns the coverage of the stage that checks whether queries reach the changed rows.
fn reachability(input: &StageInput) -> Coverage {
    let reach = &input.reach;
    let mut coverage = Coverage {
        checked: reach.checked.clone(),
        nothing: reach.checked.is_empty().then_some("no file that a query reads changed"),
        gaps: reach.gaps.clone(),
        ..Coverage::default()
    };
    if !reach.unserved.is_empty() {
        let first = first_of(&reach.unserved, NAMED, "; ");
        let tables = plural_verb(reach.unserved.len(), "changed table", ["has", "have"]);
        let said = format!("{tables} no row that a query reaches: {first}");
        let is_any_served = reach.unserved.len() < reach.tables;
        let list = if is_any_served { &mut coverage.notes } else { &mut coverage.gaps };
        list.push(said);
    }
    coverage
}

/// Returns the coverage of the stage that checks predicted step times.
fn behaviour(report: &Report, outcome: RunOutcome) -> Coverage {
    let nothing = Some("no model reads the changed files");
    let mut coverage = match &report.predictions {
        Some(predictions) if predictions.is_empty() => Coverage { nothing, ..Coverage::default() },
        Some(predictions) => {
            let numbers = [
                ("versions", predictions.versions),
                ("steps", predictions.values),
                ("moved", predictions.moved),
                ("lost", predictions.lost),
                ("gained", predictions.gained),
                ("unanswered", predictions.unanswered),
            ];
            let failed = predictions.failed.iter();
            let failed = failed.map(|why| format!("predictions are not possible: {why}"));
            let not_asked = predictions.not_asked.iter();
            let not_asked = not_asked.map(|why| format!("the planner was not asked: {why}"));
            let is_unanswered =
                predictions.values > 0 && predictions.unanswered == predictions.values;
            let unanswered =
                is_unanswered.then(|| "no step has a time before or after the change".to_owned());
            Coverage {
                checked: numbers.into_iter().map(|(name, n)| (name, n as u64)).collect(),
                gaps: failed
                    .chain(not_asked)
                    .chain(unanswered)
                    .chain(predictions.gaps.iter().cloned())
                    .collect(),
                ..Coverage::default()
            }
        }
        None => {
            let gap = "no planner was asked for step times".to_owned();
            Coverage { gaps: vec![gap], ..Coverage::default() }
        }
    };
    // A run that fails without a finding fails because of its smoke command.
    let is_failed_by_finding = report.findings.iter().any(|finding| outcome.fails(finding));
    if outcome.verdict == RunVerdict::Failed && !is_failed_by_finding {
        coverage.failed = true;
        coverage.notes.push("the smoke command failed".to_owned());
    }
    coverage
}

/// Returns a sentence about the tables and files that could not be read or compared; `None` without such files.
fn not_read(report: &Report) -> Option<String> {
    let absent = report.absent.sentence();
    let tables = report.diff.as_ref().map_or(0, Diff::not_compared);
    let verb = ["was not compared, because a side is", "were not compared, because a side is"];
    let tables = (tables > 0 && absent.is_none())
        .then(|| format!("{} not in this clone", plural_verb(tables, "table", verb)));
    absent.or(tables)
}

/// Returns a sentence that names the stage's rules that did not run; `None` if all ran.
fn not_run(spec: &StageSpec, report: &Report) -> Option<String> {
    let ran = |id: &String| report.rules.iter().any(|rule| rule.id == *id);
    let missing: Vec<&str> = spec.rules.iter().filter(|id| !ran(id)).map(String::as_str).collect();
    let rules = plural(missing.len(), "rule");
    (!missing.is_empty()).then(|| format!("{rules} did not run: {}", missing.join(", ")))
}
