//! Values of formulas: a column, or one value for all rows, and the scope in which names refer to them.

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::words::Figure;

/// The value of an expression: one for all rows, or one per row.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// Numbers, NaN where null.
    Number(Vals<'a, f64>),
    /// Truth values.
    Bool(Vals<'a, bool>),
    /// Texts: an index into the dictionary of texts, or [`NULL_CODE`] for null.
    Text(Vals<'a, u32>, Cow<'a, [Arc<str>]>),
}

impl Value<'_> {
    /// Creates a value that is the same text in all rows.
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(Vals::One(0), Cow::Owned(vec![text.into()]))
    }

    /// Converts a JSON text, number or flag to a value that is the same in all rows. Any other JSON becomes null.
    pub(crate) fn of_json(value: &serde_json::Value) -> Self {
        match (value, value.as_bool()) {
            (serde_json::Value::String(text), _) => Self::text(text),
            (_, Some(flag)) => Self::Bool(Vals::One(flag)),
            _ => Self::Number(Vals::One(value.as_f64().unwrap_or(f64::NAN))),
        }
    }

    /// Returns for each row whether the value is null.
    pub(super) fn nulls(&self) -> Vals<'static, bool> {
        match self {
            Self::Number(numbers) => numbers.map(f64::is_nan),
            Self::Text(codes, _) => codes.map(|code| code == NULL_CODE),
            Self::Bool(flags) => flags.map(|_| false),
        }
    }

    /// Formats the value of a row as text; `None` for null.
    pub(crate) fn shown(&self, row: usize) -> Option<String> {
        match self {
            Self::Number(numbers) if numbers.get(row).is_nan() => None,
            Self::Number(numbers) => Some(Figure(numbers.get(row)).to_string()),
            Self::Text(codes, texts) => texts.get(codes.get(row) as usize).map(ToString::to_string),
            Self::Bool(flags) => Some(flags.get(row).to_string()),
        }
    }
}

/// The dictionary code of a null text.
pub const NULL_CODE: u32 = u32::MAX;

/// A column of whole numbers without nulls.
#[derive(Debug, Clone, Copy)]
pub enum WholeNumbers<'a> {
    /// One number per row.
    Values(&'a [i64]),
    /// One code per row: an index into the distinct numbers.
    Codes {
        /// One code per row.
        codes: &'a [u32],
        /// The distinct numbers, in any order. Some may belong to no row.
        numbers: &'a [i64],
    },
}

impl WholeNumbers<'_> {
    /// Returns the number of a row.
    #[inline]
    pub(crate) fn get(self, row: usize) -> i64 {
        match self {
            Self::Values(values) => values[row],
            Self::Codes { codes, numbers } => numbers[codes[row] as usize],
        }
    }
}

/// One value for all rows, or one per row.
#[derive(Debug, Clone)]
pub enum Vals<'a, T: Copy> {
    /// The same value in every row.
    One(T),
    /// One value per row.
    Rows(Cow<'a, [T]>),
}

impl<T: Copy> Vals<'_, T> {
    /// Returns the value in row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> T {
        match self {
            Self::One(v) => *v,
            Self::Rows(v) => v[i],
        }
    }

    /// Applies `f` to each value.
    pub(super) fn map<U: Copy>(&self, f: impl Fn(T) -> U) -> Vals<'static, U> {
        match self {
            Self::One(v) => Vals::One(f(*v)),
            Self::Rows(v) => Vals::Rows(v.iter().map(|&v| f(v)).collect()),
        }
    }

    /// Applies `f` to the two values of each row.
    pub(super) fn zip<U: Copy, V: Copy>(
        &self,
        other: &Vals<'_, U>,
        rows: usize,
        f: impl Fn(T, U) -> V,
    ) -> Vals<'static, V> {
        match (self, other) {
            (Self::One(a), Vals::One(b)) => Vals::One(f(*a, *b)),
            (Self::Rows(a), Vals::One(b)) => Vals::Rows(a.iter().map(|&a| f(a, *b)).collect()),
            (Self::One(a), Vals::Rows(b)) => Vals::Rows(b.iter().map(|&b| f(*a, b)).collect()),
            (Self::Rows(a), Vals::Rows(b)) => {
                debug_assert!(a.len() == rows && b.len() == rows);
                Vals::Rows(a.iter().zip(&b[..]).map(|(&a, &b)| f(a, b)).collect())
            }
        }
    }
}

/// Provides the values of the names in a formula: columns, fields and lookups.
pub trait Scope {
    /// Returns the number of rows in every column.
    fn rows(&self) -> usize {
        1
    }
    /// Returns the column of that name, or `None` if the table lacks it.
    fn column(&self, _name: &str) -> Option<Value<'_>> {
        None
    }
    /// Returns the column of that name as whole numbers; `None` if the table lacks the column, or if a value is null or
    /// not a whole number.
    fn whole(&self, _name: &str) -> Option<WholeNumbers<'_>> {
        None
    }
    /// Returns the value of a dotted name such as `gpu.mem_bw`, or `None` if the system lacks it.
    fn field(&self, _path: &str) -> Option<f64> {
        None
    }
    /// Returns the value of a dotted name in each row, NaN where the row's system lacks it.
    fn fields(&self, path: &str) -> Vals<'_, f64> {
        Vals::One(self.field(path).unwrap_or(f64::NAN))
    }
    /// Returns the number that `function` assigns to a text of a column, or `None` if `function` does not know the
    /// text.
    fn lookup(&self, _function: &Lookup, _text: &str) -> Option<f64> {
        None
    }
}

/// A function that maps a text of a column to a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// `bytes(dtype)`: bytes per element.
    Bytes,
    /// `flops(dtype)`: the system's peak FLOP/s for the dtype.
    Flops,
    /// `pinned('native_heads', model)`: the number that the list `native_heads` assigns to the model's name. Such lists
    /// are in `rules/facts.yaml`, copied from the loader's source code.
    Pin(Arc<str>),
}
