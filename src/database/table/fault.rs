//! Tables that cannot be read completely.

use std::fmt;

use crate::base::words::plural;
use crate::database::source::{Pointer, ReadError};

/// The reason why a table cannot be read; each kind has a rule. It is displayed as in its finding.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableFault {
    /// The table cannot be decoded, with the reason.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file is a git-LFS pointer instead of the table.
    #[error("the file is a git-LFS pointer to {} bytes: `git lfs pull` fetches the table", .0.size)]
    LfsPointer(Pointer),
    /// The file is a git-LFS pointer as `.gitattributes` demands, and its object was not fetched.
    #[error("the table is in git-LFS and its object was not fetched")]
    InLfs,
    /// The git object is not in this clone.
    #[error("the object of the table is not in this clone")]
    Missing,
    /// All rows of the text table are damaged.
    #[error("{0}; every row is damaged")]
    Torn(Torn),
    /// The table has columns but no rows.
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

/// The damaged rows of a text table. Displayed as their number and the problem of the first one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Torn {
    /// The first damaged rows: the line number, from 1, and the problem.
    pub first: Vec<(u64, String)>,
    /// The number of damaged rows.
    pub rows: usize,
}

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, why) = self.first.first().map_or((0, ""), |(line, why)| (*line, why));
        let first = if self.rows == 1 { "line" } else { "the first in line" };
        write!(f, "{}, {first} {line}: {why}", plural(self.rows, "damaged row"))
    }
}
