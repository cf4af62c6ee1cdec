//! Renders the report as one HTML page, which opens from disk, with the template `charts/report.html.j2`.
//!
//! Findings are rows of HTML, so that the page can be read without a script. The template escapes
//! texts from data, and the script only hides and reorders rows.

use std::collections::BTreeSet;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::change::ChangeTable;
use super::health::HealthMap;
use super::measured;
use super::predictions::{MoverRow, Predictions};
use super::run::urgency;
use super::template::fill;
use super::triage::Cause;
use super::view::changes::{FileView, TableView};
use super::view::finding::FindingView;
use super::view::{HeadView, ReportView, RuleView};
use crate::base::digest::hex;
use crate::base::error::Result;
use crate::base::escape::clean;
use crate::report::chart::Drawing;

const TEMPLATE: &str = include_str!("../../charts/report.html.j2");

/// The maximum number of rows in a summary table of the change.
const SLICES: usize = 100;

/// The maximum number of causes that the page lists. A cause is a group of findings of the same rule, severity and
/// backend.
const CAUSES: usize = 20;

/// The values that the template of the page shows.
#[derive(Serialize)]
struct Page<'a> {
    head: &'a HeadView,
    /// The health map; `None` if there is at most one table.
    map: Option<HealthMap>,
    causes: &'a [Cause],
    /// The number of causes that are not listed.
    more_causes: usize,
    /// The findings. New findings that are not waived come first, then all other findings; both groups are sorted by
    /// urgency.
    findings: Vec<&'a FindingView<'a>>,
    choices: Choices<'a>,
    /// True if the page contains findings that are waived, or that the base or the baseline also has. The page hides
    /// these findings at first.
    debt: bool,
    /// The rules with findings.
    rules: Vec<&'a RuleView>,
    /// Tables whose rows changed.
    tables: Vec<&'a TableView<'a>>,
    /// Tables whose file was moved or written again, but whose rows did not change.
    moved: Vec<&'a TableView<'a>>,
    files: &'a [FileView],
    charts: &'a [Drawing],
    /// Lines about the measurements on a GPU; empty if nothing was measured.
    measured: Vec<String>,
    /// A text that names the root folder of the database and the judged commits; empty if the command does not state
    /// them.
    states: String,
    /// The sections of the page, as pairs of id and title.
    contents: Vec<(&'static str, &'static str)>,
    /// Lines that sum up the change.
    summary: &'a [String],
    repaired: Option<&'a str>,
    /// The summary tables of the change, one per kind of change that has rows.
    slices: Vec<ChangeTable>,
    /// Lines that sum up the change of the predicted step times over all steps. Single steps are listed in `movers`.
    predictions: Vec<String>,
    movers: Vec<MoverRow>,
    nonce: String,
}

/// The values that a reader of the page can select to filter findings.
#[derive(Serialize)]
struct Choices<'a> {
    severity: Vec<&'a str>,
    rule: BTreeSet<&'a str>,
    system: BTreeSet<&'a str>,
    backend: BTreeSet<&'a str>,
    table: BTreeSet<&'a str>,
    state: BTreeSet<&'a str>,
}

/// Renders a report as an HTML page with the given charts.
///
/// # Errors
///
/// If the template fails, which is a bug of this program.
pub fn page(view: &ReportView<'_>, charts: &[Drawing]) -> Result<String> {
    let mut page = page_view(view, charts);
    // Only the page's own script has the nonce. The nonce is a hash of the whole page, so that data cannot predict it.
    let seen = serde_json::to_vec(&page).unwrap_or_default();
    page.nonce = hex(&Sha256::digest(seen)[..16]);
    fill("report.html.j2", TEMPLATE, &page)
}

fn page_view<'a>(view: &'a ReportView<'a>, charts: &'a [Drawing]) -> Page<'a> {
    let mut findings: Vec<&FindingView<'a>> = view.findings.iter().collect();
    findings.sort_by_key(|f| (!f.raw.counts(), urgency(f.raw)));
    let choices = choices(&findings);
    let tables = view.changes.iter().flat_map(|c| &c.tables);
    let (moved, tables) = tables.partition(|t| t.raw.only_moved());
    let predictions = view.raw.predictions.as_ref();
    let page = Page {
        head: &view.head,
        map: Some(HealthMap::new(&view.raw.judged, &view.raw.findings)).filter(HealthMap::is_grid),
        causes: &view.causes[..view.causes.len().min(CAUSES)],
        more_causes: view.causes.len().saturating_sub(CAUSES),
        debt: findings.iter().any(|f| !f.raw.counts()),
        rules: view.rules.iter().filter(|r| choices.rule.contains(r.id.as_str())).collect(),
        findings,
        choices,
        tables,
        moved,
        files: view.changes.as_ref().map_or(&[], |c| &c.files),
        charts,
        measured: measured::lines(view.raw),
        states: clean(&view.raw.states.description),
        contents: Vec::new(),
        summary: &view.summary,
        repaired: view.repaired.as_deref(),
        slices: view.changes.as_ref().map(|c| c.shaped(SLICES)).unwrap_or_default(),
        predictions: predictions.map(notes).unwrap_or_default(),
        movers: predictions.iter().flat_map(|p| &p.movers).map(MoverRow::new).collect(),
        nonce: String::new(),
    };
    Page { contents: contents(&page), ..page }
}

