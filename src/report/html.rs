//! The report as one page that opens from disk: `charts/report.html.j2`, filled.
//!
//! Findings are rows of HTML, not data that a script would render: the page reads without a script,
//! the template escapes whatever comes from data, and the script only hides and reorders rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::human::short;
use super::{Report, Verdict, below_data, headline, triage, urgency};
use crate::base::digest::hex;
use crate::base::error::Result;
use crate::base::escape::clean;
use crate::base::words::{count, plural};
use crate::checks::rule::Rule;
use crate::database::diff::{Diff, TableDiff};
use crate::findings::{Example, Finding};
use crate::report::chart::Drawing;
use crate::report::template::fill;

const TEMPLATE: &str = include_str!("../../charts/report.html.j2");

/// Causes that are listed; the findings themselves follow.
const CAUSES: usize = 20;

/// What the template sees.
#[derive(Serialize)]
struct View {
    command: &'static str,
    version: &'static str,
    verdict: &'static str,
    headline: String,
    notes: Vec<String>,
    causes: Vec<Cause>,
    /// Causes that are not listed.
    more_causes: usize,
    findings: Vec<Row>,
    choices: Choices,
    /// Whether some findings do not count: they are hidden first.
    debt: bool,
    rules: Vec<Help>,
    tables: Vec<Table>,
    moved: Vec<Table>,
    files: Vec<File>,
    charts: Vec<Shown>,
    nonce: String,
}

#[derive(Serialize)]
struct Cause {
    severity: &'static str,
    rule: String,
    backend: String,
    versions: String,
    systems: String,
    files: usize,
    rows: String,
}

#[derive(Serialize)]
struct Row {
    severity: &'static str,
    /// For sorting: the worst first.
    rank: u8,
    state: &'static str,
    rule: String,
    path: String,
    table: String,
    system: String,
    backend: String,
    version: String,
    count: u64,
    rows: String,
    message: String,
    waived_by: Option<String>,
    fingerprint: String,
    facts: Vec<(String, String)>,
    examples: Option<Examples>,
}

