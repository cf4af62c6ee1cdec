//! Power readings compared with their limit and with each other, and tables with missing readings.

mod coverage;
mod implausible;
mod range;

use std::borrow::Cow;

pub(crate) use self::coverage::PartialPower;
pub(crate) use self::implausible::PowerSigns;
pub(crate) use self::range::PowerMeter;
use crate::base::stats::upper_median;
use crate::checks::context::RowContext;
use crate::database::table::Column;

/// The power columns of a table, in watts, with one value per row.
struct Readings<'a> {
    column: &'a Column,
    /// The readings by row; NaN if there is none.
    power: Cow<'a, [f64]>,
    limit: Option<Cow<'a, [f64]>>,
}

impl<'a> Readings<'a> {
    /// Returns the power columns of a table; `None` if the table has no power.
    fn of(rows: &RowContext<'a>) -> Option<Self> {
        let column = rows.column("power")?;
        let limit = rows.column("power_limit").map(|limit| limit.numbers(rows.count));
        Some(Self { column, power: column.numbers(rows.count), limit })
    }

    /// Returns true if a row has a reading. A null is not a reading. A power of zero with a power limit of zero is not
    /// a reading either: collectors without a meter write this pair.
    fn measured(&self, row: usize) -> bool {
        let is_unread =
            self.power[row] == 0.0 && self.limit.as_ref().is_some_and(|limit| limit[row] == 0.0);
        // A text or other invalid value counts as a reading; only a null does not.
        let is_null = || self.power[row].is_nan() && self.column.is_null(row);
        !is_unread && !is_null()
    }

    /// Returns true if the table is in milliwatts, as NVML reports power: its limits are 1,000 times the GPU's `rating`
    /// in watts, and its readings exceed the rating.
    fn are_in_milliwatts(&self, rating: Option<f64>) -> bool {
        /// The median power limit, read as milliwatts, may differ from the GPU's rating by this share of the rating.
        const TOLERANCE: f64 = 0.05;
        let (Some(limits), Some(rating)) = (&self.limit, rating) else { return false };
        let watts = limits.iter().filter(|limit| **limit > 0.0).map(|limit| limit / 1e3);
        let mut watts: Vec<f64> = watts.collect();
        let mut power: Vec<f64> = self.power.iter().copied().filter(|power| *power > 0.0).collect();
        // Without values the median is NaN, and the comparison is false.
        (upper_median(&mut watts) / rating - 1.0).abs() <= TOLERANCE
            && upper_median(&mut power) > rating
    }

    /// Returns a row's power limit in watts, or the GPU's `rating` if the row has no limit; `None` if both are missing.
    fn limit(&self, row: usize, rating: Option<f64>) -> Option<f64> {
        let limit = self.limit.as_ref().map(|limit| limit[row]);
        limit.filter(|limit| limit.is_finite() && *limit > 0.0).or(rating)
    }
}
