//! Markdown for a step's summary or a pull request: `charts/summary.md.j2`, filled. Of a comparison
//! it is the pull request's comment.

use serde::Serialize;

use super::human::{line_of, short};
use super::{Outcome, Report, below_data, headline, triage, worst_first};
use crate::base::error::Result;
use crate::base::words::{count, plural};
use crate::findings::Finding;
use crate::report::comment;
use crate::report::template::fill;

const TEMPLATE: &str = include_str!("../../charts/summary.md.j2");

/// What a site takes as a comment, in characters, counted in bytes; a step's summary may be longer.
const LONGEST: usize = 65_536;

/// How many findings are told in a line, and of how many rows are shown: fewer where they do not fit.
const SIZES: [(usize, usize); 6] = [(300, 30), (300, 10), (150, 10), (50, 10), (50, 0), (0, 0)];

/// What the template sees.
#[derive(Serialize)]
struct View {
    command: &'static str,
    verdict: &'static str,
    headline: String,
    notes: Vec<String>,
    causes: Vec<Cause>,
    findings: Vec<Told>,
    detailed: Vec<Told>,
    left_out: Option<String>,
    advice: Vec<(String, String)>,
}

#[derive(Serialize)]
struct Cause {
    severity: &'static str,
    rule: String,
    backend: String,
    files: usize,
    rows: String,
}

#[derive(Serialize, Clone)]
struct Told {
    severity: &'static str,
    rule: String,
    path: String,
    slice: String,
    rows: String,
    message: String,
    examples: Vec<String>,
}

/// # Errors
///
/// When the template fails, which is a fault of this program.
pub(super) fn render(report: &Report, outcome: Outcome) -> Result<String> {
    if report.diff.is_some() {
        return comment::render(report, outcome, comment::Extras::default());
    }
    let mut text = String::new();
    for (lines, detailed) in SIZES {
        text = fill("summary.md.j2", TEMPLATE, &view(report, outcome, lines, detailed))?;
        if text.len() <= LONGEST {
            break;
        }
    }
    Ok(text)
}

fn view(report: &Report, outcome: Outcome, lines: usize, detailed: usize) -> View {
    let findings = worst_first(report);
    let told: Vec<Told> = findings.iter().take(lines).map(|f| told(f)).collect();
    let rest = findings.len() - told.len();
    let found = |rule: &str| findings.iter().any(|f| f.rule == rule);
    let advice = report.rules.iter().filter(|rule| found(&rule.id)).map(|rule| {
        let words: Vec<&str> = rule.instead.split_whitespace().collect();
        (rule.id.clone(), words.join(" "))
    });
    View {
        command: report.command,
        verdict: outcome.verdict.name(),
        headline: headline(report),
        notes: report.notes(),
        causes: triage::at_a_glance(report).iter().map(cause).collect(),
        detailed: told.iter().filter(|f| !f.examples.is_empty()).take(detailed).cloned().collect(),
        findings: told,
        left_out: (rest > 0).then(|| {
            format!("{} in the JSON report (`--format json`).", plural(rest, "more finding"))
        }),
        advice: advice.collect(),
    }
}

fn cause(cause: &triage::Cause<'_>) -> Cause {
    Cause {
        severity: cause.severity.name(),
        rule: cause.rule.to_owned(),
        backend: cause.backend.to_owned(),
        files: cause.files,
        rows: count(cause.rows as usize),
    }
}

fn told(finding: &Finding) -> Told {
    let slice: Vec<String> =
        finding.slice.iter().map(|(name, value)| format!("{name}={}", short(value))).collect();
    Told {
        severity: finding.severity.name(),
        rule: finding.rule.clone(),
        path: below_data(&finding.path).to_owned(),
        slice: slice.join(" "),
        rows: if finding.rows == 0 { String::new() } else { count(finding.rows as usize) },
        message: finding.message.clone(),
        examples: finding.examples.iter().map(line_of).collect(),
    }
}
