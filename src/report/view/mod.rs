//! The view of a report, from which every format is rendered. Texts that may contain names from data are escaped here,
//! and only here.
//!
//! A format adds only the escapes of its own syntax: XML entities, percent signs of workflow commands, code spans of
//! Markdown. JSON and URIs encode the raw text and read it from `raw`.

pub(crate) mod changes;
pub(crate) mod finding;
pub(crate) mod kinds;
mod summary;

use serde::Serialize;

use super::facts::{facts, outside, unread};
use super::headline::{existing, headline};
use super::run::{Report, RunOutcome, urgency};
use super::triage::{self, Cause};
use crate::base::escape::clean;
use crate::checks::rule::Rule;
use crate::findings::{Confidence, Severity};
use changes::ChangesView;
use finding::FindingView;

/// A report with its verdict, as input for all report formats. The texts are escaped.
pub struct ReportView<'a> {
    /// The report with unescaped texts. Its numbers are used by all formats, and its texts by JSON.
    pub(crate) raw: &'a Report,
    /// The verdict on the run.
    pub(crate) outcome: RunOutcome,
    /// The header of the report.
    pub(crate) head: HeadView,
    /// The paths of rule files that replace rules embedded in the program; `None` without such files.
    pub(crate) overlays: Option<String>,
    /// A sentence that lists which facts come from files of the database and which from the embedded rules; `None` if
    /// the database has no files of facts.
    pub(crate) facts: Option<String>,
    /// A sentence about tables that were not checked because they are outside of all database roots; `None` without
    /// such tables.
    pub(crate) outside: Option<String>,
    /// A sentence about files that are not in the local clone; `None` without such files.
    pub(crate) absent: Option<String>,
    /// A sentence about the random sample of findings that the report shows; `None` if the report shows all findings.
    pub(crate) drawn: Option<String>,
    /// A line with the number of existing findings of each rule; `None` without existing findings. A finding is
    /// existing if the base or the baseline has it.
    pub(crate) old: Option<String>,
    /// The rules that ran.
    pub(crate) rules: Vec<RuleView>,
    /// The findings, in the report's order.
    pub(crate) findings: Vec<FindingView<'a>>,
    /// Groups of findings with the same rule, severity and backend; empty if the report has few findings.
    pub(crate) causes: Vec<Cause>,
    /// Lines that sum up a pull request's changes; empty if nothing was compared.
    pub(crate) summary: Vec<String>,
    /// A line about the findings of the base that the head no longer has; `None` without such findings.
    pub(crate) repaired: Option<String>,
    /// The differences between base and head; `None` if the run did not compare a base with a head.
    pub(crate) changes: Option<ChangesView<'a>>,
}

/// The header of a report.
#[derive(Serialize)]
pub(crate) struct HeadView {
    /// The command's name.
    pub command: &'static str,
    /// The version of perfdb-gate.
    pub version: &'static str,
    /// The name of the verdict.
    pub verdict: &'static str,
    /// The one-line summary of the run.
    pub headline: String,
    /// Sentences about the conditions of the run, such as which files override embedded rules.
    pub notes: Vec<String>,
}

/// The texts that describe a rule. Line breaks are replaced by spaces.
#[derive(Serialize)]
pub(crate) struct RuleView {
    /// The severity of the rule's findings, unless the rule's check chooses another one.
    #[serde(skip)]
    pub severity: Severity,
    /// The confidence that a warning of this rule is a real defect. The confidence in the rule's errors is always
    /// `Certain`.
    #[serde(skip)]
    pub confidence: Confidence,
    pub id: String,
    pub summary: String,
    pub what: String,
    pub why: String,
    pub instead: String,
    /// The URL of the rule's documentation; `None` if the judged repository defines the rule itself.
    pub page: Option<String>,
}

impl<'a> ReportView<'a> {
    /// Builds the view of a report and escapes its texts.
    pub fn new(report: &'a Report, outcome: RunOutcome) -> Self {
        let overlays = (!report.overlays.is_empty()).then(|| clean(&report.overlays.join(", ")));
        let old = existing(report).map(|old| clean(&old));
        let drawn = report.drawn.as_deref().map(clean);
        let outside = outside(&report.outside);
        let changes = report.diff.as_ref().map(|diff| ChangesView::new(diff, &report.kind_tables));
        let mut notes: Vec<String> = drawn.iter().cloned().collect();
        let absent = report.absent.sentence();
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
                verdict: outcome.verdict.into_str(),
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
            summary: changes.as_ref().map(ChangesView::summary).unwrap_or_default(),
            repaired: report.diff.as_ref().and_then(|_| summary::repaired(&report.repaired)),
            changes,
        }
    }

    /// Returns the one-line summary of the run.
    pub(crate) fn headline(&self) -> &str {
        &self.head.headline
    }

    /// Returns the findings that count in the verdict, in the report's order. Left out are waived findings, and
    /// findings that the base or the baseline has.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &FindingView<'a>> {
        self.findings.iter().filter(|f| f.raw.counts())
    }

    /// Returns the findings that count in the verdict, with the most urgent finding first. Left out are waived
    /// findings, and findings that the base or the baseline has.
    pub(crate) fn worst_first(&self) -> Vec<&FindingView<'a>> {
        let mut findings: Vec<&FindingView<'a>> = self.counted().collect();
        findings.sort_by_key(|f| urgency(f.raw));
        findings
    }

    /// Returns the texts of a rule; `None` if no rule with this id ran.
    pub(crate) fn rule(&self, id: &str) -> Option<&RuleView> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// Returns a sentence about files that override embedded rules; `None` without such files.
    pub(crate) fn changed_rules(&self) -> Option<String> {
        self.overlays.as_deref().map(changed_rules)
    }
}

fn changed_rules(overlays: &str) -> String {
    format!("Rules changed by {overlays}.")
}

impl RuleView {
    /// Returns the first sentence of the rule's advice on what to do about a finding.
    pub(crate) fn first_step(&self) -> &str {
        self.instead.split_once(". ").map_or(&self.instead, |(first, _)| first)
    }

    fn new(rule: &Rule) -> Self {
        Self {
            severity: rule.severity,
            confidence: rule.confidence,
            id: clean(&rule.id),
            summary: one_line(&rule.summary),
            what: one_line(&rule.what),
            why: one_line(&rule.why),
            instead: one_line(&rule.instead),
            page: rule.page(),
        }
    }
}

/// Joins the lines of a text with spaces and escapes the text.
fn one_line(text: &str) -> String {
    clean(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
