//! Renders a status for people, Markdown and programs.

use super::entry::TableStatus;
use super::{SystemStatus, VersionStatus};
use crate::base::words::{count, plural};
use crate::jobs::DocumentFormat;
use crate::report::document::{Document, DocumentTable};

/// Renders the status of a system.
pub fn render(status: &SystemStatus, format: DocumentFormat) -> String {
    format.render(
        || headline(status),
        || document(status),
        || serde_json::to_string_pretty(status).unwrap_or_default(),
    )
}

fn document(status: &SystemStatus) -> Document {
    let mut document = Document::new(format!("Collection status of {}", status.system));
    document.paragraph(headline(status));
    let heads =
        ["backend", "version", "tables", "rows", "missing", "duplicates", "errors", "warnings"];
    let versions = status.versions.iter().map(|v| {
        let counts = [v.tables, v.rows, v.missing, v.duplicates as usize, v.errors, v.warnings];
        [v.backend.clone(), v.version.clone()].into_iter().chain(counts.map(count)).collect()
    });
    document.table("Versions", DocumentTable::new(&heads, [2, 3, 4, 5, 6, 7], versions));
    let heads = [
        "operation",
        "table",
        "version",
        "rows",
        "nearest system",
        "duplicates",
        "findings",
        "last version",
        "provenance, notes",
    ];
    let tables = status.tables.iter().map(cells);
    document.table("Tables", DocumentTable::new(&heads, [3, 5], tables));
    document.paragraph(
        "Missing is what the nearest system has and this one lacks; E, W and I are errors, warnings and \
         infos of validate.",
    );
    let skipped = status.skipped.iter().map(|s| {
        let place = format!("{} {}", s.backend, s.version);
        let cases = count(s.cases as usize);
        vec![place, s.table.clone(), cases, s.class.clone(), s.reason.clone()]
    });
    let heads = ["version", "table", "cases", "class", "reason"];
    document.table("Skipped cases", DocumentTable::new(&heads, [2], skipped));
    let beside = status.beside.iter();
    let beside = beside.map(|b| format!("{} {} {}: {}", b.severity, b.rule, b.path, b.message));
    document.list("Beside the tables", beside);
    document.commands("Validation", &status.commands);
    document
}

/// Returns the cells of a table.
fn cells(t: &TableStatus) -> Vec<String> {
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
    vec![
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

/// Renders the provenance that sidecars state for a table.
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
        "{}: {}, {}, {} missing, {}, {}",
        status.system,
        plural(sum(|v| v.tables), "table"),
        plural(sum(|v| v.rows), "row"),
        count(sum(|v| v.missing)),
        plural(sum(|v| v.errors), "error"),
        plural(sum(|v| v.warnings), "warning"),
    )
}
