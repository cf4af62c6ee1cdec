//! Tables that cannot be decoded: damaged, LFS pointers, torn text, empty.

use crate::base::expr::ExprError;
use crate::checks::rule::Rule;
use crate::checks::{Check, RowContext, TableContext};
use crate::database::source::Entry;
use crate::database::table::{Fault, Torn};
use crate::findings::{Example, Finding};

/// Turns a fault into the finding of its own rule.
pub fn check(check: &Check, rule: &Rule, at: &TableContext<'_>, fault: &Fault) -> Option<Finding> {
    let finding = |message: String| Finding::on_table(&rule.id, rule.severity, at.file, message);
    match (check, fault) {
        (Check::Unreadable, Fault::Unreadable(_)) | (Check::Empty, Fault::Empty) => {
            Some(finding(fault.to_string()))
        }
        (Check::LfsPointer, Fault::LfsPointer(pointer)) => Some(
            finding(fault.to_string())
                .evidence("oid", pointer.oid.as_str())
                .evidence("size", pointer.size),
        ),
        (Check::TornRow, Fault::Torn(torn)) => Some(torn_finding(finding(fault.to_string()), torn)),
        _ => None,
    }
}

/// Damaged rows beside whole ones.
pub fn torn(rows: &RowContext<'_>) -> Option<Finding> {
    let torn = &rows.table.torn;
    let message = || format!("{torn}; the others were judged");
    (torn.rows > 0).then(|| torn_finding(rows.finding(message()), torn))
}

fn torn_finding(finding: Finding, torn: &Torn) -> Finding {
    let example = |(line, why): &(u64, String)| Example {
        // Line 2 is row 0 of an undamaged table.
        row: line.saturating_sub(2),
        values: vec![("line".into(), (*line).into()), ("why".into(), why.as_str().into())],
        ..Example::default()
    };
    let examples = torn.first.iter().map(example).collect();
    finding.rows(torn.rows).parts([torn.rows.to_string()]).examples(examples)
}

/// A table of whose rows the loader reads none.
pub fn none_loaded(rows: &RowContext<'_>) -> Result<Option<Finding>, ExprError> {
    let Some(filter) = &rows.at.spec.filter else { return Ok(None) };
    let scope = rows.scope();
    let loaded = filter.mask(&scope)?;
    let any = (0..rows.table.rows).any(|i| loaded.get(i));
    let message = || format!("the loader reads none of its rows: it takes those with {filter}");
    Ok((!any).then(|| rows.finding(message()).rows(rows.table.rows)))
}

/// A link below a system's data: git keeps the link alone, so what it leads to is not in the database.
pub fn link(rule: &Rule, entry: &Entry, to: &str) -> Finding {
    let message = format!(
        "a symbolic link to {to}; what it leads to is not in the database and was not judged"
    );
    Finding::on_path(&rule.id, rule.severity, &entry.path, message)
}

/// A table whose bytes are not those that its sidecar digested: a flipped bit decodes to another
/// value without an error.
pub fn digest(rows: &RowContext<'_>) -> Option<Finding> {
    let stated = rows.at.meta?.tables.get(&rows.at.file.table)?.sha256.as_deref()?;
    let stated = stated.trim_start_matches("sha256:");
    let found = rows.at.digest?;
    (!stated.eq_ignore_ascii_case(found)).then(|| {
        rows.finding("its bytes are not those that its sidecar's sha256 was taken of")
            .parts([found])
            .evidence("stated", stated)
            .evidence("found", found)
    })
}
