//! Renders the report for a terminal: findings by file with their rows, then the advice of the
//! rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::document::{Document, DocumentTable};
use super::measured;
use super::style::{self, BOLD, DIM, styled};
use super::triage::Cause;
use super::view::changes::{ChangesView, TableView};
use super::view::finding::FindingView;
use super::view::{ReportView, RuleView};
use crate::base::escape::clean;
use crate::base::words::{Figure, count, first_of, plural};
use crate::database::diff::{FAR, Ratios};
use crate::findings::{EXAMPLES, Severity};

/// The maximum number of rows that are shown below a finding. The JSON report has all rows.
const ROWS: usize = 2;
/// The maximum number of lines in the list of causes. A cause is a group of findings of the same rule, severity and
/// backend.
const CAUSES: usize = 20;

/// The maximum number of rules that the short report explains. The explanation of a rule is one line.
const STEPS: usize = 6;

/// The maximum number of names in a list of versions or in a list of systems.
const NAMED: usize = 3;

/// The maximum number of changed files that are listed, not counting tables.
const FILES: usize = 20;

pub(super) fn render(view: &ReportView<'_>, colour: bool, full: bool) -> String {
    // A comparison starts with the changes, and a drawn sample is read completely, so neither is shortened.
    let glance = !full && view.changes.is_none() && view.drawn.is_none();
    let text = if glance && !view.causes.is_empty() { at_a_glance(view) } else { coloured(view) };
    if colour { text } else { style::plain(&text) }
}

/// Renders one screen: the verdict, the causes, and the options that show more.
fn at_a_glance(view: &ReportView<'_>) -> String {
    let mut out = format!("{}\n\n", styled(BOLD, verdict(view)));
    write_triage(&mut out, view, "");
    for rule in worst_rules(view) {
        let (what, step) = (rule.summary.trim_end_matches('.'), rule.first_step());
        let step = step.trim_end_matches('.');
        let _ = writeln!(out, "{}: {what}. First step: {step}.", name_of(view, &rule.id));
    }
    out.push('\n');
    let more = "--full prints every finding and what to do, --format concise prints one line per finding, --html FILE writes a \
                page, --rows DIR writes all rows; `perfdb-gate explain RULE` explains a rule";
    let _ = writeln!(out, "{}\n", styled(DIM, more));
    write_summary(&mut out, view);
    out
}

/// Returns the most important rules with findings, at most [`STEPS`]. Rules with errors come before rules with
/// warnings.
fn worst_rules<'v>(view: &'v ReportView<'_>) -> Vec<&'v RuleView> {
    let mut told = BTreeSet::new();
    let rules = view.causes.iter().filter(|cause| told.insert(&cause.rule));
    rules.filter_map(|cause| view.rule(&cause.rule)).take(STEPS).collect()
}

/// Returns the verdict and the number of findings that make the run fail.
fn verdict(view: &ReportView<'_>) -> String {
    let name = view.head.verdict;
    let Some(least) = view.outcome.fail_on.map(|severity| severity.into_str()) else {
        return format!("{name}: no finding fails the run (--fail-on never)");
    };
    let all = plural(view.counted().count(), "finding");
    let failing = view.findings.iter().filter(|f| view.outcome.fails(f.raw)).count();
    let what = if failing == 0 { "none".to_owned() } else { count(failing) };
    let verb = if failing > 1 { "make" } else { "makes" };
    format!("{name}: {what} of {all} {verb} the run fail (--fail-on {least})")
}

/// Renders a table with the numbers of findings, rows and files for each rule and severity.
pub(super) fn statistics(view: &ReportView<'_>) -> String {
    let mut rules: BTreeMap<(Severity, &str), (usize, u64, BTreeSet<&str>)> = BTreeMap::new();
    for finding in view.counted() {
        let key = (finding.raw.severity, finding.rule.as_str());
        let (findings, rows, files) = rules.entry(key).or_default();
        *findings += 1;
        *rows += finding.count;
        files.insert(&finding.path);
    }
    let rows = rules.iter().map(|((severity, rule), (findings, rows, files))| {
        let numbers = [*findings, *rows as usize, files.len()].map(count);
        [(*rule).to_owned(), severity.into_str().to_owned()].into_iter().chain(numbers).collect()
    });
    let heads = ["rule", "severity", "findings", "rows", "files"];
    let mut document = Document::new("");
    document.table("", DocumentTable::new(&heads, [2, 3, 4], rows));
    document.paragraph(&view.head.headline);
    document.text()
}