/// Returns escaped lines that sum up the change of the predicted step times over all steps.
fn notes(predictions: &Predictions) -> Vec<String> {
    predictions.notes().iter().map(|line| clean(&line.text())).collect()
}

/// Lists the sections of the page in their order, as pairs of id and title.
fn contents(page: &Page<'_>) -> Vec<(&'static str, &'static str)> {
    let is_compared = !page.summary.is_empty();
    let sections = [
        (is_compared || !page.slices.is_empty(), ("changes", "what changed")),
        (!page.causes.is_empty(), ("causes", "where to look first")),
        (is_compared && !page.charts.is_empty(), ("charts", "charts")),
        (!page.predictions.is_empty(), ("predictions", "predictions")),
        (page.map.is_some(), ("map", "tables and systems")),
        (true, ("findings", "findings")),
        (!page.tables.is_empty() || !page.moved.is_empty(), ("tables", "changed tables")),
        (!page.files.is_empty(), ("files", "files")),
        (!is_compared && !page.charts.is_empty(), ("charts", "charts")),
        (!page.measured.is_empty(), ("measurements", "measurements")),
        (!page.rules.is_empty(), ("rules", "rules")),
    ];
    sections.into_iter().filter(|(is_there, _)| *is_there).map(|(_, section)| section).collect()
}

fn choices<'a>(findings: &[&'a FindingView<'a>]) -> Choices<'a> {
    let severities: BTreeSet<_> = findings.iter().map(|f| f.raw.severity).collect();
    Choices {
        severity: severities.into_iter().map(|severity| severity.into_str()).collect(),
        rule: findings.iter().map(|f| f.rule.as_str()).collect(),
        system: placed(findings).map(|f| f.system.as_str()).collect(),
        backend: placed(findings).map(|f| f.backend.as_str()).collect(),
        table: findings.iter().map(|f| f.table.as_str()).filter(|t| !t.is_empty()).collect(),
        state: findings.iter().map(|f| f.state).collect(),
    }
}

/// Returns the findings that concern the data of a single system, backend and version.
fn placed<'a>(findings: &[&'a FindingView<'a>]) -> impl Iterator<Item = &'a FindingView<'a>> {
    findings.iter().copied().filter(|f| f.raw.place.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::{Example, Finding, Severity};
    use crate::report::{Report, RunOutcome, RunVerdict};

    fn drawing(svg: String) -> Drawing {
        Drawing { name: "chart".into(), path: "a.parquet".into(), title: "a < b".into(), svg }
    }

    fn rendered(findings: Vec<Finding>, charts: &[Drawing]) -> String {
        let report =
            Report { command: "validate", tables: 1, rows: 1, findings, ..Report::default() };
        let outcome = RunOutcome { verdict: RunVerdict::Failed, fail_on: None };
        page(&ReportView::new(&report, outcome), charts).unwrap()
    }

    #[test]
    fn names_in_a_page_are_escaped_and_only_the_built_in_script_runs() {
        let hostile = "</script><script>alert(1)</script>\"'`${x}{{ x }}\u{202e}\u{2028}";
        let mut finding =
            Finding::on_path(hostile, Severity::Error, hostile, hostile).evidence(hostile, hostile);
        finding.examples = vec![Example {
            row: 3,
            line: None,
            key: vec![(hostile.into(), hostile.into())],
            values: Vec::new(),
        }];
        let page = rendered(vec![finding], &[]);
        assert_eq!(page.matches("<script").count(), 1);
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(!page.contains('\u{202e}') && !page.contains('\u{2028}'));
        assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("{{ x }}"));
        let nonce = page.split("nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
        assert!(page.contains(&format!("<script nonce=\"{nonce}\">")), "{nonce}");
    }

    #[test]
    fn charts_are_embedded_in_the_page_unchanged() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>1 ms</title></svg>".to_owned();
        let page = rendered(Vec::new(), &[drawing(svg.clone())]);
        assert!(page.contains(&svg) && page.contains("a &lt; b"));
    }
}
