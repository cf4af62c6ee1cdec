//! The sections of the comment, filled from the report's view and cut where they do not fit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Extras, SKETCHES, Smoke};
use crate::base::words::plural;
use crate::findings::Severity;
use crate::report::RunVerdict;
use crate::report::chart::mermaid;
use crate::report::view::ReportView;
use crate::report::view::changes::{FileView, TableView, VersionView};
use crate::report::view::finding::FindingView;

/// Findings shown in full, with rows and the command; a reviewer has half a minute.
const FULL: usize = 8;
/// Versions listed in the open.
const GLANCE: usize = 12;
/// Findings listed, one line each, of those that are left.
const LINES: usize = 50;

/// The parts of a report, and of what comes with it, that the template shows.
#[derive(Serialize)]
pub(super) struct Sections<'a> {
    verdict: String,
    /// What a reader should know of how it was judged.
    notes: Option<String>,
    headline: &'a str,
    pub findings: Vec<&'a FindingView<'a>>,
    /// Whether their rows are shown.
    pub with_rows: bool,
    /// What to do, by rule.
    instead: BTreeMap<&'a str, &'a str>,
    /// What it does to predictions.
    predictions: Vec<String>,
    /// Findings that are not shown in full.
    pub more: Vec<&'a FindingView<'a>>,
    old: Option<&'a str>,
    pub versions: Vec<&'a VersionView>,
    /// Whether they are more than are read at a glance.
    folded: bool,
    total: Option<&'a VersionView>,
    pub tables: Vec<&'a TableView<'a>>,
    /// Tables that only lie elsewhere, in one line.
    moved: Option<&'a str>,
    /// Whether a count of the tables' rows is not known.
    unknown: bool,
    /// Tables of which a side cannot be read.
    pub faults: Vec<&'a TableView<'a>>,
    pub files: Vec<&'a FileView>,
    /// Charts that the site draws from text.
    pub sketches: Vec<String>,
    /// The charts, by name, and where they are.
    pub charts: Vec<&'a str>,
    pub folder: Option<String>,
    pub smoke: Option<SmokeSection<'a>>,
    /// A line for each section that did not fit.
    pub left_out: Vec<String>,
}

/// The command that tries the database.
#[derive(Serialize)]
pub(super) struct SmokeSection<'a> {
    mark: &'static str,
    command: &'a str,
    ended: &'a str,
    pub output: Vec<&'a str>,
}

impl<'a> Sections<'a> {
    /// All sections, nothing of them cut.
    pub fn new(view: &'a ReportView<'a>, extras: Extras<'a>) -> Self {
        let mut findings = view.worst_first();
        findings.retain(|f| f.raw.severity != Severity::Info);
        let mut more = findings.split_off(findings.len().min(FULL));
        let rest = more.split_off(more.len().min(LINES)).len();
        let changes = view.changes.as_ref();
        let all: Vec<&TableView<'a>> = changes.iter().flat_map(|c| &c.tables).collect();
        let versions: Vec<&VersionView> = changes.iter().flat_map(|c| &c.versions).collect();
        let tables: Vec<_> = all.iter().copied().filter(|t| !t.raw.only_moved()).collect();
        let Extras { figures, folder, smoke } = extras;
        Self {
            verdict: verdict(view),
            notes: view.changed_rules(),
            headline: changes.map_or("nothing changed", |c| &c.headline),
            instead: instead(view, &findings),
            findings,
            with_rows: true,
            predictions: view.raw.predictions.as_ref().map(|p| p.lines()).unwrap_or_default(),
            more,
            old: view.old.as_deref(),
            folded: versions.len() > GLANCE,
            versions,
            total: changes.map(|c| &c.total),
            unknown: tables.iter().any(|t| t.raw.base_rows.and(t.raw.head_rows).is_none()),
            tables,
            moved: changes.and_then(|c| c.moved.as_deref()),
            faults: all.into_iter().filter(|t| t.fault.is_some()).collect(),
            files: changes.iter().flat_map(|c| &c.files).collect(),
            sketches: figures.iter().filter_map(mermaid).take(SKETCHES).collect(),
            charts: figures.iter().filter(|_| folder.is_some()).map(|f| f.name.as_str()).collect(),
            folder: folder.map(|f| f.display().to_string()),
            smoke: smoke.map(SmokeSection::new),
            left_out: elsewhere(view, rest),
        }
    }
}

/// What the comment leaves to the JSON report, a line each.
fn elsewhere(view: &ReportView<'_>, more: usize) -> Vec<String> {
    let counts = view.raw.counts;
    let kinds = [
        (more, "more finding"),
        (counts.infos as usize, "new info"),
        (counts.waived as usize, "waived finding"),
    ];
    let some = kinds.iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| format!("{} in the JSON report.", plural(*n, what))).collect()
}

/// The verdict, in a few words.
fn verdict(view: &ReportView<'_>) -> String {
    let counts = view.raw.counts;
    let (errors, warnings) = (counts.errors as usize, counts.warnings as usize);
    let found = match (errors, warnings) {
        (0, 0) => "no new error or warning".to_owned(),
        (0, _) => format!("no new error, {}", plural(warnings, "new warning")),
        (_, 0) => plural(errors, "new error"),
        _ => format!("{}, {}", plural(errors, "new error"), plural(warnings, "new warning")),
    };
    match view.outcome.verdict {
        RunVerdict::Inconclusive => "nothing was compared".to_owned(),
        RunVerdict::Failed => format!("❌ {found}"),
        RunVerdict::Clean if errors + warnings > 0 => format!("⚠️ {found}"),
        RunVerdict::Clean => format!("✅ {found}"),
    }
}

/// What to do, by the rules of findings.
fn instead<'a>(
    view: &'a ReportView<'a>,
    findings: &[&'a FindingView<'a>],
) -> BTreeMap<&'a str, &'a str> {
    let mut instead: BTreeMap<&str, &str> =
        findings.iter().map(|f| (f.rule.as_str(), "")).collect();
    for rule in &view.rules {
        if let Some(text) = instead.get_mut(rule.id.as_str()) {
            *text = &rule.instead;
        }
    }
    instead
}

impl<'a> SmokeSection<'a> {
    fn new(smoke: &'a Smoke) -> Self {
        Self {
            mark: if smoke.passed { "✅" } else { "❌" },
            command: &smoke.command,
            ended: &smoke.ended,
            output: smoke.output.lines().collect(),
        }
    }
}
