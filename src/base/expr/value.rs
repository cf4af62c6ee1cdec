//! What a formula comes to: a column, or one value that stands for it.

use std::borrow::Cow;
use std::sync::Arc;

/// The value of a (sub-)expression: one for all rows, or one a row.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// Numbers, NaN where null.
    Number(Vals<'a, f64>),
    /// Truth values.
    Bool(Vals<'a, bool>),
    /// Text: codes into a dictionary, [`NULL_CODE`] where null.
    Text(Vals<'a, u32>, Cow<'a, [Arc<str>]>),
}

/// The dictionary code of a null text.
pub const NULL_CODE: u32 = u32::MAX;

/// Whole numbers, none of them null.
#[derive(Debug, Clone, Copy)]
pub enum WholeNumbers<'a> {
    /// One a row.
    Values(&'a [i64]),
    /// By code: the place of each row's number among the distinct ones.
    Codes {
        /// One a row.
        codes: &'a [u32],
        /// The distinct numbers, in any order. Some may be of no row.
        numbers: &'a [i64],
    },
}

impl WholeNumbers<'_> {
    /// The number of a row.
    #[inline]
    pub fn get(self, row: usize) -> i64 {
        match self {
            Self::Values(values) => values[row],
            Self::Codes { codes, numbers } => numbers[codes[row] as usize],
        }
    }
}

/// One value for all rows, or one a row.
#[derive(Debug, Clone)]
pub enum Vals<'a, T: Copy> {
    /// The same value in every row.
    One(T),
    /// One value per row.
    Rows(Cow<'a, [T]>),
}

impl<T: Copy> Vals<'_, T> {
    /// The value in row `i`.
    #[inline]
    pub fn get(&self, i: usize) -> T {
        match self {
            Self::One(v) => *v,
            Self::Rows(v) => v[i],
        }
    }

    /// `f` of each value.
    pub(super) fn map<U: Copy>(&self, f: impl Fn(T) -> U) -> Vals<'static, U> {
        match self {
            Self::One(v) => Vals::One(f(*v)),
            Self::Rows(v) => Vals::Rows(v.iter().map(|&v| f(v)).collect()),
        }
    }

    /// `f` of each value and the other of its row.
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