/// Renders one line per finding, such as `PATH: error RULE: MESSAGE`, which grep and editors can read. The last line
/// sums up the run.
pub(super) fn concise(view: &ReportView<'_>) -> String {
    let mut out = String::new();
    for finding in view.counted() {
        let line = finding.raw.line().map(|line| format!(":{line}")).unwrap_or_default();
        let (path, severity) = (&finding.path, finding.severity);
        let _ = writeln!(out, "{path}{line}: {severity} {}: {}", finding.rule, finding.sentence());
    }
    let _ = writeln!(out, "{}", view.head.headline);
    out
}

fn coloured(view: &ReportView<'_>) -> String {
    let mut out = String::new();
    if let Some(remeasured) = &view.raw.remeasured {
        measured::human::write(&mut out, remeasured);
        let seconds = view.raw.elapsed.as_secs_f64();
        let _ = writeln!(out, "{}", styled(DIM, format!("in {seconds:.1} s")));
        return out;
    }
    if let Some(changes) = &view.changes {
        write_changes(&mut out, changes);
        for line in view.summary.iter().chain(&view.repaired) {
            let _ = writeln!(out, "{line}");
        }
    }
    if let Some(predictions) = view.raw.predictions.as_ref().filter(|p| !p.notes().is_empty()) {
        out += "\npredictions\n";
        for line in predictions.lines() {
            let _ = writeln!(out, "    {}", clean(&line.text()));
        }
    }
    match &view.drawn {
        Some(how) => out += &format!("{how}\n\n"),
        None => write_triage(&mut out, view, " below"),
    }
    if view.changes.is_some() && view.counted().next().is_some() {
        out += "\n";
    }
    write_findings(&mut out, view);
    if !out.is_empty() {
        out.push('\n');
    }
    if let Some(old) = &view.old {
        let _ = writeln!(out, "existing findings: {old}; --format json lists them\n");
    }
    write_advice(&mut out, view);
    write_summary(&mut out, view);
    out
}

/// Writes the changed tables, each with the rows whose latency changed most, and then the other changed files.
fn write_changes(out: &mut String, changes: &ChangesView<'_>) {
    for table in changes.tables.iter().filter(|t| !t.raw.only_moved()) {
        write_table(out, table);
    }
    for (status, path) in changes.files.iter().take(FILES) {
        let _ = writeln!(out, "{status:9} {path}");
    }
    if changes.files.len() > FILES {
        let rest = plural(changes.files.len() - FILES, "more file");
        let _ = writeln!(out, "and {rest} in --format json");
    }
}

fn write_table(out: &mut String, table: &TableView<'_>) {
    let status = styled(BOLD, format!("{:9}", table.status));
    let was = table.old_path.as_ref().map(|old| format!(" (was {old})")).unwrap_or_default();
    let _ = writeln!(out, "{status} {}{was}", table.path);
    let mut line = match &table.raw.rows {
        None => "rows not compared".to_owned(),
        Some(rows) if rows.is_empty() => "no row changed".to_owned(),
        Some(rows) => format!(
            "+{} -{} ~{} rows",
            count(rows.added.len()),
            count(rows.removed.len()),
            count(rows.changed.len())
        ),
    };
    if table.raw.base_rows.and(table.raw.head_rows).is_some() {
        line += &format!(", {} → {}", table.before, table.after);
    }
    if let Some(fault) = &table.fault {
        line += &format!("; {fault}");
    }
    let _ = writeln!(out, "    {line}");
    if let Some(ratios) = &table.raw.ratios {
        write_ratios(out, ratios);
    }
    for line in table.worst.lines.iter().take(ROWS) {
        let _ = writeln!(out, "      {}", styled(DIM, line));
    }
}

fn write_ratios(out: &mut String, ratios: &Ratios) {
    let _ = writeln!(
        out,
        "    latency × {:.3} in the median (5th percentile {:.3}, 95th {:.3}); {:.0} % of {} differ by more than {:.0} %",
        Figure(ratios.median),
        Figure(ratios.low),
        Figure(ratios.high),
        ratios.far * 100.0,
        plural(ratios.rows, "row"),
        FAR * 100.0
    );
}

/// Writes one line per cause. If there are too many causes, the last line contains the number of omitted causes.
/// `below` says where the omitted causes are listed.
fn write_triage(out: &mut String, view: &ReportView<'_>, below: &str) {
    let causes = &view.causes;
    if causes.is_empty() {
        return;
    }
    let shown = if causes.len() > CAUSES { CAUSES - 1 } else { causes.len() };
    let (shown, rest) = causes.split_at(shown);
    for cause in shown {
        let severity = styled(style::of_severity(cause.level), format!("{:7}", cause.severity));
        let _ = writeln!(out, "{severity} {} {}", name_of(view, &cause.rule), concerned(cause));
    }
    if !rest.is_empty() {
        let errors = rest.iter().filter(|c| c.level == Severity::Error).count();
        let causes = plural(rest.len(), "cause");
        let _ = writeln!(out, "and {causes} more{below}, {errors} of them errors");
    }
    out.push('\n');
}

