//! Power readings against their limit, and the limit against the machine.

mod limit;
mod range;

pub use self::limit::LimitTolerance;
pub use self::range::PowerMeter;
use crate::checks::RowContext;
use crate::findings::{EXAMPLES, Finding, Half};

/// The findings on rows, with the columns that show what is wrong.
fn findings(
    rows: &RowContext<'_>,
    bad: &[usize],
    columns: &[&str],
    message: impl Fn(&[usize]) -> String,
) -> Vec<Finding> {
    let half = |half: Half<'_>| {
        let part = half.of(bad);
        let shown = &part[..part.len().min(EXAMPLES)];
        let finding = || rows.finding(message(&part)).rows(part.len());
        (!part.is_empty())
            .then(|| finding().examples(rows.examples(shown, columns)).half(&half, bad.len()))
    };
    rows.halves().filter_map(half).collect()
}
