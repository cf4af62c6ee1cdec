//! A compact column of key part values. Compact storage matters because the columns of all tables are in
//! memory at once.

use std::sync::Arc;

use super::Cell;
use crate::base::expr::{Vals, Value, WholeNumbers};
use crate::database::table::{Numbering, PartValues, own_names, text_json};
/// The values of one key part at the points of a sketch.
#[derive(Debug, Clone)]
pub(super) enum PartColumn {
    One(Cell),
    /// The key part has numbers. `values` lists the distinct numbers, with NaN for null. For each point, `codes` has an
    /// index into `values`.
    Numbers {
        codes: Codes,
        values: Vec<f64>,
    },
    Flags(Vec<bool>),
    /// The key part has names. `names` lists the distinct names. For each point, `codes` has an index into `names`, or
    /// `names.len()` for null.
    Text {
        codes: Codes,
        names: Vec<Arc<str>>,
    },
}

/// Indices into a list of distinct values, stored in the smallest integer type that fits.
#[derive(Debug, Clone)]
pub(super) enum Codes {
    Byte(Vec<u8>),
    Short(Vec<u16>),
    Long(Vec<u32>),
}

impl Default for Codes {
    fn default() -> Self {
        Self::Byte(Vec::new())
    }
}

impl Codes {
    /// Stores the indices `codes`, which are all below `count`.
    pub(super) fn of(codes: &[u32], count: usize) -> Self {
        match count {
            0..=0x100 => Self::Byte(codes.iter().map(|code| *code as u8).collect()),
            0x101..=0x1_0000 => Self::Short(codes.iter().map(|code| *code as u16).collect()),
            _ => Self::Long(codes.to_vec()),
        }
    }

    pub(super) fn get(&self, point: usize) -> usize {
        match self {
            Self::Byte(codes) => usize::from(codes[point]),
            Self::Short(codes) => usize::from(codes[point]),
            Self::Long(codes) => codes[point] as usize,
        }
    }
}

impl PartColumn {
    /// Copies the values of a key part in the given rows of a table.
    pub(super) fn of(values: &PartValues<'_>, rows: &[u32]) -> Self {
        let row = |row: &u32| *row as usize;
        match values {
            PartValues::Whole(WholeNumbers::Codes { codes, numbers }) => {
                coded(rows.iter().map(|r| codes[row(r)]), numbers)
            }
            PartValues::Whole(WholeNumbers::Values(values)) => {
                numbers(rows.iter().map(|r| values[row(r)] as f64))
            }
            PartValues::Formula(Value::Number(Vals::One(n))) => Self::One(number(*n)),
            PartValues::Formula(Value::Number(Vals::Rows(values))) => {
                numbers(rows.iter().map(|r| values[row(r)]))
            }
            PartValues::Formula(Value::Bool(Vals::One(b))) => Self::Flags(vec![*b; rows.len()]),
            PartValues::Formula(Value::Bool(Vals::Rows(values))) => {
                Self::Flags(rows.iter().map(|r| values[row(r)]).collect())
            }
            PartValues::Formula(Value::Text(Vals::One(code), dict)) => Self::One(text(dict, *code)),
            PartValues::Formula(Value::Text(Vals::Rows(codes), dict)) => {
                let codes: Vec<u32> = rows.iter().map(|r| codes[row(r)]).collect();
                let (mut codes, names) = own_names(&codes, dict);
                let null = names.len() as u32;
                codes.iter_mut().for_each(|code| *code = null.min(*code));
                Self::Text { codes: Codes::of(&codes, names.len() + 1), names }
            }
        }
    }

    /// Returns the number at a point, with NaN for null; `None` if the key part has names or flags.
    pub(super) fn number(&self, point: usize) -> Option<f64> {
        match self {
            Self::One(Cell::Number(n)) => Some(*n),
            Self::Numbers { codes, values } => Some(values[codes.get(point)]),
            Self::One(_) | Self::Flags(_) | Self::Text { .. } => None,
        }
    }

    /// Returns the value at a point for JSON reports.
    pub(super) fn json(&self, point: usize) -> serde_json::Value {
        match self {
            Self::Flags(values) => values[point].into(),
            Self::One(cell) => cell.json(),
            Self::Numbers { codes, values } => number(values[codes.get(point)]).json(),
            Self::Text { codes, names } => {
                names.get(codes.get(point)).map_or(serde_json::Value::Null, |name| text_json(name))
            }
        }
    }

    /// Lists the values of the key part that are not numbers. For names, the list has the distinct names and null. For
    /// flags, it has `false` and `true`. For numbers, it has only null.
    pub(super) fn names(&self) -> Vec<Cell> {
        match self {
            Self::One(cell) => vec![cell.clone()],
            Self::Numbers { .. } => vec![Cell::Null],
            Self::Flags(_) => vec![flag(false), flag(true)],
            Self::Text { names, .. } => {
                names.iter().map(|name| Cell::Text(name.clone())).chain([Cell::Null]).collect()
            }
        }
    }

    /// Returns the index of a point's value in the list that [`PartColumn::names`] returns.
    pub(super) fn name(&self, point: usize) -> usize {
        match self {
            Self::One(_) | Self::Numbers { .. } => 0,
            Self::Flags(values) => usize::from(values[point]),
            Self::Text { codes, .. } => codes.get(point),
        }
    }
}

fn number(value: f64) -> Cell {
    if value.is_nan() { Cell::Null } else { Cell::Number(value) }
}

/// Stores each number as an index into a list of the distinct numbers.
fn numbers(all: impl Iterator<Item = f64>) -> PartColumn {
    let mut numbering = Numbering::default();
    let codes: Vec<u32> = all.map(|value| numbering.number(value.to_bits())).collect();
    let values: Vec<f64> = numbering.into_values().into_iter().map(f64::from_bits).collect();
    PartColumn::Numbers { codes: Codes::of(&codes, values.len()), values }
}

/// Stores the numbers of a key part. For each point, `all` has an index into `numbers`. Numbers that no point has are
/// not stored.
fn coded(all: impl Iterator<Item = u32>, numbers: &[i64]) -> PartColumn {
    const UNMET: u32 = u32::MAX;
    let mut own_codes = vec![UNMET; numbers.len()];
    let mut values: Vec<f64> = Vec::new();
    let codes = all.map(|code| {
        let own = &mut own_codes[code as usize];
        if *own == UNMET {
            *own = values.len() as u32;
            values.push(numbers[code as usize] as f64);
        }
        *own
    });
    let codes: Vec<u32> = codes.collect();
    PartColumn::Numbers { codes: Codes::of(&codes, values.len()), values }
}

fn flag(value: bool) -> Cell {
    Cell::Text(if value { "true" } else { "false" }.into())
}

fn text(dict: &[Arc<str>], code: u32) -> Cell {
    dict.get(code as usize).map_or(Cell::Null, |t| Cell::Text(t.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_values_are_one_two_or_four_bytes_wide() {
        for (count, bytes) in [(2, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4)] {
            let column = numbers((0..70_000).map(|i| f64::from(i % count) / 3.0));
            let PartColumn::Numbers { codes, values } = &column else { panic!("numbers") };
            let width = match codes {
                Codes::Byte(_) => 1,
                Codes::Short(_) => 2,
                Codes::Long(_) => 4,
            };
            assert_eq!((values.len(), width), (count as usize, bytes));
            for point in 0..70_000 {
                let value = (point % count as usize) as f64 / 3.0;
                assert_eq!(column.number(point), Some(value));
            }
        }
    }
}
