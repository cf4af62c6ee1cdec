//! The result of the checks in this folder.

/// Rows that do not seem to be measured in the same way as the rest of their table.
pub(super) struct OddSlice {
    /// A sentence that describes why the rows do not seem to be measured like the rest.
    pub says: String,
    pub rows: Vec<usize>,
}