/// Rows of a table, as a table.
#[derive(Serialize)]
struct Examples {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// What the findings can be narrowed to.
#[derive(Serialize)]
struct Choices {
    severity: Vec<String>,
    rule: Vec<String>,
    system: Vec<String>,
    backend: Vec<String>,
    state: Vec<String>,
}

#[derive(Serialize)]
struct Help {
    id: String,
    summary: String,
    what: String,
    why: String,
    instead: String,
}

#[derive(Serialize)]
struct Table {
    path: String,
    old_path: Option<String>,
    status: &'static str,
    before: String,
    after: String,
    added: String,
    removed: String,
    changed: String,
    ratio: String,
    fault: Option<String>,
    worst: Option<Examples>,
}

#[derive(Serialize)]
struct File {
    path: String,
    status: &'static str,
}

#[derive(Serialize)]
struct Shown {
    title: String,
    svg: String,
}

/// Renders the page.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
pub(super) fn render(report: &Report, verdict: Verdict, charts: &[Drawing]) -> Result<String> {
    let mut view = view(report, verdict, charts);
    // Only the page's own script has the nonce. It depends on all that the page shows, so that data
    // cannot know it.
    let seen = serde_json::to_vec(&view).unwrap_or_default();
    view.nonce = hex(&Sha256::digest(seen)[..16]);
    fill("report.html.j2", TEMPLATE, &view)
}

fn view(report: &Report, verdict: Verdict, charts: &[Drawing]) -> View {
    let findings = &report.findings;
    let causes = triage::at_a_glance(report);
    let mut ordered: Vec<&Finding> = findings.iter().collect();
    ordered.sort_by_key(|f| (!f.counts(), urgency(f)));
    let of = |name: fn(&Finding) -> Option<&str>| -> Vec<String> {
        let names: BTreeSet<&str> = findings.iter().filter_map(name).collect();
        names.into_iter().map(clean).collect()
    };
    let severities: BTreeSet<_> = findings.iter().map(|f| f.severity).collect();
    let none = Diff::default();
    let diff = report.diff.as_ref().unwrap_or(&none);
    let (moved, told): (Vec<&TableDiff>, Vec<_>) = diff.tables.iter().partition(|t| t.only_moved());
    let found: BTreeSet<&str> = findings.iter().map(|f| f.rule.as_str()).collect();
    View {
        command: report.command,
        version: env!("CARGO_PKG_VERSION"),
        verdict: verdict.name(),
        headline: headline(report),
        notes: report.notes().iter().map(|note| clean(note)).collect(),
        more_causes: causes.len().saturating_sub(CAUSES),
        causes: causes.iter().take(CAUSES).map(cause).collect(),
        findings: ordered.into_iter().map(row).collect(),
        choices: Choices {
            severity: severities.iter().map(|s| s.name().to_owned()).collect(),
            rule: of(|f| Some(&f.rule)),
            system: of(|f| f.place.as_ref().map(|p| p.system.as_str())),
            backend: of(|f| f.place.as_ref().map(|p| p.backend.as_str())),
            state: of(|f| Some(state(f))),
        },
        debt: findings.iter().any(|f| !f.counts()),
        rules: report.rules.iter().filter(|r| found.contains(r.id.as_str())).map(help).collect(),
        tables: told.into_iter().map(table).collect(),
        moved: moved.into_iter().map(table).collect(),
        files: diff
            .files
            .iter()
            .map(|f| File { path: clean(&f.path), status: f.status.name() })
            .collect(),
        charts: charts
            .iter()
            .map(|c| Shown { title: clean(&c.title), svg: c.svg.clone() })
            .collect(),
        nonce: String::new(),
    }
}

fn cause(cause: &triage::Cause<'_>) -> Cause {
    let names =
        |all: &BTreeSet<&str>| all.iter().map(|name| clean(name)).collect::<Vec<_>>().join(", ");
    Cause {
        severity: cause.severity.name(),
        rule: clean(cause.rule),
        backend: clean(cause.backend),
        versions: names(&cause.versions),
        systems: names(&cause.systems),
        files: cause.files,
        rows: count(cause.rows as usize),
    }
}

/// Whether a finding counts, and if not, why not.
fn state(finding: &Finding) -> &'static str {
    match (&finding.waived_by, finding.new) {
        (Some(_), _) => "waived",
        (None, Some(false)) => "known",
        (None, Some(true)) => "new",
        (None, None) => "open",
    }
}

fn row(finding: &Finding) -> Row {
    let place = finding.place.as_ref();
    let name = |name: Option<&str>| name.map(clean).unwrap_or_default();
    let facts = finding.slice.iter().chain(&finding.evidence);
    Row {
        severity: finding.severity.name(),
        rank: finding.severity as u8,
        state: state(finding),
        rule: clean(&finding.rule),
        path: clean(&finding.path),
        table: name(finding.table.as_deref()),
        system: name(place.map(|p| p.system.as_str())),
        backend: name(place.map(|p| p.backend.as_str())),
        version: name(place.map(|p| p.version.as_str())),
        count: finding.rows,
        rows: if finding.rows == 0 { String::new() } else { count(finding.rows as usize) },
        message: clean(&finding.message),
        waived_by: finding.waived_by.as_deref().map(clean),
        fingerprint: finding.fingerprint(),
        facts: facts.map(|(name, value)| (clean(name), clean(&short(value)))).collect(),
        examples: examples(&finding.examples, plural(finding.examples.len(), "example row")),
    }
}

/// Examples as a table: their keys first, then their values, in the order in which they come.
fn examples(examples: &[Example], title: String) -> Option<Examples> {
    if examples.is_empty() {
        return None;
    }
    let mut columns: Vec<(bool, &str)> = Vec::new();
    for (of_key, pairs) in
        examples.iter().map(|e| (true, &e.key)).chain(examples.iter().map(|e| (false, &e.values)))
    {
        for (name, _) in pairs {
            if !columns.contains(&(of_key, name)) {
                columns.push((of_key, name));
            }
        }
    }
    let cells = |example: &Example| {
        let cell = |(of_key, column): &(bool, &str)| {
            let pairs = if *of_key { &example.key } else { &example.values };
            let value = pairs.iter().find(|(name, _)| name == column);
            value.map(|(_, value)| clean(&short(value))).unwrap_or_default()
        };
        let row = std::iter::once(example.row.to_string());
        row.chain(columns.iter().map(cell)).collect()
    };
    Some(Examples {
        title,
        columns: columns.iter().map(|(_, name)| clean(name)).collect(),
        rows: examples.iter().map(cells).collect(),
    })
}

