//! Bytes of a table → typed columns, and the loader's key of every row.

mod build;
mod coded;
mod combinations;
mod csv;
mod example;
mod fault;
mod ints;
mod key;
mod known;
mod lanes;
mod numbering;
mod parquet;
mod scope;
pub(crate) mod spreadsheet;
mod stored;
mod take;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use coded::CodedColumn;
pub(crate) use combinations::{Combinations, NumberedRows};
pub use csv::each_row;
pub use example::{EXAMPLES, Example};
pub use fault::{TableFault, Torn};
pub use ints::IntValues;
pub use key::{Keys, PartNumbers, PartValues};
pub(crate) use key::{mix, number_bits, part_hash, text_hash};
pub(crate) use lanes::lane_ranks;
pub(crate) use numbering::Numbering;
pub use scope::TableScope;
pub use stored::StoredAs;
pub use take::keep_lines;
pub use write::{encode, write};

use self::ints::are_equal;
use crate::base::expr::{NULL_CODE, Vals, Value};
use crate::database::catalog::Format;
use crate::database::source::pointer;
use crate::specs::ColumnKind;

/// A decoded table.
#[derive(Debug)]
pub struct Table {
    /// Number of rows, at least 1.
    pub rows: usize,
    /// Rows of a text table that are damaged and not among these.
    pub torn: Torn,
    /// How its file stores it; `None` for text and for tables that are not from a file.
    pub stored: Option<StoredAs>,
    columns: Vec<(String, Column)>,
}

/// Which columns of a table are decoded.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// All of them.
    All,
    /// Those of these names.
    Named(&'a BTreeSet<&'a str>),
}

impl Wanted<'_> {
    /// Whether a column is.
    fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}

/// A decoded column. `nulls` is absent where no row is null.
#[derive(Debug)]
pub enum Column {
    /// Whole numbers; a null row holds 0.
    Int { values: IntValues, nulls: Option<Vec<bool>> },
    /// Numbers; a null row holds NaN.
    Float { values: Vec<f64>, nulls: Option<Vec<bool>> },
    /// Flags; a null row holds false.
    Bool { values: Vec<bool>, nulls: Option<Vec<bool>> },
    /// Names, as codes into the distinct ones; a null row holds [`NULL_CODE`].
    Text { codes: Vec<u32>, dict: Vec<Arc<str>>, nulls: usize },
    /// A type that no table has, by its name.
    Other(String),
}

impl Table {
    /// Decodes a table.
    ///
    /// `is_text` names the columns of a CSV table that stay text even where every cell looks like
    /// a number, a version for example.
    ///
    /// # Errors
    ///
    /// A [`TableFault`]; never a panic, whatever the bytes.
    pub fn decode(
        bytes: &[u8],
        format: Format,
        is_text: &dyn Fn(&str) -> bool,
    ) -> Result<Self, TableFault> {
        Self::decode_of(bytes, format, is_text, Wanted::All)
    }

    /// As [`decode`](Self::decode), of a Parquet file without columns that are not `wanted`.
    fn decode_of(
        bytes: &[u8],
        format: Format,
        is_text: &dyn Fn(&str) -> bool,
        wanted: Wanted<'_>,
    ) -> Result<Self, TableFault> {
        if let Some(pointer) = pointer(bytes) {
            return Err(TableFault::LfsPointer(pointer));
        }
        if bytes.is_empty() {
            return Err(TableFault::Unreadable("the file is empty, 0 bytes".into()));
        }
        let table = match format {
            Format::Parquet => parquet::decode(bytes, wanted)?,
            Format::Csv => csv::decode(bytes, is_text)?,
        };
        match table {
            Self { rows: 0, torn, .. } if torn.rows > 0 => Err(TableFault::Torn(torn)),
            Self { rows: 0, .. } => Err(TableFault::Empty),
            table => Ok(table),
        }
    }

    /// A table of these columns, each `rows` long.
    pub fn of(rows: usize, columns: Vec<(String, Column)>) -> Self {
        Self { rows, torn: Torn::default(), stored: None, columns }
    }

    /// Columns in file order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(n, c)| (n.as_str(), c))
    }

    /// Its columns, in file order.
    pub fn into_columns(self) -> Vec<(String, Column)> {
        self.columns
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c)
    }
}

impl Column {
    /// A column of names, each distinct one kept once; `None` is null.
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

    /// Number of rows; 0 where the type is one that is not decoded.
    pub fn len(&self) -> usize {
        match self {
            Self::Int { values, .. } => values.count(),
            Self::Float { values, .. } => values.len(),
            Self::Bool { values, .. } => values.len(),
            Self::Text { codes, .. } => codes.len(),
            Self::Other(_) => 0,
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row's name; none where it is null or no name.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text { codes, dict, .. } => dict.get(codes[row] as usize).map(AsRef::as_ref),
            _ => None,
        }
    }

