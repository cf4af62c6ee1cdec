//! Which keys a table has: the values of the key parts of the points that its sketch holds.
//!
//! Hashes show that a key is missing; this shows which one it is, so that what is missing can be
//! said in words.

mod cell;
mod column;
mod ranking;

use std::collections::BTreeMap;

pub use self::cell::Cell;
use self::column::{Codes, PartColumn};
use self::ranking::distinct;
use crate::database::table::Keys;
use crate::specs::{KeyPart, TableSpec};
/// What a part of a key is to a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A name or a flag: dtype, kernel, phase. Its values make slices.
    Name,
    /// A number that no axis of the sweep makes: model sizes, parallelism.
    Shape,
    /// A number along an axis of the sweep; between its values a lookup interpolates.
    Grid,
}

/// The values of the key parts of a sketch's points.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    rows: Codes,
    parts: Vec<PartColumn>,
}

impl Coverage {
    /// Takes the values of some rows, in the order of the sketch's points.
    pub fn of(keys: &Keys<'_>, rows: &[u32]) -> Self {
        let parts = keys.values().map(|value| PartColumn::of(value, rows)).collect();
        Self { rows: Codes::of(rows, keys.hashes().len()), parts }
    }

    /// Whether it was taken.
    pub fn is_taken(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The row of a point in its table.
    pub fn row(&self, point: usize) -> u32 {
        self.rows.get(point) as u32
    }

    /// The values of a point's key, for people.
    pub fn key(&self, point: usize) -> impl Iterator<Item = serde_json::Value> {
        self.parts.iter().map(move |part| part.json(point))
    }

    /// A point's number of a part; none where it is a name or null.
    fn number(&self, part: usize, point: u32) -> Option<f64> {
        let number = self.parts[part].number(point as usize)?;
        // One zero.
        (!number.is_nan()).then_some(number + 0.0)
    }
}

/// A key part of points of several tables: its distinct values in order, and each point's.
#[derive(Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it is to a sweep.
    pub kind: Kind,
    /// Its distinct values, ascending.
    pub values: Vec<Cell>,
    /// Each point's value, an index into `values`.
    pub codes: Vec<u32>,
}

/// Points of several tables of one kind, with the values of their keys.
#[derive(Debug, Default)]
pub struct Points {
    /// The parts of the key.
    pub parts: Vec<Part>,
    /// How many points there are.
    pub len: usize,
}

impl Points {
    /// Brings points of several tables together: each is a table's coverage and an index into it.
    pub fn new(spec: &TableSpec, points: &[(&Coverage, u32)]) -> Self {
        let part = |(i, part): (usize, &KeyPart)| {
            let (values, codes) = distinct(i, points);
            Part { name: part.name.clone(), kind: kind(spec, part), values, codes }
        };
        Self { parts: spec.key.iter().enumerate().map(part).collect(), len: points.len() }
    }

    /// A point's value of a part.
    pub fn cell(&self, part: usize, point: usize) -> &Cell {
        let part = &self.parts[part];
        &part.values[part.codes[point] as usize]
    }

    /// A point's key, for people.
    pub fn key(&self, point: usize) -> Vec<(String, serde_json::Value)> {
        let value = |(i, part): (usize, &Part)| (part.name.clone(), self.cell(i, point).json());
        self.parts.iter().enumerate().map(value).collect()
    }

    /// A number for a point's values of the parts of some kinds: equal for two points exactly when
    /// the values are.
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

/// What a part of a key is: names make slices, numbers of the sweep's axes make the grid.
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
