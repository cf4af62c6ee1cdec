//! Decoded tables.

use std::collections::BTreeSet;

use super::{Column, RowLines, StoredAs, Torn};

/// A decoded table.
#[derive(Debug)]
pub struct Table {
    /// The number of rows, at least 1.
    pub rows: usize,
    /// The damaged rows of a text table, which are not included in `rows`.
    pub torn: Torn,
    /// The storage format of the file; `None` for text and for tables that are not from a file.
    pub stored: Option<StoredAs>,
    /// The lines of the rows in a text file; without entries for other tables.
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
    pub fn of(rows: usize, columns: Vec<(String, Column)>) -> Self {
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
