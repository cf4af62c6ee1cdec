//! A report as every format reads it: each text that may hold words from data is escaped here, once.
//!
//! A format adds only what its own syntax needs: XML entities, percent signs of workflow commands,
//! code spans of Markdown. JSON and URIs encode raw text by themselves and read `raw`.

pub mod changes;
pub mod finding;
mod summary;

use serde::Serialize;

use super::facts::{facts, outside, unread};
use super::headline::{existing, headline};
use super::measured::view::MeasuredView;
use super::triage::{self, Cause};
use super::{Report, RunOutcome, urgency};
use crate::base::escape::clean;
use crate::checks::rule::Rule;
use crate::findings::Severity;
use changes::ChangesView;
use finding::FindingView;

/// A report and how it ended, escaped for every format.
pub struct ReportView<'a> {
    /// The report itself, for numbers and for JSON.
    pub(crate) raw: &'a Report,
    /// How it ended.
    pub(crate) outcome: RunOutcome,
    /// What stands above everything else.
    pub(crate) head: HeadView,
    /// Paths of the files that changed the embedded rules.
    pub(crate) overlays: Option<String>,
    /// Which facts the judged tree states, where it states any.
    pub(crate) facts: Option<String>,
    /// Which tables nothing judges, where there are any.
    pub(crate) outside: Option<String>,
    /// Which files are not in this clone, where there are any.
    pub(crate) absent: Option<String>,
    /// How the findings were drawn, where they are a draw.
    pub(crate) drawn: Option<String>,
    /// Existing findings, in one line.
    pub(crate) old: Option<String>,
    /// The rules that ran.
    pub(crate) rules: Vec<RuleView>,
    /// Findings, in the report's order.
    pub(crate) findings: Vec<FindingView<'a>>,
    /// The causes behind them; none where these can be read at a glance.
    pub(crate) causes: Vec<Cause>,
    /// What a pull request does, a line each; none where nothing was compared.
    pub(crate) summary: Vec<String>,
    /// What changed, where two states were compared.
    pub(crate) changes: Option<ChangesView<'a>>,
    /// What was measured again.
    pub(crate) measured: Option<MeasuredView<'a>>,
}

/// What stands above a report.
#[derive(Serialize)]
pub struct HeadView {
    /// The job's name.
    pub command: &'static str,
    /// This program's version.
    pub version: &'static str,
    /// How the run ended.
    pub verdict: &'static str,
    /// What it found, in one line.
    pub headline: String,
    /// How the report was made: a draw, changed rules, existing findings.
    pub notes: Vec<String>,
}

/// A rule's texts, each on one line.
#[derive(Serialize)]
pub struct RuleView {
    /// How bad its findings are at most.
    #[serde(skip)]
    pub severity: Severity,
    pub id: String,
    pub summary: String,
    pub what: String,
    pub why: String,
    pub instead: String,
    /// Where its documentation can be read; none of a repository's own rules.
    pub page: Option<String>,
}

impl<'a> ReportView<'a> {
    /// Escapes a report.
    pub fn new(report: &'a Report, outcome: RunOutcome) -> Self {
        let overlays = (!report.overlays.is_empty()).then(|| clean(&report.overlays.join(", ")));
        let old = existing(report).map(|old| clean(&old));
        let drawn = report.drawn.as_deref().map(clean);
        let outside = outside(&report.outside);
        let mut notes: Vec<String> = drawn.iter().cloned().collect();
        let absent = report.absent.said();
        notes.extend(absent.iter().map(|absent| format!("{absent}.")));
        notes.extend(outside.iter().map(|outside| format!("{outside}.")));
        notes.extend(overlays.as_deref().map(changed_rules));
        notes.extend(report.facts.iter().filter_map(unread).map(|why| format!("{why}.")));
        notes.extend(old.iter().map(|old| format!("Existing findings: {old}.")));
        Self {
            raw: report,
            outcome,
            head: HeadView {
                command: report.command,
                version: env!("CARGO_PKG_VERSION"),
                verdict: outcome.verdict.name(),
                headline: clean(&headline(report)),
                notes,
            },
            overlays,
            facts: facts(&report.facts),
            outside: outside.clone(),
            absent,
            drawn,
            old,
            rules: report.rules.iter().map(|rule| RuleView::new(rule)).collect(),
            findings: report
                .findings
                .iter()
                .map(|f| FindingView::new(f, &report.states, report.diff.is_some()))
                .collect(),
            causes: triage::at_a_glance(report),
            summary: summary::lines(report),
            changes: report.diff.as_ref().map(ChangesView::new),
            measured: report.remeasured.as_ref().map(MeasuredView::new),
        }
    }

    /// The line that sums the report up.
    pub fn headline(&self) -> &str {
        &self.head.headline
    }

    /// The findings that count, in the report's order.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &FindingView<'a>> {
        self.findings.iter().filter(|f| f.raw.counts())
    }

    /// The findings that count, those first that should be read first.
    pub(crate) fn worst_first(&self) -> Vec<&FindingView<'a>> {
        let mut findings: Vec<&FindingView<'a>> = self.counted().collect();
        findings.sort_by_key(|f| urgency(f.raw));
        findings
    }

    /// A sentence that says that rules are not those of this program, where they are not.
    pub(crate) fn changed_rules(&self) -> Option<String> {
        self.overlays.as_deref().map(changed_rules)
    }
}

fn changed_rules(overlays: &str) -> String {
    format!("Rules changed by {overlays}.")
}

impl RuleView {
    fn new(rule: &Rule) -> Self {
        Self {
            severity: rule.severity,
            id: clean(&rule.id),
            summary: one_line(&rule.summary),
            what: one_line(&rule.what),
            why: one_line(&rule.why),
            instead: one_line(&rule.instead),
            page: rule.page(),
        }
    }
}

/// A text of several lines on one.
fn one_line(text: &str) -> String {
    clean(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
