//! A sign of made-up rows, with the rows that show it.

use crate::findings::HitPart;

/// Describes some rows of a sign.
pub(super) type Say = Box<dyn Fn(&[usize]) -> String>;

/// A sign of made-up rows with its description.
pub(super) struct Sign {
    pub say: Say,
    pub rows: Vec<usize>,
}

impl Sign {
    /// Returns the description and the rows of the sign within a part of the table; `None` if there are none.
    pub fn within(&self, part: &HitPart<'_>) -> Option<(String, Vec<usize>)> {
        let rows: Vec<usize> = self.rows.iter().copied().filter(|row| part.has(*row)).collect();
        if rows.is_empty() {
            return None;
        }
        Some(((self.say)(&rows), rows))
    }
}
