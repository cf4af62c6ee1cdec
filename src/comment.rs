//! The comment on a pull request: one view of a report, rendered by `charts/comment.md.j2`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::chart::{self, Figure};
use crate::checks::{count, plural};
use crate::diff::{Diff, FileDiff, Status, TableDiff, Totals};
use crate::error::Result;
use crate::finding::{Finding, Severity};
use crate::report::{Outcome, Report, Verdict, below_data, line_of, old_debt, worst_first};
use crate::smoke::Smoke;
use crate::template::fill;

const TEMPLATE: &str = include_str!("../charts/comment.md.j2");

/// What a site takes as a comment, in characters; counted in bytes, which are no fewer.
const LONGEST: usize = 65_536;

/// Findings told in full, with rows and the command; a reviewer has half a minute.
const FULL: usize = 8;
/// Versions listed in the open.
const GLANCE: usize = 12;
/// Charts drawn in the comment itself.
pub const SKETCHES: usize = 3;
/// Findings told in a line, of those that are left.
const LINES: usize = 50;

/// What the template sees.
#[derive(Serialize)]
struct View {
    verdict: String,
    /// What a reader should know of how it was judged.
    notes: Option<String>,
    headline: String,
    findings: Vec<Told>,
    /// Findings that are not told in full.
    more: Vec<Told>,
    old: Option<String>,
    versions: Vec<Version>,
    /// Whether they are more than are read at a glance.
    folded: bool,
    total: Version,
    tables: Vec<Table>,
    /// Tables that only lie elsewhere: a move of the whole tree is one thing to know.
    moved: Option<String>,
    /// Whether a count of them is not known.
    unknown: bool,
    faults: Vec<Table>,
    files: Vec<File>,
    /// Charts that the site draws from text.
    sketches: Vec<String>,
    /// The charts, by name, and where they are.
    charts: Vec<String>,
    folder: Option<String>,
    smoke: Option<Tried>,
    /// A line for each section that did not fit.
    left_out: Vec<String>,
}

/// A finding.
#[derive(Serialize)]
struct Told {
    mark: &'static str,
    rule: String,
    path: String,
    message: String,
    rows: Vec<String>,
    instead: String,
    command: String,
}

#[derive(Serialize, Default)]
struct Version {
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
struct Table {
    path: String,
    old_path: Option<String>,
    status: &'static str,
    before: String,
    after: String,
    rows: Rows,
    ratio: String,
    fault: Option<String>,
}

/// Rows that tables hold; a dash where that of one is not known, since it only moved.
fn now(tables: &[&TableDiff]) -> String {
    let held = |t: &&&TableDiff| t.status != Status::Deleted;
    let rows = tables.iter().filter(held).map(|t| t.head_rows).sum::<Option<u64>>();
    rows.map_or("–".to_owned(), |rows| count(rows as usize))
}

/// The command that tries the database.
#[derive(Serialize)]
struct Tried {
    mark: &'static str,
    command: String,
    ended: String,
    output: Vec<String>,
}

#[derive(Serialize)]
struct File {
    path: String,
    status: &'static str,
}

/// What a comment holds beside its report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Charts of what changed most.
    pub figures: &'a [Figure],
    /// Where the charts were written.
    pub folder: Option<&'a Path>,
    /// What became of the command that tries the database.
    pub smoke: Option<&'a Smoke>,
}

