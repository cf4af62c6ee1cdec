//! Decoded columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::ints::are_equal;
use super::{IntValues, number_bits, number_json, text_json};
use crate::base::expr::{NULL_CODE, Vals, Value};
use crate::specs::ColumnKind;

/// A decoded column. `nulls` marks the null rows and is `None` if there are none. In a text column, `nulls` is the
/// number of null rows.
#[derive(Debug)]
pub enum Column {
    /// A column of integers; null rows contain 0.
    Int { values: IntValues, nulls: Option<Vec<bool>> },
    /// A column of floating-point numbers; null rows contain NaN.
    Float { values: Vec<f64>, nulls: Option<Vec<bool>> },
    /// A column of flags; null rows contain false.
    Bool { values: Vec<bool>, nulls: Option<Vec<bool>> },
    /// A column of texts, as codes into the distinct texts; null rows contain [`NULL_CODE`].
    Text { codes: Vec<u32>, dict: Vec<Arc<str>>, nulls: usize },
    /// A column of an unsupported type, given by the type's name.
    Other(String),
}

impl Column {
    /// Creates a text column that stores each distinct text once; `None` is null.
    pub fn texts<T: AsRef<str>>(cells: impl IntoIterator<Item = Option<T>>) -> Self {
        let mut dict: Vec<Arc<str>> = Vec::new();
        let mut known: HashMap<Arc<str>, u32> = HashMap::new();
        let mut code = |text: &str| match known.get(text) {
            Some(code) => *code,
            None => {
                let (text, code): (Arc<str>, _) = (text.into(), dict.len() as u32);
                dict.push(text.clone());
                known.insert(text, code);
                code
            }
        };
        let cells = cells.into_iter();
        let codes: Vec<u32> =
            cells.map(|cell| cell.map_or(NULL_CODE, |text| code(text.as_ref()))).collect();
        let nulls = codes.iter().filter(|c| **c == NULL_CODE).count();
        Self::Text { codes, dict, nulls }
    }

    /// Returns the number of rows; 0 for an unsupported type.
    pub fn len(&self) -> usize {
        match self {
            Self::Int { values, .. } => values.count(),
            Self::Float { values, .. } => values.len(),
            Self::Bool { values, .. } => values.len(),
            Self::Text { codes, .. } => codes.len(),
            Self::Other(_) => 0,
        }
    }

