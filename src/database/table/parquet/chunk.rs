//! The positions of columns in a file, as its checked footer states them.

use std::ops::Range;

use crate::specs::Codec;

/// A row group of a Parquet file.
#[derive(Debug)]
pub(crate) struct ChunkGroup {
    pub(super) rows: usize,
    /// One chunk for each leaf (innermost column) of the schema, in schema order.
    pub(super) chunks: Vec<Chunk>,
}

/// The pages of a column in a row group.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The position of the pages in the file.
    pub(super) range: Range<usize>,
    /// The position of the first data page in the file, as the footer states it. `None` if the column has no dictionary
    /// page or no data page.
    pub(super) first_data: Option<usize>,
    /// The number of values that the footer states.
    pub(super) values: usize,
    pub(super) codec: Codec,
}
