//! What the template of the comment sees: every figure and sentence, as text.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Extras, SKETCHES, Smoke};
use crate::base::words::{count, plural};
use crate::database::diff::{Diff, FileDiff, Status, TableDiff, Totals};
use crate::findings::{Finding, Severity};
use crate::report::chart::mermaid;
use crate::report::{Outcome, Report, Verdict, below_data, line_of, old_debt, worst_first};

/// Findings told in full, with rows and the command; a reviewer has half a minute.
const FULL: usize = 8;
/// Versions listed in the open.
const GLANCE: usize = 12;
/// Findings told in a line, of those that are left.
const LINES: usize = 50;

/// What the template sees.
#[derive(Serialize)]
pub(super) struct View {
    verdict: String,
    /// What a reader should know of how it was judged.
    notes: Option<String>,
    headline: String,
    pub findings: Vec<Told>,
    /// Findings that are not told in full.
    pub more: Vec<Told>,
    old: Option<String>,
    pub versions: Vec<Version>,
    /// Whether they are more than are read at a glance.
    folded: bool,
    total: Version,
    pub tables: Vec<Table>,
    /// Tables that only lie elsewhere: a move of the whole tree is one thing to know.
    moved: Option<String>,
    /// Whether a count of them is not known.
    unknown: bool,
    pub faults: Vec<Table>,
    pub files: Vec<File>,
    /// Charts that the site draws from text.
    pub sketches: Vec<String>,
    /// The charts, by name, and where they are.
    pub charts: Vec<String>,
    pub folder: Option<String>,
    pub smoke: Option<Tried>,
    /// A line for each section that did not fit.
    pub left_out: Vec<String>,
}

/// A finding.
#[derive(Serialize)]
pub(super) struct Told {
    mark: &'static str,
    rule: String,
    path: String,
    message: String,
    pub rows: Vec<String>,
    instead: String,
    command: String,
}

#[derive(Serialize, Default)]
pub(super) struct Version {
    system: String,
    backend: String,
    version: String,
    tables: String,
    /// Rows that these tables hold now.
    now: String,
    rows: Rows,
}

#[derive(Serialize, Default)]
struct Rows {
    added: String,
    removed: String,
    changed: String,
}

#[derive(Serialize)]
pub(super) struct Table {
    path: String,
    old_path: Option<String>,
    status: &'static str,
    before: String,
    after: String,
    rows: Rows,
    ratio: String,
    fault: Option<String>,
}

/// The command that tries the database.
#[derive(Serialize)]
pub(super) struct Tried {
    mark: &'static str,
    command: String,
    ended: String,
    pub output: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct File {
    path: String,
    status: &'static str,
}

/// What the comment tells of a report and of what comes with it, nothing of it cut.
pub(super) fn view(report: &Report, outcome: Outcome, extras: Extras<'_>) -> View {
    let empty = Diff::default();
    let diff = report.diff.as_ref().unwrap_or(&empty);
    let mut findings = told(report);
    let mut more = findings.split_off(findings.len().min(FULL));
    let rest = more.split_off(more.len().min(LINES)).len();
    let elsewhere = [
        (rest, "more finding"),
        (report.counts.infos as usize, "new info"),
        (report.counts.waived as usize, "waived finding"),
    ];
    let left_out = elsewhere
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} in the JSON report.", plural(*n, what)))
        .collect();
    let mut by_version: BTreeMap<(&str, &str, &str), Vec<&TableDiff>> = BTreeMap::new();
    for table in &diff.tables {
        let place = &table.place;
        let key = (place.system.as_str(), place.backend.as_str(), place.version.as_str());
        by_version.entry(key).or_default().push(table);
    }
    let (moves, tables): (Vec<&TableDiff>, Vec<&TableDiff>) =
        diff.tables.iter().partition(|t| t.only_moved());
    let version =
        |((system, backend, version), tables): ((&str, &str, &str), Vec<&TableDiff>)| Version {
            system: system.to_owned(),
            backend: backend.to_owned(),
            version: version.to_owned(),
            ..sums(&tables)
        };
    let Extras { figures, folder, smoke } = extras;
    View {
        verdict: verdict(report, outcome),
        notes: report.changed_rules(),
        headline: diff.headline(),
        findings,
        more,
        old: old_debt(report),
        folded: by_version.len() > GLANCE,
        versions: by_version.into_iter().map(version).collect(),
        total: sums(&diff.tables.iter().collect::<Vec<_>>()),
        moved: moved(&moves),
        unknown: tables.iter().any(|t| t.base_rows.and(t.head_rows).is_none()),
        tables: tables.into_iter().map(table).collect(),
        faults: diff.tables.iter().filter(|t| t.fault.is_some()).map(table).collect(),
        files: diff.files.iter().map(file).collect(),
        sketches: figures.iter().filter_map(mermaid).take(SKETCHES).collect(),
        charts: figures.iter().filter(|_| folder.is_some()).map(|f| f.name.clone()).collect(),
        folder: folder.map(|f| f.display().to_string()),
        smoke: smoke.map(tried),
        left_out,
    }
}

