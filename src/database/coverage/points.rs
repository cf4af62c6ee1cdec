//! Keys at points of several tables, by part.

use std::collections::BTreeMap;

use super::ranking::distinct;
use super::{Cell, KeyCoverage};
use crate::specs::{KeyPart, TableSpec};

/// Whether a key part is a name, an axis of the sweep, or another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartRole {
    /// A name or a flag, such as dtype, kernel or phase. The names of a key identify its slice.
    Name,
    /// A number that is not an axis of the sweep, such as a model size or parallelism.
    Shape,
    /// A number along an axis of the sweep. The planner interpolates between the values of this key part.
    Grid,
}

/// A key part with its values at points of several tables.
#[derive(Debug)]
pub struct CoveredPart {
    /// The name of the key part.
    pub name: String,
    /// Whether the key part is a name, an axis of the sweep, or another number.
    pub kind: PartRole,
    /// The distinct values of the key part, ascending.
    pub values: Vec<Cell>,
    /// For each point, the index of its value in `values`.
    pub codes: Vec<u32>,
}

/// Points of several tables with the same name, with the values of their keys.
#[derive(Debug, Default)]
pub struct CoveredPoints {
    /// The parts of the key, each with the values of all points.
    pub parts: Vec<CoveredPart>,
    /// The number of points.
    pub len: usize,
}

impl CoveredPoints {
    /// Collects the keys of points, which may be from several tables. Each element of `points` is the [`KeyCoverage`]
    /// of a table and the index of one of its points.
    pub fn new(spec: &TableSpec, points: &[(&KeyCoverage, u32)]) -> Self {
        let part = |(i, part): (usize, &KeyPart)| {
            let (values, codes) = distinct(i, points);
            CoveredPart { name: part.name.clone(), kind: kind(spec, part), values, codes }
        };
        Self { parts: spec.key.iter().enumerate().map(part).collect(), len: points.len() }
    }

    /// Returns the value of a key part at a point.
    pub(crate) fn cell(&self, part: usize, point: usize) -> &Cell {
        let part = &self.parts[part];
        &part.values[part.codes[point] as usize]
    }

    /// Returns the names and values of a point's key for JSON reports.
    pub(crate) fn key(&self, point: usize) -> Vec<(String, serde_json::Value)> {
        let value =
            |(i, part): (usize, &CoveredPart)| (part.name.clone(), self.cell(i, point).json());
        self.parts.iter().enumerate().map(value).collect()
    }

    /// Numbers the distinct combinations of values in the key parts with the given roles, from 0. Returns, for each
    /// point, the number of its combination.
    pub(crate) fn slices(&self, kinds: &[PartRole]) -> Vec<u32> {
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

/// Returns whether a key part is a name, an axis of the sweep, or another number.
fn kind(spec: &TableSpec, part: &KeyPart) -> PartRole {
    let swept = |column: &&str| spec.sweep.iter().any(|axis| axis == column);
    if spec.is_name(part) {
        PartRole::Name
    } else if part.value.columns().iter().any(swept) {
        PartRole::Grid
    } else {
        PartRole::Shape
    }
}
