//! Damaged rows of text tables.

use crate::checks::{Judge, Judged, RowContext, RuleHead, TableContext};
use crate::database::table::{TableFault, Torn};
use crate::findings::{Example, Finding, Hits, wholes};

/// The check for damaged rows of a text table.
pub struct TornRow;

impl Judge for TornRow {
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