/// The verdict, in a few words.
fn verdict(report: &Report, outcome: Outcome) -> String {
    let (errors, warnings) = (report.counts.errors as usize, report.counts.warnings as usize);
    let found = match (errors, warnings) {
        (0, 0) => "no new error or warning".to_owned(),
        (0, _) => format!("no new error, {}", plural(warnings, "new warning")),
        (_, 0) => plural(errors, "new error"),
        _ => format!("{}, {}", plural(errors, "new error"), plural(warnings, "new warning")),
    };
    match outcome.verdict {
        Verdict::Inconclusive => "nothing was compared".to_owned(),
        Verdict::Failed => format!("❌ {found}"),
        Verdict::Clean if errors + warnings > 0 => format!("⚠️ {found}"),
        Verdict::Clean => format!("✅ {found}"),
    }
}

/// New findings, the worst first: errors before warnings, then by rows.
fn told(report: &Report) -> Vec<Told> {
    let findings = worst_first(report).into_iter().filter(|f| f.severity != Severity::Info);
    let instead = |rule: &str| {
        let rule = report.rules.iter().find(|r| r.id == rule);
        let words = rule.into_iter().flat_map(|r| r.instead.split_whitespace());
        words.collect::<Vec<_>>().join(" ")
    };
    let told = |f: &Finding| Told {
        mark: if f.severity == Severity::Error { "❌" } else { "⚠️" },
        rule: f.rule.clone(),
        path: below_data(&f.path).to_owned(),
        message: short(&f.message),
        rows: f.examples.iter().map(|e| short(&line_of(e))).collect(),
        instead: instead(&f.rule),
        command: f.command(),
    };
    findings.map(told).collect()
}

/// A sentence that may list much, cut to what is read.
fn short(text: &str) -> String {
    const LENGTH: usize = 400;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

fn moved(tables: &[&TableDiff]) -> Option<String> {
    let first = tables.first()?;
    let (old, new) = (first.old_path.as_deref().unwrap_or_default(), &first.path);
    let rest = if tables.len() > 1 { ", …" } else { "" };
    Some(format!("{} moved, no row changed: {old} → {new}{rest}", plural(tables.len(), "table")))
}

/// Rows that tables hold; a dash where that of one is not known, since it only moved.
fn now(tables: &[&TableDiff]) -> String {
    let held = |t: &&&TableDiff| t.status != Status::Deleted;
    let rows = tables.iter().filter(held).map(|t| t.head_rows).sum::<Option<u64>>();
    rows.map_or("–".to_owned(), |rows| count(rows as usize))
}

fn sums(tables: &[&TableDiff]) -> Version {
    let totals = Totals::of(tables.iter().copied());
    Version {
        tables: Status::counts(tables.iter().map(|t| t.status)),
        now: now(tables),
        rows: Rows {
            added: count(totals.added as usize),
            removed: count(totals.removed as usize),
            changed: count(totals.changed as usize),
        },
        ..Version::default()
    }
}

fn table(table: &TableDiff) -> Table {
    let known = |n: Option<usize>| n.map_or("–".to_owned(), count);
    let rows = table.rows.as_ref();
    Table {
        path: table.path.clone(),
        old_path: table.old_path.clone(),
        status: table.status.name(),
        before: known(table.base_rows.map(|n| n as usize)),
        after: known(table.head_rows.map(|n| n as usize)),
        rows: Rows {
            added: known(rows.map(|r| r.added.len())),
            removed: known(rows.map(|r| r.removed.len())),
            changed: known(rows.map(|r| r.changed.len())),
        },
        ratio: table.ratios.as_ref().map_or(String::new(), |r| {
            let trend = sparkline(&r.trend);
            format!("{:.3} ({:.3} … {:.3}) {trend}", r.median, r.low, r.high)
        }),
        fault: table.fault.clone(),
    }
}

fn tried(smoke: &Smoke) -> Tried {
    Tried {
        mark: if smoke.passed { "✅" } else { "❌" },
        command: short(&smoke.command),
        ended: smoke.ended.clone(),
        output: smoke.output.lines().map(str::to_owned).collect(),
    }
}

/// The middle ratios of ever longer latencies, as bars: ▄ is no change, a full bar twice the time
/// or more, the lowest half or less.
fn sparkline(trend: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |ratio: &f64| {
        let up = ratio.log2().clamp(-1.0, 1.0);
        BARS[(3.0 + if up > 0.0 { up * 4.0 } else { up * 3.0 }).round() as usize]
    };
    trend.iter().map(bar).collect()
}

fn file(file: &FileDiff) -> File {
    File { path: file.path.clone(), status: file.status.name() }
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn bars_stand_for_ratios_from_half_to_twice() {
        assert_eq!(sparkline(&[0.3, 0.5, 1.0, 1.02, 1.5, 2.0, 90.0]), "▁▁▄▄▆██");
    }
}