/// Renders the comment of a report, cut to what a site takes: the longest sections become a line
/// first that says what was left out and where it is.
///
/// # Errors
///
/// When the template fails, which is a fault of this program.
pub fn render(report: &Report, outcome: Outcome, extras: Extras<'_>) -> Result<String> {
    let empty = Diff::default();
    let diff = report.diff.as_ref().unwrap_or(&empty);
    let cuts: [fn(&mut View); 11] = [
        |_| {},
        |v| leave_out(&mut v.tables, "table", "the JSON report (`--format json`)", &mut v.left_out),
        |v| leave_out(&mut v.files, "file", "the JSON report", &mut v.left_out),
        |v| v.sketches.clear(),
        |v| {
            let folder = v.folder.as_deref().unwrap_or_default();
            leave_out(&mut v.charts, "chart", folder, &mut v.left_out);
        },
        |v| {
            if let Some(tried) = &mut v.smoke {
                tried.output.clear();
            }
        },
        |v| {
            v.findings.iter_mut().for_each(|told| told.rows.clear());
            v.left_out.push("Rows of the findings in the JSON report.".to_owned());
        },
        |v| leave_out(&mut v.faults, "unreadable table", "the JSON report", &mut v.left_out),
        |v| leave_out(&mut v.versions, "version", "the JSON report", &mut v.left_out),
        |v| leave_out(&mut v.more, "more finding", "the JSON report", &mut v.left_out),
        |v| leave_out(&mut v.findings, "finding", "the JSON report", &mut v.left_out),
    ];
    let mut view = view(report, outcome, diff);
    let Extras { figures, folder, smoke } = extras;
    view.smoke = smoke.map(tried);
    view.sketches = figures.iter().filter_map(chart::mermaid).take(SKETCHES).collect();
    if let Some(folder) = folder {
        view.charts = figures.iter().map(|f| f.name.clone()).collect();
        view.folder = Some(folder.display().to_string());
    }
    let mut text = String::new();
    for cut in cuts {
        cut(&mut view);
        text = fill("comment.md.j2", TEMPLATE, &view)?;
        if text.len() <= LONGEST {
            break;
        }
    }
    Ok(text)
}

/// Clears a section, with a line that says how much of what is where instead.
fn leave_out<T>(section: &mut Vec<T>, what: &str, place: &str, left_out: &mut Vec<String>) {
    if !section.is_empty() {
        left_out.push(format!("{} in {place}.", plural(section.len(), what)));
    }
    section.clear();
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

fn view(report: &Report, outcome: Outcome, diff: &Diff) -> View {
    let mut findings = told(report);
    let mut more = findings.split_off(findings.len().min(FULL));
    let rest = more.split_off(more.len().min(LINES)).len();
    let mut left_out = Vec::new();
    if rest > 0 {
        left_out.push(format!("{} in the JSON report.", plural(rest, "more finding")));
    }
    let infos = report.counts.infos as usize;
    if infos > 0 {
        left_out.push(format!("{} in the JSON report.", plural(infos, "new info")));
    }
    let waived = report.counts.waived as usize;
    if waived > 0 {
        left_out.push(format!("{} in the JSON report.", plural(waived, "waived finding")));
    }
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
        sketches: Vec::new(),
        charts: Vec::new(),
        folder: None,
        smoke: None,
        left_out,
    }
}

