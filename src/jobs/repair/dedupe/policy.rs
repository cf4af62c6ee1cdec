//! The policy of `dedupe`: which copy of a measurement stays.

use std::cmp::Ordering;

use crate::base::expr::Vals;

/// How repeated measurements are removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Which copy stays.
    pub keep: Keep,
    /// Whether copies are removed that differ by more than reruns do.
    pub disagreeing: bool,
    /// Columns that make no other measurement of a row, though they hold something else: a model's
    /// name, where two models have one shape. None that a loader reads.
    pub ignore: Vec<String>,
}

/// Which copy of a measurement stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first in the file.
    First,
    /// The last in the file: the collection guide's word.
    Last,
    /// The one in the middle by latency; of an even number, the faster of the two.
    Median,
}

impl Keep {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Median => "median",
        }
    }

    /// The copy that stays of some, which are in file order.
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

/// Orders two rows by the first latency that differs, then as they are in the file.
fn by_latency(a: usize, b: usize, latencies: &[&Vals<'_, f64>]) -> Ordering {
    let orders = latencies.iter().map(|values| values.get(a).total_cmp(&values.get(b)));
    orders.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
}
