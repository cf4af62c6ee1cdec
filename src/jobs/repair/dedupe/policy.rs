//! The policy of `dedupe`: which copy of a measurement stays.

use std::cmp::Ordering;

use crate::base::expr::Vals;

/// The policy for removing repeated measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The copy that stays.
    pub keep: Keep,
    /// True to remove copies that differ by more than rerun noise.
    pub disagreeing: bool,
    /// Columns that do not distinguish measurements, such as a model's name if two models have the
    /// same shapes. The loader must not read these columns.
    pub ignore: Vec<String>,
}

/// The copy of a measurement that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first in the file.
    First,
    /// The last in the file, as the collection guide recommends.
    Last,
    /// The median by latency; of an even number, the faster of the two middle copies.
    Median,
}

impl Keep {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Median => "median",
        }
    }

    /// Returns the copy that stays among `rows`, which are in file order.
    pub(super) fn choose(self, rows: &[usize], latencies: &[&Vals<'_, f64>]) -> usize {
        match self {
            Self::First => rows[0],
            Self::Last => rows[rows.len() - 1],
            Self::Median => {
                let mut order = rows.to_vec();
                order.sort_by(|a, b| by_latency(*a, *b, latencies));
                order[(order.len() - 1) / 2]
            }
        }
    }
}

/// Orders two rows by the first latency that differs, then by file order.
fn by_latency(a: usize, b: usize, latencies: &[&Vals<'_, f64>]) -> Ordering {
    let orders = latencies.iter().map(|values| values.get(a).total_cmp(&values.get(b)));
    orders.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
}
