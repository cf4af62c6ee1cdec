//! A decoded table, how its file stores it, and the reasons why a file cannot be decoded.

use std::collections::BTreeSet;
use std::fmt;

use super::{Column, RowLines};
use crate::base::words::plural;
use crate::database::source::{Pointer, ReadError};
use crate::specs::{Codec, StoredType};

/// A decoded table.
#[derive(Debug)]
pub struct Table {
    /// The number of rows, at least 1.
    pub rows: usize,
    /// The damaged rows of a text table, which are not included in `rows`.
    pub torn: Torn,
    /// The storage format of the file; `None` for text and for tables that are not from a file.
    pub stored: Option<StoredAs>,
    /// The line of each row in a text file. Empty for a table that is not a text file.
    pub(crate) lines: RowLines,
    pub(super) columns: Vec<(String, Column)>,
}

/// The columns of a table that are decoded.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// All columns of the table.
    All,
    /// The columns with the given names.
    Named(&'a BTreeSet<&'a str>),
}

impl Wanted<'_> {
    /// Returns true if the column with this name should be decoded.
    pub(super) fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}

impl Table {
    /// Creates a table from columns that are all `rows` long.
    pub(crate) fn of(rows: usize, columns: Vec<(String, Column)>) -> Self {
        Self { rows, torn: Torn::default(), stored: None, lines: RowLines::default(), columns }
    }

    /// Returns the columns in file order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(n, c)| (n.as_str(), c))
    }

    /// Converts the table to its columns, in file order.
    pub fn into_columns(self) -> Vec<(String, Column)> {
        self.columns
    }

    /// Returns the column with a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c)
    }
}

/// The storage format of a file's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAs {
    /// The compression codecs of all columns.
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

/// The reason why a table cannot be read. A separate rule reports each kind of reason, with the `Display` text as
/// message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableFault {
    /// The table cannot be decoded, with the reason.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file is a git-LFS pointer instead of the table. If `.gitattributes` puts the file into git-LFS, the fault is
    /// `InLfs` instead.
    #[error("the file is a git-LFS pointer to {} bytes: `git lfs pull` fetches the table", .0.size)]
    LfsPointer(Pointer),
    /// The file is a git-LFS pointer, as `.gitattributes` requires, but the table itself was not fetched.
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
