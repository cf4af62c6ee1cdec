//! Rows that do not fit their table.

/// Rows with a sign that they were not measured as the rest of their table.
pub(super) struct OddSlice {
    /// The words of the sign.
    pub says: String,
    pub rows: Vec<usize>,
}
