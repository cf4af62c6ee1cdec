//! Encodes columns of rows for an explorer page: the distinct values, and one code per row in
//! base64.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::base::escape::clean;
use crate::base::expr::{NULL_CODE, Value};
use crate::database::table::PartValues;

/// A key column for a page, encoded as a list of distinct values and one code per row. The code is the index of a
/// value.
#[derive(Debug, Serialize)]
pub(super) struct PageColumn {
    name: String,
    /// True if all values are numbers or null, so that the column can be the x axis.
    number: bool,
    /// The distinct values in ascending order: numbers, texts, flags or null.
    values: Vec<serde_json::Value>,
    /// The number of bytes per code; 0 if all rows have the same value.
    width: usize,
    /// The codes of the rows in base64, least significant byte first.
    codes: String,
}

/// The value of a row in one column of the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum CellValue {
    Null,
    Flag(bool),
    /// A number, as the bits of a double.
    Number(u64),
    Text(String),
}

/// The values of one key column, collected row by row.
pub(super) struct CellColumn {
    name: String,
    known: HashMap<CellValue, u32>,
    cells: Vec<CellValue>,
    rows: Vec<u32>,
}

impl CellColumn {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), known: HashMap::new(), cells: Vec::new(), rows: Vec::new() }
    }

    /// Adds the values of the selected rows of a table.
    pub(crate) fn extend(&mut self, values: &PartValues<'_>, rows: &[usize]) {
        match values {
            PartValues::Whole(whole) => self.push(rows, |row| number(whole.get(row) as f64)),
            PartValues::Formula(Value::Number(numbers)) => {
                self.push(rows, |row| number(numbers.get(row)));
            }
            PartValues::Formula(Value::Bool(flags)) => {
                self.push(rows, |row| CellValue::Flag(flags.get(row)));
            }
            PartValues::Formula(Value::Text(codes, dict)) => {
                // Each text is escaped and looked up only once.
                let mut known: HashMap<u32, u32> = HashMap::new();
                for row in rows {
                    let text = codes.get(*row);
                    let code = *known.entry(text).or_insert_with(|| {
                        let text = dict.get(text as usize).filter(|_| text != NULL_CODE);
                        self.code(text.map_or(CellValue::Null, |t| CellValue::Text(clean(t))))
                    });
                    self.rows.push(code);
                }
            }
        }
    }

    fn push(&mut self, rows: &[usize], cell: impl Fn(usize) -> CellValue) {
        for row in rows {
            let code = self.code(cell(*row));
            self.rows.push(code);
        }
    }

    fn code(&mut self, cell: CellValue) -> u32 {
        let next = self.cells.len() as u32;
        *self.known.entry(cell).or_insert_with_key(|cell| {
            self.cells.push(cell.clone());
            next
        })
    }

    /// Returns the distinct values as texts, in ascending order of the values.
    pub(crate) fn distinct(mut self) -> Vec<String> {
        self.cells.sort_by(compare);
        let text = |cell: &CellValue| match json(cell) {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        self.cells.iter().map(text).collect()
    }

    /// Sorts the distinct values, and encodes the value of each row as its index among the sorted values.
    pub(crate) fn finish(self) -> PageColumn {
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        order.sort_by(|a, b| compare(&self.cells[*a], &self.cells[*b]));
        let mut code_of = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(code, old)| code_of[*old] = code as u32);
        let width = match order.len() {
            0 | 1 => 0,
            2..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        let mut bytes = Vec::with_capacity(self.rows.len() * width);
        for row in &self.rows {
            bytes.extend_from_slice(&code_of[*row as usize].to_le_bytes()[..width]);
        }
        let is_number = |cell: &CellValue| matches!(cell, CellValue::Number(_) | CellValue::Null);
        PageColumn {
            name: clean(&self.name),
            number: self.cells.iter().all(is_number)
                && self.cells.iter().any(|c| *c != CellValue::Null),
            values: order.iter().map(|old| json(&self.cells[*old])).collect(),
            width,
            codes: STANDARD.encode(bytes),
        }
    }
}

fn number(value: f64) -> CellValue {
    // Adding 0.0 makes -0.0 and 0.0 the same value.
    if value.is_nan() { CellValue::Null } else { CellValue::Number((value + 0.0).to_bits()) }
}

fn compare(a: &CellValue, b: &CellValue) -> std::cmp::Ordering {
    match (a, b) {
        // The bits of negative numbers are not in the order of the numbers.
        (CellValue::Number(a), CellValue::Number(b)) => {
            f64::from_bits(*a).total_cmp(&f64::from_bits(*b))
        }
        _ => a.cmp(b),
    }
}

fn json(cell: &CellValue) -> serde_json::Value {
    match cell {
        CellValue::Null => serde_json::Value::Null,
        CellValue::Flag(flag) => (*flag).into(),
        CellValue::Number(bits) => crate::database::table::number_json(f64::from_bits(*bits)),
        CellValue::Text(text) => text.clone().into(),
    }
}

/// Encodes numbers in single precision as base64. This precision is sufficient for a chart.
pub(super) fn singles(values: impl Iterator<Item = f64>) -> String {
    let bytes: Vec<u8> = values.flat_map(|value| (value as f32).to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

/// Encodes row numbers as 32-bit integers in base64.
pub(super) fn numbers(rows: impl Iterator<Item = usize>) -> String {
    let bytes: Vec<u8> = rows.flat_map(|row| (row as u32).to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

/// Encodes bytes in base64.
pub(super) fn bytes(values: &[u8]) -> String {
    STANDARD.encode(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::expr::Vals;
    use crate::base::expr::WholeNumbers;

    #[test]
    fn a_column_of_the_page_has_sorted_values_and_one_code_per_row() {
        let mut column = CellColumn::new("m");
        let numbers = Vals::Rows(vec![8.0, 2.0, f64::NAN, 8.0].into());
        let numbers = PartValues::Formula(Value::Number(numbers));
        column.extend(&numbers, &[0, 1, 3]);
        column.extend(&numbers, &[2]);
        let column = column.finish();
        assert_eq!(column.values, [serde_json::Value::Null, 2.into(), 8.into()]);
        assert_eq!(STANDARD.decode(&column.codes).unwrap(), [2, 1, 2, 0]);
        assert!(column.number && column.width == 1);
    }

    #[test]
    fn a_constant_column_of_the_page_has_no_codes() {
        let mut column = CellColumn::new("dtype");
        let text = Value::Text(Vals::One(0), vec!["fp8\u{202e}".into()].into());
        column.extend(&PartValues::Formula(text), &[0, 1, 2]);
        let column = column.finish();
        assert_eq!((column.width, column.codes.as_str(), column.number), (0, "", false));
        assert_eq!(column.values, ["fp8\\u{202e}"], "a name does nothing to the text around it");
    }

    #[test]
    fn a_column_with_many_values_has_wider_codes() {
        let mut column = CellColumn::new("n");
        let rows: Vec<usize> = (0..300).collect();
        let values: Vec<i64> = (0..300).collect();
        column.extend(&PartValues::Whole(WholeNumbers::Values(&values)), &rows);
        let column = column.finish();
        let codes = STANDARD.decode(&column.codes).unwrap();
        assert_eq!((column.width, &codes[598..]), (2, &[43, 1][..]));
    }
}
