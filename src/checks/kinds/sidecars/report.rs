//! Collection reports, compared with their tables and with their own sums.

use crate::base::words::count;
use crate::checks::context::ReportContext;
use crate::checks::{Found, RuleHead};
use crate::database::collection_report::{CollectionReport, ReportedTable};
use crate::database::source::Entry;

/// Returns one finding with all contradictions of a collection report.
pub(super) fn contradiction(rule: RuleHead<'_>, at: &ReportContext<'_>) -> Found {
    let Ok(report) = &at.report else { return Found::new() };
    let mut wrong: Vec<String> = place(at.entry, report).into_iter().collect();
    for (name, table) in &report.tables {
        wrong.extend(sums(name, table));
        wrong.extend(found(name, table, at));
    }
    let rows: Option<u64> = report.tables.values().map(|table| table.rows).sum();
    if let (Some(total), Some(rows)) = (report.total_rows, rows)
        && total != rows
    {
        wrong.push(format!("it states {total} rows in total, but its tables have {rows}"));
    }
    rule.all_on_path(&at.entry.path, wrong).into_iter().collect()
}

/// Returns a finding on a collection report that cannot be read.
pub(super) fn unreadable(rule: RuleHead<'_>, at: &ReportContext<'_>) -> Found {
    let why = at.report.as_ref().err();
    why.map(|why| rule.on_path(&at.entry.path, why.to_string())).into_iter().collect()
}

/// Returns a clause if the report states another system, backend or version than its file's path; `None` otherwise.
fn place(entry: &Entry, report: &CollectionReport) -> Option<String> {
    let named = CollectionReport::named(entry);
    let own = format!("{}-{}", report.backend, report.version);
    let folder = CollectionReport::system_of(entry);
    let is_own = named == own && folder == report.system;
    (!is_own).then(|| {
        format!(
            "it is of {own} on {}, but its name is {named} and its folder {folder}",
            report.system
        )
    })
}

/// Returns a clause for each contradiction within a report's entry for one table, such as a number of rows that is not
/// the sum over the table's collection runs.
fn sums(name: &str, table: &ReportedTable) -> Vec<String> {
    let mut wrong = Vec::new();
    let measured = table.shards.iter().map(|shard| shard.source_rows).sum::<Option<u64>>();
    if let (Some(rows), Some(measured)) = (table.rows, measured)
        && !table.shards.is_empty()
        && rows != measured
    {
        wrong.push(format!("it states {rows} rows of {name}, but its runs measured {measured}"));
    }
    let runs = table.shards.len() as u64;
    if let Some(expected) = table.expected_shards.filter(|expected| *expected != runs)
        && table.status.as_deref() == Some("complete")
    {
        wrong.push(format!("{name} is called complete with {runs} of {expected} runs"));
    }
    wrong
}

/// Returns clauses on differences between a table and its entry in the report.
fn found(name: &str, table: &ReportedTable, at: &ReportContext<'_>) -> Vec<String> {
    let Some(found) = at.tables.get(name) else {
        return vec![format!("it describes {name}, which has no file")];
    };
    let mut wrong = Vec::new();
    if let (Some(stated), Some(rows)) = (table.rows, found.rows)
        && stated != rows
    {
        let (stated, rows) = (count(stated as usize), count(rows as usize));
        wrong.push(format!("it states {stated} rows of {name}, but the table has {rows}"));
    }
    if let Some(stated) = &table.sha256
        && found.sha256.as_ref().is_some_and(|own| !stated.eq_ignore_ascii_case(own))
    {
        wrong.push(format!("the SHA-256 of {name} is not the stated one"));
    }
    wrong
}
