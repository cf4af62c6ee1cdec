//! Git-LFS pointers that replace tables.

use crate::base::words::plural_verb;
use crate::checks::{Found, Item, Judge, RuleHead, TableContext};
use crate::database::table::TableFault;
use crate::findings::{Finding, Severity};

/// The check for git-LFS pointers that replace tables.
pub struct LfsPointer;

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
