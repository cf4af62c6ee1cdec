//! Tables that cannot be read, or not whole.

use crate::base::words::plural;
use crate::database::source::Pointer;

/// Why a table could not be read; each kind has a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It cannot be decoded, and why.
    Unreadable(String),
    /// A git-LFS pointer stands where the table should be.
    LfsPointer(Pointer),
    /// All its rows are damaged.
    Torn(Torn),
    /// It has columns but no rows.
    Empty,
}

impl Fault {
    /// What is wrong with the table, as its finding says it.
    pub fn message(&self) -> String {
        match self {
            Self::Unreadable(why) => format!("cannot be read: {why}"),
            Self::LfsPointer(pointer) => format!(
                "a git-LFS pointer to {} bytes stands where the table should be",
                pointer.size
            ),
            Self::Torn(torn) => format!("{}; no row is whole", torn.message()),
            Self::Empty => "it has a header and no rows".into(),
        }
    }
}

/// Damaged rows of a text table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Torn {
    /// The first few: line, counted from 1, and what is wrong there.
    pub first: Vec<(u64, String)>,
    /// How many there are.
    pub rows: usize,
}

impl Torn {
    /// How many rows are damaged, and what is wrong with the first.
    pub fn message(&self) -> String {
        let (line, why) = self.first.first().cloned().unwrap_or_default();
        format!("{}, the first in line {line}: {why}", plural(self.rows, "torn row"))
    }
}
