//! Progress of a run.

/// A receiver of a run's progress.
pub trait Progress: Sync {
    /// Reports that `done` of `total` steps, such as judged tables or measured points, are finished.
    fn step(&self, done: usize, total: usize);

    /// Starts a new count of steps. The text names what is counted, such as the points of a table.
    fn begin(&self, _: &str) {}

    /// Shows the user a line of text, such as an estimate of the run's duration.
    fn say(&self, _: &str) {}
}

/// Ignores all progress.
impl Progress for () {
    fn step(&self, _: usize, _: usize) {}
}
