//! The rows of one key, and how far they contradict each other.

use crate::database::served::rows::KeyRows;

/// The largest number of groups whose copies are compared column by column.
pub(super) const LOOKED_AT: usize = 1000;

/// A repeated key with all rows that have it, in file order.
pub(super) struct KeyCopies {
    pub rows: KeyRows,
    /// The slowest copy divided by the fastest, for the latency column that differs most.
    pub spread: f64,
    pub conflict: bool,
    /// True if the copies differ by more than 99 of 100 honest reruns do.
    pub beyond_noise: bool,
    /// True if each copy belongs to another sweep and these sweeps meet by design.
    pub by_design: bool,
}

impl KeyCopies {
    /// Returns true if the copies are in conflict and differ by more than reruns do.
    pub fn matters(&self) -> bool {
        self.conflict && self.beyond_noise
    }
}
