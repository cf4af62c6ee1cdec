//! Tables whose bytes cannot be decoded, or differ from those that their sidecar's digest was made of.

use crate::checks::judge::Judged;
use crate::checks::{Found, Item, Judge, RowContext, RuleHead, TableContext};
use crate::database::table::TableFault;
use crate::findings::{Finding, wholes};

/// The check for tables that cannot be decoded or do not have the digest in their sidecar, and for links that replace
/// files.
pub struct Unreadable;

impl Judge for Unreadable {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn unreadable(
        &self,
        rule: RuleHead<'_>,
        at: &TableContext<'_>,
        fault: &TableFault,
    ) -> Option<Finding> {
        let TableFault::Unreadable(_) = fault else { return None };
        Some(rule.on_table(at.file, fault.to_string()))
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        Ok(wholes(digest(rows)))
    }

    /// Reports a link or submodule, unless it leads to a database that is judged itself.
    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Stray(entry) = item else { return Found::new() };
        // git keeps the reference alone, so the files behind it are not in the database.
        let Some(what) = entry.kind.leads_away() else { return Found::new() };
        let message =
            format!("this is {what}; what it leads to was not checked as a part of this database");
        vec![rule.on_path(&entry.path, message)]
    }
}

/// Reports a table that does not have the digest in its sidecar: a flipped bit decodes to another value without an
/// error.
fn digest(rows: &RowContext<'_>) -> Option<Finding> {
    let stated = rows.meta()?.tables.get(&rows.file.table)?.sha256.as_deref()?;
    let stated = stated.trim_start_matches("sha256:");
    let found = rows.digest()?;
    if stated.eq_ignore_ascii_case(found) {
        return None;
    }
    let said = "the file does not match the sha256 in its sidecar: it was rewritten without its sidecar, or it is \
                damaged";
    let finding = rows.finding(said);
    Some(finding.parts([found]).evidence("stated", stated).evidence("found", found))
}
