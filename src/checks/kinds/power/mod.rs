//! Power readings against their limit and against each other, the limit against the machine, and which
//! rows have any.

mod coverage;
mod implausible;
mod limit;
mod range;

pub use self::coverage::PartialPower;
pub use self::implausible::PowerSigns;
pub use self::limit::LimitTolerance;
pub use self::range::PowerMeter;
use crate::checks::RowContext;
use crate::database::table::{Column, Table};
use crate::findings::{EXAMPLES, Finding, Severity};

/// The power columns of a table.
struct Readings<'a> {
    power: &'a Column,
    limit: Option<&'a Column>,
}

impl<'a> Readings<'a> {
    /// None of a table without power.
    fn of(table: &'a Table) -> Option<Self> {
        Some(Self { power: table.column("power")?, limit: table.column("power_limit") })
    }

    /// Whether a row has a reading. A null has none, nor has zero under a limit of zero: collectors
    /// without a meter write that pair.
    fn measured(&self, row: usize) -> bool {
        let is_zero = |column: &Column| !column.is_null(row) && column.number(row) == 0.0;
        let is_unread = is_zero(self.power) && self.limit.is_some_and(is_zero);
        !self.power.is_null(row) && !is_unread
    }
}

/// The findings on rows, with the columns that show what is wrong.
fn findings(
    rows: &RowContext<'_>,
    severity: Severity,
    bad: &[usize],
    columns: &[&str],
    message: impl Fn(&[usize]) -> String,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for half in rows.halves() {
        let part = half.of(bad);
        if part.is_empty() {
            continue;
        }
        let examples = rows.examples(&part[..part.len().min(EXAMPLES)], columns);
        let finding = rows.finding_as(severity, message(&part)).rows(part.len());
        let finding = finding.examples(examples).naming(part);
        findings.push(finding.half(&half, bad.len()));
    }
    findings
}
