//! A point of a series, and points in the order of their sizes.

/// The row of a point that has none.
pub const NO_ROW: u32 = u32::MAX;

/// A point of a series.
#[derive(Clone, Copy)]
pub(super) struct SeriesPoint {
    pub at: f64,
    pub time: f64,
    pub row: u32,
    pub log_at: f64,
}

impl SeriesPoint {
    /// Creates a point of another table, which has no row.
    pub fn new(at: f64, time: f64) -> Self {
        Self { at, time, row: NO_ROW, log_at: log_of_size(at) }
    }
}

/// Returns the logarithm of a size; a size of 0 is one step below 1.
pub(super) fn log_of_size(size: f64) -> f64 {
    size.max(0.5).ln()
}

/// Points in the order of their sizes.
pub(super) trait Points {
    /// Returns the number of points.
    fn count(&self) -> usize;

    /// Returns the point at a place in the order.
    fn get(&self, i: usize) -> Option<SeriesPoint>;
}

impl Points for [SeriesPoint] {
    fn count(&self) -> usize {
        self.len()
    }

    fn get(&self, i: usize) -> Option<SeriesPoint> {
        <[SeriesPoint]>::get(self, i).copied()
    }
}
