//! Tables that cannot be read, or not whole.

use std::fmt;

use crate::base::words::plural;
use crate::database::source::{Pointer, ReadError};

/// Why a table could not be read; each kind has a rule. It is shown as its finding says it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableFault {
    /// It cannot be decoded, and why.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// A git-LFS pointer stands where the table should be.
    #[error("the file is a git-LFS pointer to {} bytes: `git lfs pull` fetches the table", .0.size)]
    LfsPointer(Pointer),
    /// A git-LFS pointer whose object was not fetched, where `.gitattributes` keeps the table in git-LFS.
    #[error("the table is in git-LFS and its object was not fetched")]
    InLfs,
    /// Its object is not in this clone.
    #[error("the object of the table is not in this clone")]
    Missing,
    /// All its rows are damaged.
    #[error("{0}; every row is damaged")]
    Torn(Torn),
    /// It has columns but no rows.
    #[error("the table has a header but no rows")]
    Empty,
}

impl From<ReadError> for TableFault {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Missing => Self::Missing,
            error => Self::Unreadable(error.to_string()),
        }
    }
}

/// Damaged rows of a text table. Shown as how many they are, and what is wrong with the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Torn {
    /// The first few: line, counted from 1, and what is wrong there.
    pub first: Vec<(u64, String)>,
    /// How many there are.
    pub rows: usize,
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, why) = self.first.first().map_or((0, ""), |(line, why)| (*line, why));
        write!(f, "{}, the first in line {line}: {why}", plural(self.rows, "torn row"))
    }
}
