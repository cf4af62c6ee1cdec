//! Tables without rows, and tables without rows that the loader reads.

use crate::checks::judge::Judged;
use crate::checks::{Judge, RowContext, RuleHead, TableContext};
use crate::database::table::TableFault;
use crate::findings::{Finding, Hits, wholes};

/// The check for tables without rows, or without rows that the loader reads.
pub struct Empty;

impl Judge for Empty {
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
