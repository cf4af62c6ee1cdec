//! Git-LFS pointers in the place of tables.

use crate::checks::TableContext;
use crate::checks::judge::Judge;
use crate::checks::rule::Rule;
use crate::database::table::TableFault;
use crate::findings::Finding;

/// A git-LFS pointer stands for the table.
pub struct LfsPointer;

impl Judge for LfsPointer {
    fn judges_unknown_tables(&self) -> bool {
        true
    }

    fn unreadable(
        &self,
        rule: &Rule,
        at: &TableContext<'_>,
        fault: &TableFault,
    ) -> Option<Finding> {
        let TableFault::LfsPointer(pointer) = fault else { return None };
        let finding = Finding::on_table(&rule.id, rule.severity, at.file, fault.to_string());
        Some(finding.evidence("oid", pointer.oid.as_str()).evidence("size", pointer.size))
    }
}