fn help(rule: &Arc<Rule>) -> Help {
    let text = |text: &str| clean(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    Help {
        id: clean(&rule.id),
        summary: text(&rule.summary),
        what: text(&rule.what),
        why: text(&rule.why),
        instead: text(&rule.instead),
    }
}

fn table(table: &TableDiff) -> Table {
    let known = |n: Option<usize>| n.map_or("–".to_owned(), count);
    let rows = table.rows.as_ref();
    let ratios = table.ratios.as_ref();
    Table {
        path: clean(below_data(&table.path)),
        old_path: table.old_path.as_deref().map(below_data).map(clean),
        status: table.status.name(),
        before: known(table.base_rows.map(|n| n as usize)),
        after: known(table.head_rows.map(|n| n as usize)),
        added: known(rows.map(|r| r.added.len())),
        removed: known(rows.map(|r| r.removed.len())),
        changed: known(rows.map(|r| r.changed.len())),
        ratio: ratios
            .map(|r| format!("{:.3} ({:.3} … {:.3})", r.median, r.low, r.high))
            .unwrap_or_default(),
        fault: table.fault.as_deref().map(clean),
        worst: ratios.and_then(|r| {
            let rows = plural(r.worst.len(), "row");
            examples(&r.worst, format!("The {rows} whose latency changed most"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;

    fn drawing(svg: String) -> Drawing {
        Drawing { name: "chart".into(), title: "a < b".into(), svg, png: Vec::new() }
    }

    fn page(findings: Vec<Finding>, charts: &[Drawing]) -> String {
        let report = Report {
            command: "validate",
            rules: Vec::new(),
            overlays: Vec::new(),
            tables: 1,
            files: 0,
            rows: 1,
            findings,
            counts: Default::default(),
            diff: None,
            remeasured: None,
            elapsed: Default::default(),
            drawn: None,
        };
        render(&report, Verdict::Failed, charts).unwrap()
    }

    #[test]
    fn names_are_inert_and_the_script_is_ours_alone() {
        let hostile = "</script><script>alert(1)</script>\"'`${x}{{ x }}\u{202e}\u{2028}";
        let mut finding =
            Finding::on_path(hostile, Severity::Error, hostile, hostile).evidence(hostile, hostile);
        finding.examples = vec![Example {
            row: 3,
            key: vec![(hostile.into(), hostile.into())],
            values: Vec::new(),
        }];
        let page = page(vec![finding], &[]);
        assert_eq!(page.matches("<script").count(), 1);
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(!page.contains('\u{202e}') && !page.contains('\u{2028}'));
        assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("{{ x }}"));
        let nonce = page.split("nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
        assert!(page.contains(&format!("<script nonce=\"{nonce}\">")), "{nonce}");
    }

    #[test]
    fn charts_stand_in_the_page_as_they_are() {
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>1 ms</title></svg>".to_owned();
        let page = page(Vec::new(), &[drawing(svg.clone())]);
        assert!(page.contains(&svg) && page.contains("a &lt; b"));
    }

    #[test]
    fn examples_with_other_columns_share_a_table() {
        let example = |row, key: &str| Example {
            row,
            key: vec![(key.into(), 1.into())],
            values: vec![("latency".into(), 0.5.into())],
        };
        let table = examples(&[example(7, "m"), example(9, "n")], "rows".into()).unwrap();
        assert_eq!(table.columns, ["m", "n", "latency"]);
        assert_eq!(table.rows, [["7", "1", "", "0.5"], ["9", "", "1", "0.5"]]);
    }
}
