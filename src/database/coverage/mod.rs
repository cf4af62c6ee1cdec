//! Which keys a table has: the values of the key parts of the points that its sketch holds.
//!
//! Hashes tell that a key is missing; this tells which one it is, so that what is missing can be
//! said in words.

mod cell;
mod ranking;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::cell::Cell;
use self::ranking::distinct;

use crate::base::expr::{NULL_CODE, Vals, Value};
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

/// The values of one key part, a point each.
#[derive(Debug, Clone)]
enum PartColumn {
    One(Cell),
    /// Whole numbers of this size are most of all, and half as large.
    Narrow(Vec<f32>),
    Wide(Vec<f64>),
    Flags(Vec<bool>),
    Text {
        codes: Vec<u32>,
        dict: Vec<Arc<str>>,
    },
}

/// The values of the key parts of a sketch's points.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    rows: Vec<u32>,
    parts: Vec<PartColumn>,
}

impl Coverage {
    /// Takes the values of some rows, in the order of the sketch's points.
    pub fn of(keys: &Keys<'_>, rows: Vec<u32>) -> Self {
        let parts = keys.values().map(|value| gather(value, &rows)).collect();
        Self { rows, parts }
    }

    /// Whether it was taken.
    pub fn is_taken(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The row of a point in its table.
    pub fn row(&self, point: usize) -> u32 {
        self.rows[point]
    }

    /// A point's number of a part; none where it is a name or null.
    fn number(&self, part: usize, point: u32) -> Option<f64> {
        let number = match &self.parts[part] {
            PartColumn::One(Cell::Number(n)) => *n,
            PartColumn::Narrow(values) => f64::from(values[point as usize]),
            PartColumn::Wide(values) => values[point as usize],
            PartColumn::One(_) | PartColumn::Flags(_) | PartColumn::Text { .. } => return None,
        };
        // One zero.
        (!number.is_nan()).then_some(number + 0.0)
    }
}

impl PartColumn {
    /// What a point's value can be where it is no number.
    fn names(&self) -> Vec<Cell> {
        match self {
            Self::One(cell) => vec![cell.clone()],
            Self::Narrow(_) | Self::Wide(_) => vec![Cell::Null],
            Self::Flags(_) => vec![flag(false), flag(true)],
            Self::Text { dict, .. } => {
                let names = dict.iter().map(|t| Cell::Text(t.clone()));
                names.chain([Cell::Null]).collect()
            }
        }
    }

    /// Which of [`PartColumn::names`] a point's value is.
    fn name(&self, point: usize) -> usize {
        match self {
            Self::One(_) | Self::Narrow(_) | Self::Wide(_) => 0,
            Self::Flags(values) => usize::from(values[point]),
            Self::Text { codes, dict } => (codes[point] as usize).min(dict.len()),
        }
    }
}

fn flag(value: bool) -> Cell {
    Cell::Text(if value { "true" } else { "false" }.into())
}

fn text(dict: &[Arc<str>], code: u32) -> Cell {
    dict.get(code as usize).map_or(Cell::Null, |t| Cell::Text(t.clone()))
}

fn gather(value: &Value<'_>, rows: &[u32]) -> PartColumn {
    let row = |row: &u32| *row as usize;
    match value {
        Value::Number(Vals::One(n)) if n.is_nan() => PartColumn::One(Cell::Null),
        Value::Number(Vals::One(n)) => PartColumn::One(Cell::Number(*n)),
        Value::Number(Vals::Rows(values)) => {
            let narrow = |v: f64| v.is_nan() || f64::from(v as f32) == v;
            if rows.iter().all(|r| narrow(values[row(r)])) {
                PartColumn::Narrow(rows.iter().map(|r| values[row(r)] as f32).collect())
            } else {
                PartColumn::Wide(rows.iter().map(|r| values[row(r)]).collect())
            }
        }
        Value::Bool(Vals::One(b)) => PartColumn::One(flag(*b)),
        Value::Bool(Vals::Rows(values)) => {
            PartColumn::Flags(rows.iter().map(|r| values[row(r)]).collect())
        }
        Value::Text(Vals::One(code), dict) => PartColumn::One(text(dict, *code)),
        Value::Text(Vals::Rows(codes), dict) => PartColumn::Text {
            codes: rows.iter().map(|r| codes.get(row(r)).copied().unwrap_or(NULL_CODE)).collect(),
            dict: dict.to_vec(),
        },
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
