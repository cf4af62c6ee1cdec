//! Fills the sections of the pull request comment from the report's view, limited to a size.

use std::collections::BTreeMap;

use serde::Serialize;

use super::causes::{CauseSection, causes};
use super::extras::{Extras, Smoke};
use crate::base::words::{plural, plural_verb};
use crate::database::diff::Diff;
use crate::findings::Severity;
use crate::report::change::ChangeTable;
use crate::report::chart::{MermaidChart, mermaid};
use crate::report::predictions::{MoverRow, PredictionLine, Predictions};
use crate::report::run::RunVerdict;
use crate::report::view::ReportView;
use crate::report::view::changes::{FileView, TableView};
use crate::report::view::kinds::KindLine;

/// The maximum number of fingerprints in a comment. With separators, they take at most 2 kB.
const FINGERPRINTS: usize = 200;

/// The limits for the sections of a comment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// The maximum number of paths per cause.
    pub paths: usize,
    /// The maximum number of example rows per cause.
    pub rows: usize,
    /// The maximum number of causes with a folded section. The section shows the cause's paths, rows and advice.
    pub blocks: usize,
    /// The maximum number of lines in each summary table of the change.
    pub slices: usize,
    /// The maximum number of rows in the table of the steps whose predicted time changed most.
    pub movers: usize,
    /// The maximum number of items in a list of tables, files or charts. A longer list is left out completely.
    pub listed: usize,
    /// The maximum number of charts as Mermaid text.
    pub sketches: usize,
    /// The maximum number of lines of the smoke command's output.
    pub output: usize,
}

/// The maximum number of causes in the list of errors. The list of warnings has the same maximum.
const GLANCE: usize = 10;

/// The maximum number of rules whose advice the comment quotes beside the decision. Only the first step of the advice
/// is quoted.
const STEPS: usize = 2;

/// The values that the template of the comment shows.
#[derive(Serialize)]
pub(super) struct Sections<'a> {
    verdict: String,
    /// A sentence that states whether the run blocks the merge.
    decision: String,
    /// A note about files that override embedded rules.
    notes: Option<String>,
    /// The numbers of changed tables, as one line per kind of change.
    kinds: &'a [KindLine],
    /// Lines about four things that changed: attributes of rows (such as the device), files of facts, settings of this
    /// program, and versions that a query can select.
    remarks: &'a [String],
    /// The summary tables of the change, one per kind of change that has rows.
    kind_tables: Vec<ChangeTable>,
    /// The class of the change, such as `append-only`, the numbers of changed tables, rows and files, and the names of
    /// the changed columns.
    numbers: Option<&'a str>,
    /// Lines that sum up the change of the predicted step times over all steps. Single steps are listed in `movers`.
    predictions: Vec<PredictionLine>,
    /// The steps whose predicted time changed most, as rows of a table.
    movers: Vec<MoverRow>,
    /// The maximum number of causes in the list of errors. The list of warnings has the same maximum.
    glance: usize,
    /// The causes of the new errors.
    errors: Vec<CauseSection<'a>>,
    /// The causes of the new warnings.
    warnings: Vec<CauseSection<'a>>,
    /// A line about findings that the change repaired.
    repaired: Option<&'a str>,
    old: Option<&'a str>,
    tables: Vec<&'a TableView<'a>>,
    files: Vec<&'a FileView>,
    /// Charts as Mermaid text, which GitHub draws.
    sketches: Vec<MermaidChart>,
    /// The names of the chart files; empty if no chart files were written.
    charts: Vec<&'a str>,
    smoke: Option<&'a Smoke>,
    /// The last lines of the smoke command's output, which usually show the reason of a failure.
    output: Vec<&'a str>,
    /// Lines that state which contents are only in the JSON report.
    left_out: Vec<String>,
    /// The first eight characters of the fingerprint of each new error and warning. A hidden line of the comment
    /// contains them, so that a later comment can state which findings were fixed since.
    fingerprints: Vec<String>,
}

