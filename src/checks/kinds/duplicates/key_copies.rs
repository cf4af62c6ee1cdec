//! The rows of one key, and how far they contradict each other.

use crate::database::served::rows::KeyRows;

/// Groups that are looked at one by one for what their copies differ in.
pub(super) const LOOKED_AT: usize = 1000;

/// A key of a bucket with all its rows, in file order.
pub(super) struct KeyCopies {
    pub rows: KeyRows,
    /// Slowest over fastest copy, of the latency that differs most.
    pub spread: f64,
    pub conflict: bool,
    /// Whether the copies differ by more than 99 of 100 honest reruns do.
    pub beyond_noise: bool,
    /// Whether each copy is of another sweep that meets the others by design.
    pub by_design: bool,
}

impl KeyCopies {
    /// Whether the copies contradict each other by more than reruns do.
    pub fn matters(&self) -> bool {
        self.conflict && self.beyond_noise
    }
}
