//! Power readings against their limit, and the limit against the machine.

mod limit;
mod range;

pub use self::limit::LimitTolerance;
pub use self::range::PowerMeter;
use crate::checks::RowContext;
use crate::findings::{EXAMPLES, Finding};

/// The findings on rows, with the columns that show what is wrong.
fn findings(
    rows: &RowContext<'_>,
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
        let finding = rows.finding(message(&part)).rows(part.len()).examples(examples).naming(part);
        findings.push(finding.half(&half, bad.len()));
    }
    findings
}
