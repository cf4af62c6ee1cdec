//! Renders JUnit XML, which most CI systems show: one suite per rule, one case per finding.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::run::{RunOutcome, RunVerdict};
use super::view::ReportView;
use super::view::finding::FindingView;
use super::xml::xml;
use crate::base::words::plural;
use crate::findings::Novelty;

/// The counts of cases of one suite, or of all suites.
#[derive(Default, Clone, Copy)]
struct Tally {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

pub(super) fn render(view: &ReportView<'_>) -> String {
    let outcome = view.outcome;
    // A rule without findings becomes one passed case.
    let mut rules: BTreeMap<&str, Vec<&FindingView<'_>>> =
        view.rules.iter().map(|rule| (rule.id.as_str(), Vec::new())).collect();
    for finding in &view.findings {
        rules.entry(&finding.rule).or_default().push(finding);
    }
    let mut all = Tally::default();
    let mut suites = String::new();
    if outcome.verdict == RunVerdict::Inconclusive {
        // A run that checked nothing must not look passed.
        let error = format!("<error message=\"{}\"/>", xml(&view.head.headline));
        let case = case("perfdb-gate", "something was checked", &error);
        suite(&mut suites, &mut all, "perfdb-gate", &[case], |tally| tally.errors = 1);
    }
    for (rule, findings) in rules {
        if findings.is_empty() {
            let case = case(rule, "no findings", "");
            suite(&mut suites, &mut all, rule, &[case], |_| {});
            continue;
        }
        let cases: Vec<String> =
            findings.iter().map(|f| case(rule, &name(f), &body(f, outcome))).collect();
        suite(&mut suites, &mut all, rule, &cases, |tally| {
            tally.failures = findings.iter().filter(|f| outcome.fails(f.raw)).count();
            tally.skipped = findings.iter().filter(|f| !f.raw.counts()).count();
        });
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"perfdb-gate {}\" {}>\n{suites}</testsuites>\n",
        view.head.command,
        all.attributes()
    )
}

impl Tally {
    fn attributes(self) -> String {
        let Self { tests, failures, errors, skipped } = self;
        format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\""
        )
    }
}

fn suite(
    out: &mut String,
    all: &mut Tally,
    name: &str,
    cases: &[String],
    count: impl FnOnce(&mut Tally),
) {
    let mut tally = Tally { tests: cases.len(), ..Tally::default() };
    count(&mut tally);
    all.tests += tally.tests;
    all.failures += tally.failures;
    all.errors += tally.errors;
    all.skipped += tally.skipped;
    let attributes = tally.attributes();
    let _ = writeln!(out, "  <testsuite name=\"{}\" {attributes}>", xml(name));
    cases.iter().for_each(|case| out.push_str(case));
    out.push_str("  </testsuite>\n");
}

fn case(rule: &str, name: &str, body: &str) -> String {
    let (rule, name) = (xml(rule), xml(name));
    match body {
        "" => format!("    <testcase classname=\"{rule}\" name=\"{name}\"/>\n"),
        body => format!("    <testcase classname=\"{rule}\" name=\"{name}\">{body}</testcase>\n"),
    }
}

/// Returns a name that distinguishes a finding from others of its rule.
fn name(finding: &FindingView<'_>) -> String {
    let mut name = finding.path.clone();
    if !finding.slice_line.is_empty() {
        let _ = write!(name, " {}", finding.slice_line);
    }
    if finding.raw.novelty == Novelty::Inherited {
        name += " (known)";
    }
    name
}

fn body(finding: &FindingView<'_>, outcome: RunOutcome) -> String {
    let message = xml(&finding.message);
    if let Some(by) = &finding.waived_by {
        return format!("<skipped message=\"waived by {}: {message}\"/>", xml(by));
    }
    if finding.raw.novelty == Novelty::Inherited {
        return format!("<skipped message=\"known: {message}\"/>");
    }
    let severity = finding.severity;
    let mut lines = vec![format!("{severity}: {}", finding.message)];
    if finding.count > 0 {
        lines.push(format!("{} concerned", plural(finding.count as usize, "row")));
    }
    lines.extend(finding.examples.lines.iter().cloned());
    let text = lines.iter().map(|line| xml(line)).collect::<Vec<_>>().join("\n");
    if outcome.fails(finding.raw) {
        format!("<failure type=\"{severity}\" message=\"{message}\">{text}</failure>")
    } else {
        format!("<system-out>{text}</system-out>")
    }
}
