//! Tables that cannot be decoded: damaged, LFS pointers, torn text, empty.

use crate::base::words::plural_verb;
use crate::checks::{Found, Item, Judge, Judged, RowContext, RuleHead, TableContext};
use crate::database::table::{TableFault, Torn};
use crate::findings::{Example, Finding, Hits, Severity, wholes};

/// The check for tables that cannot be decoded or whose digest differs from the one in their sidecar. It also reports
/// links that replace files.
pub(crate) struct UnreadableTableCheck;

impl Judge for UnreadableTableCheck {
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

    /// Reports a link or submodule, unless it leads to a database that is judged separately.
    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::Stray(entry) = item else { return Found::new() };
        // git keeps the reference alone, so the files behind it are not in the database.
        let Some(what) = entry.kind.leads_away() else { return Found::new() };
        let message =
            format!("this is {what}; what it leads to was not checked as a part of this database");
        vec![rule.on_path(&entry.path, message)]
    }
}

/// Returns a finding if a table's SHA-256 differs from the one in its sidecar. Damage such as a flipped bit often
/// decodes without an error, and only the digest shows it.
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

/// The check for tables without rows, or without rows that the loader reads.
pub(crate) struct EmptyTableCheck;

impl Judge for EmptyTableCheck {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn unreadable(
        &self,
        rule: RuleHead<'_>,
        at: &TableContext<'_>,
        fault: &TableFault,
    ) -> Option<Finding> {
        let TableFault::Empty = fault else { return None };
        Some(rule.on_table(at.file, fault.to_string()))
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let Some(filter) = &rows.spec.filter else { return Ok(Hits::new()) };
        let loaded = filter.mask(rows.scope())?;
        if (0..rows.count).any(|row| loaded.get(row)) {
            return Ok(Hits::new());
        }
        let message =
            format!("the loader reads no row of this table: it reads only rows with {filter}");
        Ok(wholes([rows.finding(message).rows(rows.count)]))
    }
}

/// The check for git-LFS pointers that replace tables.
pub(crate) struct LfsPointer;

impl Judge for LfsPointer {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn unreadable(
        &self,
        rule: RuleHead<'_>,
        at: &TableContext<'_>,
        fault: &TableFault,
    ) -> Option<Finding> {
        let TableFault::LfsPointer(pointer) = fault else { return None };
        let finding = rule.on_table(at.file, fault.to_string());
        Some(finding.evidence("oid", pointer.oid.as_str()).evidence("size", pointer.size))
    }

    fn item(&self, rule: RuleHead<'_>, item: &Item<'_>) -> Found {
        let Item::InLfs(paths) = item else { return Found::new() };
        let tables = plural_verb(paths.len(), "table", ["is", "are"]);
        let message = format!(
            "{tables} in git-LFS and not in this clone: `git lfs pull` fetches what .gitattributes keeps there"
        );
        let severity = rule.severity.at_most(Severity::Info);
        let finding = Finding::on_path(rule.id, severity, common_folder(paths), message);
        vec![finding.parts(*paths).evidence("tables", paths.len())]
    }
}

/// The deepest folder that contains all of the given files. `paths` are sorted.
fn common_folder(paths: &[String]) -> &str {
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return "" };
    let alike = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
    let end = first.as_bytes()[..alike].iter().rposition(|byte| *byte == b'/');
    end.map_or("", |end| &first[..end])
}

/// The check for damaged rows of a text table.
pub(crate) struct TornRowCheck;

impl Judge for TornRowCheck {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn unreadable(
        &self,
        rule: RuleHead<'_>,
        at: &TableContext<'_>,
        fault: &TableFault,
    ) -> Option<Finding> {
        let TableFault::Torn(torn) = fault else { return None };
        let finding = rule.on_table(at.file, fault.to_string());
        Some(with_rows(finding, torn))
    }

    fn table<'v>(&'v self, rows: &'v RowContext<'v>) -> Judged<'v> {
        let torn = &rows.whole().torn;
        if torn.rows == 0 {
            return Ok(Hits::new());
        }
        let message = format!("{torn}; the other rows were checked");
        Ok(wholes([with_rows(rows.finding(message), torn)]))
    }
}

fn with_rows(finding: Finding, torn: &Torn) -> Finding {
    let examples = torn.first.iter().map(|(line, why)| example(*line, why)).collect();
    finding.rows(torn.rows).parts([torn.rows.to_string()]).examples(examples)
}

fn example(line: u64, why: &str) -> Example {
    Example {
        // Line 2 is row 0 of an undamaged table.
        row: line.saturating_sub(2),
        line: Some(line),
        values: vec![("line".into(), line.into()), ("why".into(), why.into())],
        ..Example::default()
    }
}
