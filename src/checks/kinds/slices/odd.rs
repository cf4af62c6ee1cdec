//! A slice that does not fit its table.

/// A slice with a sign that it was not measured as the rest of its table.
pub(super) struct OddSlice {
    /// The words of the sign.
    pub says: String,
    /// The rows of the slice.
    pub rows: Vec<usize>,
}
