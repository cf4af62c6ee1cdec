//! Tables that are almost all zero, where single zeros are right.

use super::odd::OddSlice;
use crate::base::words::count;
use crate::checks::context::RowContext;

/// Finds a measured column that is zero in at least a `share` of the rows although no condition in the spec says that
/// they must be zero.
pub(super) fn zeros(rows: &RowContext<'_>, share: f64) -> Option<OddSlice> {
    let (name, _) = rows.spec.measures().next()?;
    let rule = rows.spec.zero.get(name)?;
    if !rule.columns().is_empty() {
        return None;
    }
    let column = rows.column(name)?;
    let zeros: Vec<usize> = (0..rows.count).filter(|row| column.number(*row) == 0.0).collect();
    if (zeros.len() as f64) < share * rows.count as f64 {
        return None;
    }
    let says = format!(
        "{name} is 0 in {} of {} rows: single zeros are right here, but a table of zeros is not a measurement. If it is a difference of two times, look for a slow kernel on the side that is subtracted",
        count(zeros.len()),
        count(rows.count)
    );
    Some(OddSlice { says, rows: zeros })
}