fn moved(tables: &[&TableDiff]) -> Option<String> {
    let first = tables.first()?;
    let (old, new) = (first.old_path.as_deref().unwrap_or_default(), &first.path);
    let rest = if tables.len() > 1 { ", …" } else { "" };
    Some(format!("{} moved, no row changed: {old} → {new}{rest}", plural(tables.len(), "table")))
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
    use super::*;
    use crate::catalog::{Place, Role};
    use crate::diff::RowDiff;
    use crate::finding::{Example, Sink};

    fn rendered(report: &Report, extras: Extras<'_>) -> Result<String> {
        render(report, report.outcome(Some(Severity::Error)), extras)
    }

    fn diff(tables: usize, name: &str) -> Diff {
        let table = |i: usize| TableDiff {
            path: format!("systems/data/x/gemm/vllm/{i}/{name}_perf.parquet"),
            old_path: None,
            status: Status::Added,
            place: Place {
                system: "x".into(),
                family: Some("gemm".into()),
                backend: "vllm".into(),
                version: i.to_string(),
            },
            table: format!("{name}_perf"),
            base_rows: Some(0),
            head_rows: Some(2),
            rows: Some(RowDiff { added: vec![0, 1], ..RowDiff::default() }),
            ratios: None,
            fault: None,
        };
        let file = FileDiff {
            path: "systems/x.yaml".into(),
            status: Status::Modified,
            role: Role::System,
        };
        Diff { tables: (0..tables).map(table).collect(), files: vec![file] }
    }

    fn report(diff: Diff, findings: Vec<Finding>) -> Report {
        let mut sink = Sink::default();
        sink.extend(findings);
        let (findings, counts) = sink.finish();
        Report {
            command: "sanity",
            rules: Vec::new(),
            overlays: Vec::new(),
            tables: diff.tables.len() as u64,
            files: 0,
            rows: 0,
            findings,
            counts,
            diff: Some(diff),
            remeasured: None,
            elapsed: Default::default(),
            drawn: None,
        }
    }

    fn finding(path: &str, message: &str, new: bool) -> Finding {
        let finding = Finding::on_path("a-rule", Severity::Error, path, message);
        Finding { new: Some(new), ..finding }
    }

    #[test]
    fn names_are_inert() {
        let bad = finding("systems/data/`@you`", "see @you, #1 (a|b) and https://x.y; 5 %", true);
        let text =
            rendered(&report(diff(1, "a|b`@you<img>\u{202e}"), vec![bad]), Extras::default())
                .unwrap();
        assert!(text.contains("a\\|b'@you<img>\\u{202e}"), "{text}");
        assert!(text.contains("see `@you`, `#1` (`a\\|b`) and `https://x.y`; 5 %"), "{text}");
        assert!(text.contains("`'@you'`"), "{text}");
    }

    #[test]
    fn what_does_not_fit_is_a_line() {
        let report = |tables| report(diff(tables, "gemm"), Vec::new());
        let all = rendered(&report(3), Extras::default()).unwrap();
        assert!(all.contains("<summary>Tables") && !all.contains("in the JSON report"), "{all}");
        let cut = rendered(&report(800), Extras::default()).unwrap();
        assert!(cut.len() <= LONGEST && cut.contains("\n800 tables in the JSON report"), "{cut}");
        assert!(cut.contains("| 1,600 | 0 | 0 |"), "the total stays: {cut}");
        let most = rendered(&report(100_000), Extras::default()).unwrap();
        assert!(most.len() <= LONGEST && most.contains("\n100,000 versions in the JSON"), "{most}");
    }

    #[test]
    fn findings_are_told_worst_first_and_old_ones_in_a_line() {
        let example = |row| Example {
            row,
            values: vec![("why".into(), "x".repeat(900).into())],
            ..Example::default()
        };
        let new = |i: usize| {
            let mut finding =
                finding(&format!("systems/data/t{i}"), &"much ".repeat(99), true).rows(i);
            finding.examples = (0..5).map(example).collect();
            finding
        };
        let old = [finding("a", "old", false), finding("b", "old", false)];
        let all: Vec<Finding> = (0..200).map(new).chain(old).collect();
        let text = rendered(&report(diff(800, "gemm"), all), Extras::default()).unwrap();
        assert!(text.len() <= LONGEST, "{}", text.len());
        let mut lines = text.lines().skip(1);
        assert!(lines.next().unwrap().starts_with("**perfdb-gate: ❌ 200 new errors**"), "{text}");
        assert!(text.find("`t199`").unwrap() < text.find("`t198`").unwrap(), "{text}");
        assert!(text.contains("142 more findings in the JSON report"), "{text}");
        assert!(text.contains("Old debt: 2 findings were there before (2 a-rule)"), "{text}");
        assert!(text.contains("--only a-rule"), "{text}");
    }

    #[test]
    fn bars_stand_for_ratios_from_half_to_twice() {
        assert_eq!(sparkline(&[0.3, 0.5, 1.0, 1.02, 1.5, 2.0, 90.0]), "▁▁▄▄▆██");
    }

    #[test]
    fn what_a_command_printed_stays_inside_its_fence() {
        let output = "```\n# @you <img>".to_owned();
        let command = "plan | head".to_owned();
        let smoke = Smoke { command, passed: false, ended: "exit status: 1".into(), output };
        let extras = Extras { smoke: Some(&smoke), ..Extras::default() };
        let text = rendered(&report(diff(1, "gemm"), Vec::new()), extras).unwrap();
        assert!(text.contains("❌ Smoke command"), "{text}");
        assert_eq!(text.matches("```").count() % 2, 0, "{text}");
        assert!(text.contains("'''\n# @you"), "{text}");
    }
}