    /// What it holds, as specs name it.
    pub fn kind(&self) -> Option<ColumnKind> {
        match self {
            Self::Int { .. } => Some(ColumnKind::Int),
            Self::Float { .. } => Some(ColumnKind::Number),
            Self::Bool { .. } => Some(ColumnKind::Bool),
            Self::Text { .. } => Some(ColumnKind::Text),
            Self::Other(_) => None,
        }
    }

    /// What it holds, for people.
    pub fn kind_name(&self) -> &str {
        match self {
            Self::Int { .. } => "int",
            Self::Float { .. } => "number",
            Self::Bool { .. } => "bool",
            Self::Text { .. } => "text",
            Self::Other(name) => name,
        }
    }

    /// Whether the row is null.
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

    /// Whether two rows hold the same, null or not.
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

    /// Whether any row is null.
    pub fn has_nulls(&self) -> bool {
        match self {
            Self::Int { nulls, .. } | Self::Float { nulls, .. } | Self::Bool { nulls, .. } => {
                nulls.is_some()
            }
            Self::Text { nulls, .. } => *nulls > 0,
            Self::Other(_) => true,
        }
    }

    /// The row as a number, NaN where it is null or no number.
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

    /// A table's `rows` as numbers, NaN where they are null or no numbers.
    pub fn numbers(&self, rows: usize) -> Cow<'_, [f64]> {
        match self {
            Self::Float { values, nulls: None } => Cow::Borrowed(values),
            Self::Int { values, nulls: None } => Cow::Owned(values.map(|value| value as f64)),
            _ => (0..rows).map(|row| self.number(row)).collect(),
        }
    }

    /// The row as JSON; a number that JSON lacks becomes its name.
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

    /// Every `step`-th of a range of rows, as formulas see them.
    fn value(&self, range: Range<usize>, step: usize) -> Value<'_> {
        match self {
            Self::Text { codes, dict, .. } if step > 1 => {
                let codes: Vec<u32> = codes[range].iter().step_by(step).copied().collect();
                let (codes, names) = own_names(&codes, dict);
                Value::Text(Vals::Rows(Cow::Owned(codes)), Cow::Owned(names))
            }
            Self::Bool { values, .. } if step > 1 => {
                let flags = values[range].iter().step_by(step).copied().collect();
                Value::Bool(Vals::Rows(Cow::Owned(flags)))
            }
            Self::Int { .. } | Self::Float { .. } if step > 1 => {
                let numbers = range.step_by(step).map(|row| self.number(row)).collect();
                Value::Number(Vals::Rows(Cow::Owned(numbers)))
            }
            // One value in all rows, as one name below.
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
            // One name in all rows is one value: what depends on it is computed once.
            Self::Text { dict, nulls: 0, .. } if dict.len() == 1 => {
                Value::Text(Vals::One(0), Cow::Borrowed(dict))
            }
            // Formulas look at each name once: at those that these rows have, where there are many more.
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

/// Whether there are values, and all are equal.
pub(crate) fn all_equal<T: PartialEq>(values: &[T]) -> bool {
    /// Values that are compared without a branch for each.
    const BLOCK: usize = 256;
    let Some((first, others)) = values.split_first() else { return false };
    let are_first = |block: &[T]| block.iter().fold(true, |are, value| are & (value == first));
    others.chunks(BLOCK).all(are_first)
}

/// Codes into the names that they stand for alone, and these names.
pub(crate) fn own_names(codes: &[u32], dict: &[Arc<str>]) -> (Vec<u32>, Vec<Arc<str>>) {
    let mut used: Vec<u32> = codes.iter().copied().filter(|code| *code != NULL_CODE).collect();
    used.sort_unstable();
    used.dedup();
    let own = |code: &u32| used.binary_search(code).map_or(NULL_CODE, |at| at as u32);
    let names = used.iter().map(|code| dict[*code as usize].clone()).collect();
    (codes.iter().map(own).collect(), names)
}

/// A text as JSON, cut where it is not a name any more: a cell may hold megabytes.
pub fn text_json(text: &str) -> serde_json::Value {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()).into(),
    }
}

/// A number as JSON: whole ones without a point, NaN and infinities by name.
pub fn number_json(value: f64) -> serde_json::Value {
    if !value.is_finite() {
        value.to_string().into()
    } else if value.fract() == 0.0 && value.abs() < 9e15 {
        (value as i64).into()
    } else {
        value.into()
    }
}
