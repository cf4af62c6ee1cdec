//! The keys that a table covers: key part values of the points in its sketch.
//!
//! Key hashes show that a key is missing; coverage shows its values, so that findings can name it.

mod cell;
mod column;
mod points;
mod ranking;

pub(crate) use self::cell::Cell;
use self::column::{Codes, PartColumn};
pub use self::points::{CoveredPart, CoveredPoints, PartRole};
use crate::database::table::Keys;

/// The values of the key parts at the points of a sketch.
#[derive(Debug, Clone, Default)]
pub struct KeyCoverage {
    rows: Codes,
    parts: Vec<PartColumn>,
}

impl KeyCoverage {
    /// Copies the key part values of the given rows, which are the rows of the sketch's points.
    pub fn of(keys: &Keys<'_>, rows: &[u32]) -> Self {
        let parts = keys.values().map(|value| PartColumn::of(value, rows)).collect();
        Self { rows: Codes::of(rows, keys.hashes().len()), parts }
    }

    /// Returns the row number that a point has in its table.
    pub(crate) fn row(&self, point: usize) -> u32 {
        self.rows.get(point) as u32
    }

    /// Returns the values of a point's key for JSON reports.
    pub(crate) fn key(&self, point: usize) -> impl Iterator<Item = serde_json::Value> {
        self.parts.iter().map(move |part| part.json(point))
    }

    /// Returns a point's numeric value in a key part; `None` if the value is a name, a flag or null.
    fn number(&self, part: usize, point: u32) -> Option<f64> {
        let number = self.parts[part].number(point as usize)?;
        // Adding 0 turns -0 into 0.
        (!number.is_nan()).then_some(number + 0.0)
    }
}