    /// Returns true if the column has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the text of a row; `None` if the row is null or the column contains no texts.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text { codes, dict, .. } => dict.get(codes[row] as usize).map(AsRef::as_ref),
            _ => None,
        }
    }

    /// Returns the column's type as table specs name it; `None` for an unsupported type.
    pub(crate) fn kind(&self) -> Option<ColumnKind> {
        match self {
            Self::Int { .. } => Some(ColumnKind::Int),
            Self::Float { .. } => Some(ColumnKind::Number),
            Self::Bool { .. } => Some(ColumnKind::Bool),
            Self::Text { .. } => Some(ColumnKind::Text),
            Self::Other(_) => None,
        }
    }

    /// Returns the name of the column's type for messages.
    pub(crate) fn kind_name(&self) -> &str {
        match self {
            Self::Int { .. } => "int",
            Self::Float { .. } => "number",
            Self::Bool { .. } => "bool",
            Self::Text { .. } => "text",
            Self::Other(name) => name,
        }
    }

    /// Returns true if a row is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Int { nulls, .. } | Self::Float { nulls, .. } | Self::Bool { nulls, .. } => {
                nulls.as_ref().is_some_and(|n| n[row])
            }
            Self::Text { codes, .. } => codes[row] == NULL_CODE,
            Self::Other(_) => true,
        }
    }

    /// Returns true if two rows have the same value or are both null.
    #[inline]
    pub fn equal(&self, a: usize, b: usize) -> bool {
        if self.is_null(a) || self.is_null(b) {
            return self.is_null(a) && self.is_null(b);
        }
        match self {
            Self::Int { values, .. } => values.get(a) == values.get(b),
            Self::Float { values, .. } => number_bits(values[a]) == number_bits(values[b]),
            Self::Bool { values, .. } => values[a] == values[b],
            Self::Text { codes, dict, .. } => {
                codes[a] == codes[b] || dict[codes[a] as usize] == dict[codes[b] as usize]
            }
            Self::Other(_) => true,
        }
    }

    /// Returns true if any row is null.
    pub fn has_nulls(&self) -> bool {
        match self {
            Self::Int { nulls, .. } | Self::Float { nulls, .. } | Self::Bool { nulls, .. } => {
                nulls.is_some()
            }
            Self::Text { nulls, .. } => *nulls > 0,
            Self::Other(_) => true,
        }
    }

    /// Returns the cell of a row as a number; NaN if the cell is null or not a number.
    #[inline]
    pub fn number(&self, row: usize) -> f64 {
        match self {
            _ if self.is_null(row) => f64::NAN,
            Self::Int { values, .. } => values.get(row) as f64,
            Self::Float { values, .. } => values[row],
            Self::Bool { values, .. } => f64::from(values[row]),
            Self::Text { .. } | Self::Other(_) => f64::NAN,
        }
    }

    /// Returns the cells of the first `rows` rows as numbers; NaN where a cell is null or not a number.
    pub(crate) fn numbers(&self, rows: usize) -> Cow<'_, [f64]> {
        match self {
            Self::Float { values, nulls: None } => Cow::Borrowed(values),
            Self::Int { values, nulls: None } => Cow::Owned(values.map(|value| value as f64)),
            _ => (0..rows).map(|row| self.number(row)).collect(),
        }
    }

    /// Returns the cell of a row as JSON. NaN and infinities become texts.
    pub fn json(&self, row: usize) -> serde_json::Value {
        match self {
            _ if self.is_null(row) => serde_json::Value::Null,
            Self::Int { values, .. } => values.get(row).into(),
            Self::Float { values, .. } => number_json(values[row]),
            Self::Bool { values, .. } => values[row].into(),
            Self::Text { codes, dict, .. } => text_json(&dict[codes[row] as usize]),
            Self::Other(name) => name.as_str().into(),
        }
    }

    /// Returns the cells of a range of rows as a value for formulas.
    pub(super) fn value(&self, range: Range<usize>) -> Value<'_> {
        match self {
            // A column with the same integer in all rows becomes one value, like a column with one text
            // below.
            Self::Int { values, nulls: None } if are_equal(values.whole(range.clone())) => {
                Value::Number(Vals::One(values.get(range.start) as f64))
            }
            Self::Int { values, nulls: None } => {
                Value::Number(Vals::Rows(Cow::Borrowed(&values.floats()[range])))
            }
            Self::Int { values, nulls: Some(nulls) } => {
                let numbers = values.floats()[range.clone()].iter().zip(&nulls[range]);
                let numbers = numbers.map(|(n, null)| if *null { f64::NAN } else { *n });
                Value::Number(Vals::Rows(numbers.collect()))
            }
            Self::Float { values, .. } => Value::Number(Vals::Rows(Cow::Borrowed(&values[range]))),
            Self::Bool { values, .. } => Value::Bool(Vals::Rows(Cow::Borrowed(&values[range]))),
            // A column with the same text in all rows becomes one value, so that formulas are computed once.
            Self::Text { dict, nulls: 0, .. } if dict.len() == 1 => {
                Value::Text(Vals::One(0), Cow::Borrowed(dict))
            }
            // Formulas process each text once. If the dictionary is much larger than the range, it is reduced
            // to the texts of these rows.
            Self::Text { codes, dict, .. } if dict.len() > range.len() => {
                let (codes, names) = own_names(&codes[range], dict);
                Value::Text(Vals::Rows(Cow::Owned(codes)), Cow::Owned(names))
            }
            Self::Text { codes, dict, .. } => {
                Value::Text(Vals::Rows(Cow::Borrowed(&codes[range])), Cow::Borrowed(dict))
            }
            Self::Other(_) => Value::Number(Vals::One(f64::NAN)),
        }
    }
}

/// Removes the texts that no row uses from a dictionary. Returns the new code of each row and the new dictionary.
pub fn own_names(codes: &[u32], dict: &[Arc<str>]) -> (Vec<u32>, Vec<Arc<str>>) {
    let mut used: Vec<u32> = codes.iter().copied().filter(|code| *code != NULL_CODE).collect();
    used.sort_unstable();
    used.dedup();
    let own = |code: &u32| used.binary_search(code).map_or(NULL_CODE, |at| at as u32);
    let names = used.iter().map(|code| dict[*code as usize].clone()).collect();
    (codes.iter().map(own).collect(), names)
}
