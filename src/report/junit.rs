//! Renders JUnit XML, which most CI systems show: one suite per rule, one case per finding.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::run::{RunOutcome, RunVerdict};
use super::view::ReportView;
use super::view::finding::FindingView;
use super::xml::xml;
use crate::base::words::plural;
use crate::findings::Novelty;

/// A JUnit test suite: the test cases of one rule, with the numbers of cases that failed, had errors, or were skipped.
#[derive(Default)]
struct Suite<'a> {
    name: &'a str,
    cases: Vec<String>,
    failures: usize,
    errors: usize,
    skipped: usize,
}

pub(super) fn render(view: &ReportView<'_>) -> String {
    let outcome = view.outcome;
    let mut rules: BTreeMap<&str, Vec<&FindingView<'_>>> =
        view.rules.iter().map(|rule| (rule.id.as_str(), Vec::new())).collect();
    for finding in &view.findings {
        rules.entry(&finding.rule).or_default().push(finding);
    }
    let mut suites = Vec::new();
    if outcome.verdict == RunVerdict::Inconclusive {
        // A run that checked nothing must not look passed.
        let error = format!("<error message=\"{}\"/>", xml(&view.head.headline));
        let cases = vec![case("perfdb-gate", "something was checked", &error)];
        suites.push(Suite { name: "perfdb-gate", cases, errors: 1, ..Suite::default() });
    }
    for (rule, findings) in rules {
        let cases = findings.iter().map(|f| case(rule, &name(f), &body(f, outcome)));
        let mut cases: Vec<String> = cases.collect();
        if cases.is_empty() {
            // A rule without findings becomes one passed case.
            cases.push(case(rule, "no findings", ""));
        }
        let failures = findings.iter().filter(|f| outcome.fails(f.raw)).count();
        let skipped = findings.iter().filter(|f| !f.raw.counts()).count();
        suites.push(Suite { name: rule, cases, failures, errors: 0, skipped });
    }
    let all: String = suites.iter().map(Suite::xml).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"perfdb-gate {}\" {}>\n{all}</testsuites>\n",
        view.head.command,
        totals(&suites)
    )
}

impl Suite<'_> {
    fn xml(&self) -> String {
        let (name, totals) = (xml(self.name), totals(std::slice::from_ref(self)));
        let cases = self.cases.concat();
        format!("  <testsuite name=\"{name}\" {totals}>\n{cases}  </testsuite>\n")
    }
}

/// Returns the XML attributes with the numbers of test cases.
fn totals(suites: &[Suite<'_>]) -> String {
    let sum = |count: fn(&Suite<'_>) -> usize| suites.iter().map(count).sum::<usize>();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        sum(|s| s.cases.len()),
        sum(|s| s.failures),
        sum(|s| s.errors),
        sum(|s| s.skipped)
    )
}

fn case(rule: &str, name: &str, body: &str) -> String {
    let (rule, name) = (xml(rule), xml(name));
    match body {
        "" => format!("    <testcase classname=\"{rule}\" name=\"{name}\"/>\n"),
        body => format!("    <testcase classname=\"{rule}\" name=\"{name}\">{body}</testcase>\n"),
    }
}

/// Returns a name for a test case that distinguishes a finding from other findings of its rule.
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