impl<'a> Sections<'a> {
    /// Fills the sections of a comment from a report. `size` limits the length of each section.
    pub(crate) fn new(view: &'a ReportView<'a>, extras: Extras<'a>, size: Size) -> Self {
        let changes = view.changes.as_ref();
        let all = changes.iter().flat_map(|c| &c.tables);
        let mut left_out = LeftOut::default();
        let mut causes = causes(view);
        for (number, cause) in causes.iter_mut().enumerate() {
            cause.limit(size.paths);
            cause.lines.truncate(size.rows);
            cause.block = number < size.blocks;
        }
        let tables: Vec<_> = all.filter(|t| !t.raw.only_moved()).collect();
        let files = changes.iter().flat_map(|c| &c.files).collect();
        let decision = decision(view, &extras, &causes);
        let Extras { figures, folder, smoke, .. } = extras;
        let charts = figures.iter().filter(|_| folder.is_some()).map(|f| f.name.as_str()).collect();
        let (errors, warnings): (Vec<_>, Vec<_>) =
            causes.into_iter().partition(CauseSection::is_error);
        let not_listed = |causes: &[CauseSection<'_>]| causes.len().saturating_sub(GLANCE);
        left_out.count(not_listed(&errors) + not_listed(&warnings), "more cause", JSON);
        let kind_tables = changes.map(|c| c.shaped(size.slices)).unwrap_or_default();
        // Without changed latencies and findings, only a chart of a changed power or metric is worth showing.
        let is_seen = !kind_tables.is_empty() || !errors.is_empty() || !warnings.is_empty();
        let predictions = view.raw.predictions.as_ref();
        let output: Vec<&str> = smoke.iter().flat_map(|smoke| smoke.output.lines()).collect();
        left_out.count(view.raw.counts.infos as usize, "new info", JSON);
        left_out.count(view.raw.counts.waived as usize, "waived finding", JSON);
        Self {
            verdict: verdict(view, &extras),
            decision,
            notes: view.changed_rules(),
            kinds: changes.map_or(&[], |changes| &changes.kinds),
            remarks: changes.map_or(&[], |changes| &changes.remarks),
            kind_tables,
            numbers: changes.and_then(|changes| changes.numbers.as_deref()),
            predictions: predictions.map(Predictions::notes).unwrap_or_default(),
            movers: predictions
                .iter()
                .flat_map(|p| &p.movers)
                .take(size.movers)
                .map(MoverRow::new)
                .collect(),
            glance: GLANCE,
            errors,
            warnings,
            repaired: view.repaired.as_deref(),
            old: view.old.as_deref(),
            tables: left_out.keep(tables, size.listed, "table", JSON),
            files: left_out.keep(files, size.listed, "file", JSON),
            sketches: (figures.iter().filter_map(mermaid))
                .filter(|sketch| is_seen || sketch.is_change)
                .take(size.sketches)
                .collect(),
            charts: left_out.keep(charts, size.listed, "chart", "folder of charts"),
            output: output[output.len().saturating_sub(size.output)..].to_vec(),
            smoke,
            left_out: left_out.0,
            fingerprints: fingerprints(view),
        }
    }
}

/// Lists the first eight characters of the fingerprints of new errors and warnings. The fingerprints of the worst
/// findings come first.
fn fingerprints(view: &ReportView<'_>) -> Vec<String> {
    let worst = view.worst_first().into_iter().filter(|f| f.raw.severity != Severity::Info);
    worst.take(FINGERPRINTS).map(|f| f.raw.fingerprint()[..8].to_owned()).collect()
}

/// The place of most contents that a comment leaves out.
const JSON: &str = "JSON report";

/// Lines such as `12 tables in the JSON report.`, which state what the comment leaves out and where it is.
#[derive(Default)]
struct LeftOut(Vec<String>);

impl LeftOut {
    fn count(&mut self, n: usize, what: &str, place: &str) {
        if n > 0 {
            self.0.push(format!("{} in the {place}.", plural(n, what)));
        }
    }

