//! The result of the checks in this folder.

/// Rows with a sign that they were not measured as the rest of their table.
pub(super) struct OddSlice {
    /// The sentence that describes the sign.
    pub says: String,
    pub rows: Vec<usize>,
}