/// Returns the name of a rule in bold, as a link to its documentation if it has one.
fn name_of(view: &ReportView<'_>, rule: &str) -> String {
    let page = view.rule(rule).and_then(|r| r.page.as_deref());
    styled(BOLD, style::linked(rule, page))
}

/// Describes the data that a group of findings is about: backend, versions, systems, the numbers of files and rows, and
/// the file with the most rows.
fn concerned(cause: &Cause) -> String {
    let some = |all: &[String]| first_of(all, NAMED, ", ");
    let place = [cause.backend.as_str(), &some(&cause.versions)].join(" ");
    let files = plural(cause.files, "file");
    // Files outside of the data directories belong to no system.
    let systems = match &cause.systems[..] {
        [] => String::new(),
        systems => format!(" on {}", some(systems)),
    };
    let rows = match cause.count {
        0 => String::new(),
        n => format!(", {}", plural(n as usize, "row")),
    };
    let below = cause.worst.split('/').skip_while(|part| *part != "data").skip(1);
    let most = match (cause.files, below.collect::<Vec<_>>().join("/")) {
        (1, _) => String::new(),
        (_, path) if path.is_empty() => format!("; most in {}", cause.worst),
        (_, path) => format!("; most in {path}"),
    };
    format!("{}: {files}{systems}{rows}{most}", place.trim())
}

/// Writes the new findings that are not waived, grouped by file.
fn write_findings(out: &mut String, view: &ReportView<'_>) {
    // People judge a drawn sample by its rows, so more rows are shown.
    let rows = if view.drawn.is_some() { EXAMPLES } else { ROWS };
    let mut last = None;
    for finding in view.counted() {
        if last != Some(&finding.path) {
            let gap = if last.is_none() { "" } else { "\n" };
            let _ = writeln!(out, "{gap}{}", styled(BOLD, &finding.path));
            last = Some(&finding.path);
        }
        write_finding(out, view, finding, rows);
    }
}

fn write_finding(out: &mut String, view: &ReportView<'_>, finding: &FindingView<'_>, rows: usize) {
    let severity =
        styled(style::of_severity(finding.raw.severity), format!("{:7}", finding.severity));
    let _ = writeln!(out, "  {severity} {}: {}", name_of(view, &finding.rule), finding.sentence());
    for line in finding.examples.lines.iter().take(rows) {
        let _ = writeln!(out, "      {}", styled(DIM, line));
    }
    let rest = finding.examples.count.saturating_sub(rows);
    if rest > 0 {
        let _ = writeln!(out, "      {}", styled(DIM, format!("and {rest} more in --format json")));
    }
}

/// Writes the advice of each rule with errors or warnings.
fn write_advice(out: &mut String, view: &ReportView<'_>) {
    let found: BTreeSet<&str> = view
        .counted()
        .filter(|f| f.raw.severity != Severity::Info)
        .map(|f| f.rule.as_str())
        .collect();
    for rule in view.rules.iter().filter(|r| found.contains(r.id.as_str())) {
        let _ = writeln!(out, "{} {}", styled(BOLD, format!("{}:", rule.id)), rule.instead);
    }
    if !found.is_empty() {
        let more =
            "`perfdb-gate explain RULE` explains a rule, `perfdb-gate waive` accepts a finding";
        let _ = writeln!(out, "{}\n", styled(DIM, more));
    }
}

fn write_summary(out: &mut String, view: &ReportView<'_>) {
    let overlays = view.overlays.as_ref().map(|overlays| format!("rules changed by {overlays}"));
    let facts = view.facts.as_ref().map(|facts| styled(DIM, format!("facts: {facts}")));
    let lines = [overlays.as_ref(), view.outside.as_ref(), view.absent.as_ref(), facts.as_ref()];
    for line in lines.into_iter().flatten() {
        let _ = writeln!(out, "{line}");
    }
    let seconds = view.raw.elapsed.as_secs_f64();
    let compared = if view.changes.is_some() { "; compared" } else { "" };
    let line = format!("{}{compared} in {seconds:.2} s", view.head.headline);
    let _ = writeln!(out, "{}", styled(BOLD, line));
}
