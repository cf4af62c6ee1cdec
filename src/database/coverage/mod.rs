//! The keys that a table covers: key part values of the points in its sketch.
//!
//! Key hashes show that a key is missing; coverage shows its values, so that findings can name it.

mod cell;
mod column;
mod ranking;

use std::collections::BTreeMap;

pub use self::cell::Cell;
use self::column::{Codes, PartColumn};
use self::ranking::distinct;
use crate::database::table::Keys;
use crate::specs::{KeyPart, TableSpec};
/// The role of a key part in a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name or a flag, such as dtype, kernel or phase. The names of a key identify its slice.
    Name,
    /// A number that is not along an axis of the sweep, such as a model size or parallelism.
    Shape,
    /// A number along an axis of the sweep. A lookup interpolates between its values.
    Grid,
}

/// The values of the key parts at the points of a sketch.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    rows: Codes,
    parts: Vec<PartColumn>,
}

impl Coverage {
    /// Takes the key part values of the given rows, which are the rows of the sketch's points.
    pub fn of(keys: &Keys<'_>, rows: &[u32]) -> Self {
        let parts = keys.values().map(|value| PartColumn::of(value, rows)).collect();
        Self { rows: Codes::of(rows, keys.hashes().len()), parts }
    }

    /// Returns true if the values were taken; false for the default value.
    pub fn is_taken(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns the row of a point in its table.
    pub fn row(&self, point: usize) -> u32 {
        self.rows.get(point) as u32
    }

    /// Returns the values of a point's key for JSON reports.
    pub fn key(&self, point: usize) -> impl Iterator<Item = serde_json::Value> {
        self.parts.iter().map(move |part| part.json(point))
    }

    /// Returns a point's number in a key part; `None` if the value is a name, a flag or null.
    fn number(&self, part: usize, point: u32) -> Option<f64> {
        let number = self.parts[part].number(point as usize)?;
        // Adding 0 turns -0 into 0.
        (!number.is_nan()).then_some(number + 0.0)
    }
}

/// A key part at points of several tables.
#[derive(Debug)]
pub struct Part {
    /// The part's name.
    pub name: String,
    /// The part's role in a sweep.
    pub kind: Kind,
    /// The distinct values, ascending.
    pub values: Vec<Cell>,
    /// The value of each point, as an index into `values`.
    pub codes: Vec<u32>,
}

/// Points of several tables with equal table name, with the values of their keys.
#[derive(Debug, Default)]
pub struct Points {
    /// The parts of the key.
    pub parts: Vec<Part>,
    /// The number of points.
    pub len: usize,
}

impl Points {
    /// Merges points of several tables. A point is its table's coverage and its index there.
    pub fn new(spec: &TableSpec, points: &[(&Coverage, u32)]) -> Self {
        let part = |(i, part): (usize, &KeyPart)| {
            let (values, codes) = distinct(i, points);
            Part { name: part.name.clone(), kind: kind(spec, part), values, codes }
        };
        Self { parts: spec.key.iter().enumerate().map(part).collect(), len: points.len() }
    }

    /// Returns a point's value in a key part.
    pub fn cell(&self, part: usize, point: usize) -> &Cell {
        let part = &self.parts[part];
        &part.values[part.codes[point] as usize]
    }

    /// Returns the names and values of a point's key for JSON reports.
    pub fn key(&self, point: usize) -> Vec<(String, serde_json::Value)> {
        let value = |(i, part): (usize, &Part)| (part.name.clone(), self.cell(i, point).json());
        self.parts.iter().enumerate().map(value).collect()
    }

    /// Numbers the distinct combinations of values in key parts of the given kinds, and returns each point's
    /// number.
    pub fn slices(&self, kinds: &[Kind]) -> Vec<u32> {
        let mut slices = vec![0; self.len];
        for part in self.parts.iter().filter(|p| kinds.contains(&p.kind)) {
            let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            for (slice, code) in slices.iter_mut().zip(&part.codes) {
                let next = known.len() as u32;
                *slice = *known.entry((*slice, *code)).or_insert(next);
            }
        }
        slices
    }
}

/// Returns the role of a key part: names make slices, numbers along the sweep's axes make the grid.
fn kind(spec: &TableSpec, part: &KeyPart) -> Kind {
    let swept = |column: &&str| spec.sweep.iter().any(|axis| axis == column);
    if spec.is_name(part) {
        Kind::Name
    } else if part.value.columns().iter().any(swept) {
        Kind::Grid
    } else {
        Kind::Shape
    }
}
