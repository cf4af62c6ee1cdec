//! What cross-table checks need to know of a table, without its rows.

use std::collections::BTreeMap;

/// Row counts of tables by path, judged ones and their neighbours.
#[derive(Debug, Default)]
pub struct Sketches {
    /// Rows by path; a table that cannot be read has none.
    pub rows: BTreeMap<String, usize>,
}

impl Sketches {
    /// Rows of the table at `path`, 0 where it cannot be read.
    pub fn rows(&self, path: &str) -> usize {
        self.rows.get(path).copied().unwrap_or(0)
    }
}
