//! A slice that does not fit its table.

/// A slice with a sign that it was not measured as the rest of its table.
pub(super) struct OddSlice {
    /// The words of the sign.
    pub says: String,
    /// The rows of the slice.
    pub rows: Vec<usize>,
}

/// The first row of each slice, by the slice's number.
pub(super) fn first_rows(slices: &[u32]) -> Vec<usize> {
    let mut first: Vec<usize> = Vec::new();
    for (row, slice) in slices.iter().enumerate() {
        // Slices are numbered in the order of their first rows.
        if *slice as usize == first.len() {
            first.push(row);
        }
    }
    first
}
