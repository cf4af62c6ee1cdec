//! A status for people, for a pull request's body, for programs.

use super::{SystemStatus, TableStatus, VersionStatus};
use crate::base::error::Result;
use crate::base::escape::{clean, inert_json};
use crate::base::words::{count, plural};
use crate::jobs::DocumentFormat;
use crate::report::template::fill;

const TEMPLATE: &str = include_str!("../../../charts/status.md.j2");

/// Renders a status.
///
/// # Errors
///
/// When a template fails, which is a fault of this program.
pub fn render(status: &SystemStatus, format: DocumentFormat) -> Result<String> {
    Ok(match format {
        DocumentFormat::Human { brief: true } => headline(status),
        DocumentFormat::Human { brief: false } => human(status),
        DocumentFormat::Markdown => fill("status.md.j2", TEMPLATE, &StatusView::of(status))? + "\n",
        DocumentFormat::Json => {
            inert_json(&serde_json::to_string_pretty(status).unwrap_or_default()) + "\n"
        }
    })
}

/// What the template sees: every cell as a text.
#[derive(serde::Serialize)]
struct StatusView<'a> {
    system: &'a str,
    versions: Vec<[String; 8]>,
    tables: Vec<[String; 9]>,
    skipped: Vec<[String; 5]>,
    beside: Vec<[String; 4]>,
    commands: &'a [String],
}

impl<'a> StatusView<'a> {
    fn of(status: &'a SystemStatus) -> Self {
        let versions = status.versions.iter().map(|v| {
            let (backend, version) = (v.backend.clone(), v.version.clone());
            let counts = [v.tables, v.rows, v.missing, v.duplicates as usize, v.errors, v.warnings];
            let [tables, rows, missing, duplicates, errors, warnings] = counts.map(count);
            [backend, version, tables, rows, missing, duplicates, errors, warnings]
        });
        let skipped = status.skipped.iter().map(|s| {
            let place = format!("{} {}", s.backend, s.version);
            [place, s.table.clone(), count(s.cases as usize), s.class.clone(), s.reason.clone()]
        });
        let beside = status
            .beside
            .iter()
            .map(|b| [b.severity.to_owned(), b.rule.clone(), b.path.clone(), b.message.clone()]);
        Self {
            system: &status.system,
            versions: versions.collect(),
            tables: status.tables.iter().map(cells).collect(),
            skipped: skipped.collect(),
            beside: beside.collect(),
            commands: &status.commands,
        }
    }
}

/// Operation, table, version, rows, nearest, duplicates, findings, last version, provenance and notes.
fn cells(t: &TableStatus) -> [String; 9] {
    let rows = |rows: Option<usize>| rows.map_or_else(|| "?".to_owned(), count);
    let own = if t.path.is_some() { rows(t.rows) } else { "-".into() };
    let nearest = match &t.nearest {
        None => "-".to_owned(),
        Some(n) if n.version == t.version => format!("{} ({})", rows(n.rows), n.system),
        Some(n) => format!("{} ({} {})", rows(n.rows), n.system, n.version),
    };
    let findings = [(t.errors, "E"), (t.warnings, "W"), (t.infos, "I")];
    let findings = findings.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n}{what}"));
    let mut about: Vec<String> = t.notes.clone();
    about.splice(0..0, provenance(t));
    [
        t.operation.clone(),
        t.table.clone(),
        format!("{} {}", t.backend, t.version),
        own,
        nearest,
        if t.duplicates == 0 { String::new() } else { count(t.duplicates as usize) },
        findings.collect::<Vec<_>>().join(" "),
        t.last_version.clone().unwrap_or_else(|| "-".into()),
        about.join("; "),
    ]
}

/// What sidecars say of a table, in words of their own.
fn provenance(t: &TableStatus) -> Vec<String> {
    let p = &t.provenance;
    let short = |commit: &String| commit.get(..10).unwrap_or(commit).to_owned();
    let said = [&p.kind, &p.status, &p.collected_at, &p.collector_ref.as_ref().map(short)]
        .iter()
        .filter_map(|part| (*part).clone())
        .collect::<Vec<_>>()
        .join(" ");
    let reuse = (!p.reuse.is_empty()).then(|| format!("reuse of {}", p.reuse.join(", ")));
    (!said.is_empty()).then_some(said).into_iter().chain(reuse).collect()
}

fn headline(status: &SystemStatus) -> String {
    let sum = |of: fn(&VersionStatus) -> usize| status.versions.iter().map(of).sum::<usize>();
    format!(
        "{}: {}, {}, {} missing, {}, {}\n",
        clean(&status.system),
        plural(sum(|v| v.tables), "table"),
        plural(sum(|v| v.rows), "row"),
        count(sum(|v| v.missing)),
        plural(sum(|v| v.errors), "error"),
        plural(sum(|v| v.warnings), "warning"),
    )
}

fn human(status: &SystemStatus) -> String {
    let view = StatusView::of(status);
    let mut out = format!("{}\n\n", status.system);
    let heads = ["operation", "table", "version", "rows", "nearest", "duplicates", "findings"];
    let heads = heads.into_iter().chain(["last version", "provenance, notes"]).map(str::to_owned);
    let heads: Vec<String> = heads.collect();
    out += &columns(&heads, &view.tables, &[3, 5]);
    let heads = ["backend", "version", "tables", "rows", "missing", "duplicates"];
    let heads = heads.into_iter().chain(["errors", "warnings"]).map(str::to_owned);
    out.push('\n');
    out += &columns(&heads.collect::<Vec<_>>(), &view.versions, &[2, 3, 4, 5, 6, 7]);
    if !view.skipped.is_empty() {
        let heads = ["version", "table", "cases", "class", "reason"].map(str::to_owned);
        out += &format!("\nskipped\n{}", columns(&heads, &view.skipped, &[2]));
    }
    for [severity, rule, path, message] in &view.beside {
        out += &format!("\n{}\n  {severity} {rule}: {}\n", clean(path), clean(message));
    }
    out.push('\n');
    status.commands.iter().for_each(|line| out += &format!("{}\n", clean(line)));
    out
}

/// Cells in columns, those at `right` flush right.
fn columns<const N: usize>(heads: &[String], rows: &[[String; N]], right: &[usize]) -> String {
    let clean = |cells: &[String]| cells.iter().map(|c| clean(c)).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> =
        std::iter::once(clean(heads)).chain(rows.iter().map(|r| clean(r))).collect();
    let width = |at: usize| lines.iter().map(|l| l[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cell = |(at, text): (usize, &String)| {
            let pad = " ".repeat(widths[at] - text.chars().count());
            if right.contains(&at) { format!("{pad}{text}") } else { format!("{text}{pad}") }
        };
        let cells: Vec<String> = line.iter().enumerate().map(cell).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    out
}
