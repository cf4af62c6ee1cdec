//! How far a run is, for whoever shows it.

/// Receives the progress of a run.
pub trait Progress: Sync {
    /// `done` of `total` steps are done: tables that are judged, points that are measured.
    fn step(&self, done: usize, total: usize);
}

/// Shows nothing.
impl Progress for () {
    fn step(&self, _: usize, _: usize) {}
}