    /// Returns a list of at most `most` items unchanged. For a longer list, returns an empty list, and adds a line with
    /// the number of items that are left out. `what` is the noun for an item, such as `table`, and `place` says where
    /// the items are.
    fn keep<T>(&mut self, all: Vec<T>, most: usize, what: &str, place: &str) -> Vec<T> {
        if all.len() <= most {
            return all;
        }
        self.count(all.len(), what, place);
        Vec::new()
    }
}

/// Returns the first step of the advice of at most [`STEPS`] rules, joined into one text. Only rules of causes for
/// which `is_meant` returns true are used.
fn steps(causes: &[CauseSection<'_>], is_meant: impl Fn(&CauseSection<'_>) -> bool) -> String {
    let steps = causes.iter().filter(|cause| is_meant(cause)).filter_map(CauseSection::first_step);
    let steps = steps.take(STEPS).map(|(rule, step)| format!("{rule}: {step}."));
    steps.collect::<Vec<_>>().join(" ")
}

/// Returns a line that states whether the run blocks the merge, and what to do. The line always agrees with the exit
/// code.
fn decision(view: &ReportView<'_>, extras: &Extras<'_>, causes: &[CauseSection<'_>]) -> String {
    let failing = view.raw.findings.iter().filter(|f| view.outcome.fails(f));
    let mut counts: BTreeMap<Severity, usize> = BTreeMap::new();
    failing.for_each(|finding| *counts.entry(finding.severity).or_default() += 1);
    let mut reasons: Vec<String> = counts
        .into_iter()
        .map(|(severity, n)| plural(n, &format!("new {}", severity.into_str())))
        .collect();
    let is_smoke_only = reasons.is_empty();
    if extras.smoke.is_some_and(|smoke| !smoke.passed) {
        reasons.push("the failed smoke command".to_owned());
    }
    if !reasons.is_empty() {
        let steps = steps(causes, |cause| view.outcome.fails(cause.example.raw));
        let what = match steps.is_empty() {
            _ if is_smoke_only => "Its output is below.".to_owned(),
            true => "Fix the data, or waive the findings on the base branch.".to_owned(),
            false => format!("{steps} Or waive the findings on the base branch."),
        };
        return format!("This pull request is blocked by {}. {what}", reasons.join(" and "));
    }
    let others = (view.raw.counts.errors + view.raw.counts.warnings) as usize;
    match view.outcome.verdict {
        RunVerdict::Inconclusive if extras.inconclusive_passes => {
            format!("Nothing blocks this pull request, but {}.", not_compared(view))
        }
        RunVerdict::Inconclusive => {
            format!("This pull request is blocked: {}.", not_compared(view))
        }
        _ if others > 0 => {
            let found = plural_verb(others, "new finding", ["is", "are"]);
            let steps = steps(causes, |_| true);
            let steps = if steps.is_empty() { steps } else { format!(" {steps}") };
            format!("Nothing blocks this pull request; {found} worth a look.{steps}")
        }
        _ => "Nothing blocks this pull request: merge it if what changed is intended.".to_owned(),
    }
}

/// Describes why a run is inconclusive, and how to fix this.
fn not_compared(view: &ReportView<'_>) -> String {
    let unread = view.changes.as_ref().and_then(|changes| changes.unread.as_deref());
    let advice = unread.and_then(|line| line.find(". ").map(|at| &line[at..])).unwrap_or_default();
    match view.raw.diff.as_ref().map_or(0, Diff::not_compared) {
        0 => "nothing was compared".to_owned(),
        n => format!("{} could not be compared{advice}", plural(n, "table")),
    }
}

/// Describes the verdict, with the number of new errors and warnings.
fn verdict(view: &ReportView<'_>, extras: &Extras<'_>) -> String {
    let counts = view.raw.counts;
    let (errors, warnings) = (counts.errors as usize, counts.warnings as usize);
    let found = match (errors, warnings) {
        (0, 0) => "no new error or warning".to_owned(),
        (0, _) => format!("no new error, {}", plural(warnings, "new warning")),
        (_, 0) => plural(errors, "new error"),
        _ => format!("{}, {}", plural(errors, "new error"), plural(warnings, "new warning")),
    };
    match view.outcome.verdict {
        RunVerdict::Inconclusive if extras.inconclusive_passes => {
            format!("❔ inconclusive, {found}")
        }
        RunVerdict::Inconclusive => format!("❔ blocked as inconclusive, {found}"),
        RunVerdict::Failed => format!("❌ {found}"),
        RunVerdict::Passed if errors + warnings > 0 => format!("⚠️ {found}"),
        RunVerdict::Passed => format!("✅ {found}"),
    }
}
