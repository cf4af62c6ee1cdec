//! A sign of made-up rows, with the rows that show it.

use crate::findings::HitPart;

/// Says what some rows of a sign show.
pub(super) type Say = Box<dyn Fn(&[usize]) -> String>;

/// A sign, with the rows that show it.
pub(super) struct Sign {
    pub say: Say,
    pub rows: Vec<usize>,
}

impl Sign {
    /// What its rows of a part show, with those rows, where there are any.
    pub fn within(&self, part: &HitPart<'_>) -> Option<(String, Vec<usize>)> {
        let rows: Vec<usize> = self.rows.iter().copied().filter(|row| part.has(*row)).collect();
        if rows.is_empty() {
            return None;
        }
        Some(((self.say)(&rows), rows))
    }
}
