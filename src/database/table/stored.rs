//! The storage format of a Parquet file, which determines whether a reader can open it.

use std::collections::BTreeSet;

use crate::specs::{Codec, StoredType};

/// The storage format of a file's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAs {
    /// The codecs of all columns.
    pub codecs: BTreeSet<Codec>,
    /// The type of each column by name, in file order.
    pub types: Vec<(String, StoredType)>,
}

impl StoredAs {
    /// Returns the type of a column; `None` if the file does not have the column.
    pub fn stored_type(&self, column: &str) -> Option<StoredType> {
        self.types.iter().find(|(name, _)| name == column).map(|(_, stored)| *stored)
    }
}
