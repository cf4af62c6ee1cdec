//! Renders the Markdown job summary with the template `charts/summary.md.j2`. A comparison is rendered as the pull
//! request comment.

use serde::Serialize;

use super::comment;
use super::measured;
use super::template::fill;
use super::triage::Cause;
use super::view::finding::FindingView;
use super::view::{HeadView, ReportView, RuleView};
use crate::base::error::Result;
use crate::base::words::plural;

const TEMPLATE: &str = include_str!("../../charts/summary.md.j2");

/// The maximum length of the summary in bytes. GitHub limits a comment to 65,536 characters; a job summary may be
/// longer.
const LONGEST: usize = 65_536;

/// Pairs of limits that shorten the summary. The first number is the maximum number of listed findings. The second is
/// the maximum number of findings that are shown with their rows. The pairs are tried in order until the summary is
/// short enough.
const SIZES: [(usize, usize); 6] = [(300, 30), (300, 10), (150, 10), (50, 10), (50, 0), (0, 0)];

/// The values that the template of the summary shows.
#[derive(Serialize)]
struct StepSummary<'a> {
    head: &'a HeadView,
    causes: &'a [Cause],
    /// The findings listed with one line each.
    findings: &'a [&'a FindingView<'a>],
    /// The findings that are shown with their rows.
    detailed: Vec<&'a FindingView<'a>>,
    left_out: Option<String>,
    /// Lines about the measurements on a GPU; empty if nothing was measured, or if the lines do not fit.
    measured: Vec<String>,
    /// The rules with findings.
    advice: Vec<&'a RuleView>,
}

/// Renders the summary.
///
/// # Errors
///
/// If the template fails, which is a bug of this program.
pub(super) fn render(view: &ReportView<'_>) -> Result<String> {
    if view.changes.is_some() {
        return comment::render(view, comment::Extras::default());
    }
    let findings = view.worst_first();
    let mut text = String::new();
    for (lines, detailed) in SIZES {
        text = fill("summary.md.j2", TEMPLATE, &summary(view, &findings, lines, detailed))?;
        if text.len() <= LONGEST {
            break;
        }
    }
    Ok(text)
}

fn summary<'a>(
    view: &'a ReportView<'a>,
    findings: &'a [&'a FindingView<'a>],
    lines: usize,
    detailed: usize,
) -> StepSummary<'a> {
    let (shown, rest) = findings.split_at(findings.len().min(lines));
    let left_out =
        format!("{} in the JSON report (`--format json`).", plural(rest.len(), "more finding"));
    let with_rows = shown.iter().filter(|f| f.examples.count > 0);
    let measured = measured::lines(view.raw);
    let bytes: usize = measured.iter().map(String::len).sum();
    let found = |rule: &&RuleView| findings.iter().any(|f| f.rule == rule.id);
    StepSummary {
        head: &view.head,
        causes: &view.causes,
        findings: shown,
        detailed: with_rows.take(detailed).copied().collect(),
        measured: if bytes < LONGEST / 2 { measured } else { Vec::new() },
        left_out: (!rest.is_empty()).then_some(left_out),
        advice: view.rules.iter().filter(found).collect(),
    }
}
