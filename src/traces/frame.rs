//! Rows that formulas read: a document is one row, a metric file has many.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::spec::{DerivedColumn, Thresholds};
use super::tree::brief;
use crate::base::expr::{ExprError, NULL_CODE, Scope, Vals, Value};
use crate::specs::system::System;

/// The value of one column in one row.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum TraceCell {
    #[default]
    Null,
    /// A number. True is 1 and false is 0.
    Number(f64),
    Text(Arc<str>),
}

impl TraceCell {
    /// Returns the cell as JSON. NaN and infinities, which JSON does not support, become text.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Number(n) if n.fract() == 0.0 && n.abs() < 1e15 => (*n as i64).into(),
            Self::Number(n) if n.is_finite() => (*n).into(),
            Self::Number(n) => n.to_string().into(),
            Self::Text(t) => brief(t).into(),
        }
    }

    /// Returns the cell's number; `None` for texts and null.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// Returns the cell's text; `None` for numbers and null.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(t) => Some(t),
            _ => None,
        }
    }
}

impl std::fmt::Display for TraceCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Null => f.write_str("nothing"),
            Self::Number(n) => write!(f, "{}", (n * 1e6).round() / 1e6),
            Self::Text(t) => f.write_str(&brief(t)),
        }
    }
}

/// Rows of named columns, which formulas read. A card or config becomes one row; a metric file becomes many.
#[derive(Debug, Default, Clone)]
pub struct Frame<'a> {
    pub rows: usize,
    columns: BTreeMap<String, Vec<TraceCell>>,
    /// Names of columns whose cells are text even if they look like numbers.
    texts: BTreeSet<String>,
    /// The rounding error of each value, by column: half a unit of the value's last digit. Columns that are not in this
    /// map are exact.
    half_units: BTreeMap<String, Vec<f64>>,
    /// The system on which each row was measured; `None` if unknown.
    pub systems: Vec<Option<&'a System>>,
    /// The indexes of rows without a stated accelerator. The default accelerator of the spec is assumed for these rows.
    pub assumed: BTreeSet<usize>,
}

impl<'a> Frame<'a> {
    /// Creates a frame without columns, with unknown systems.
    pub(crate) fn new(rows: usize) -> Self {
        Self { rows, systems: vec![None; rows], ..Self::default() }
    }

    /// Adds a column, or replaces the column of this name. If `is_text` is true, formulas read the cells as text even
    /// if the cells look like numbers.
    pub(crate) fn set(&mut self, name: &str, cells: Vec<TraceCell>, is_text: bool) {
        debug_assert_eq!(cells.len(), self.rows);
        if is_text {
            self.texts.insert(name.to_owned());
        }
        self.columns.insert(name.to_owned(), cells);
    }

    /// Sets the rounding errors of a column's values: half a unit of each value's last digit.
    pub(crate) fn set_half_units(&mut self, name: &str, half_units: Vec<f64>) {
        debug_assert_eq!(half_units.len(), self.rows);
        self.half_units.insert(name.to_owned(), half_units);
    }

    /// Returns the rounding errors of each column's values, by column: half a unit of each value's last digit.
    pub(crate) fn half_units(&self) -> BTreeMap<&str, Cow<'_, [f64]>> {
        let columns = self.half_units.iter();
        columns.map(|(name, half)| (name.as_str(), Cow::Borrowed(&half[..]))).collect()
    }

    /// Returns the value of a column in a row; null if the frame has no such column.
    pub(crate) fn cell(&self, name: &str, row: usize) -> &TraceCell {
        self.columns.get(name).and_then(|c| c.get(row)).unwrap_or(&TraceCell::Null)
    }

    /// Returns true if the frame has the column.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.contains_key(name)
    }

    /// Computes the derived columns in the given order. A formula can read columns that were derived before.
    pub(crate) fn derive(
        &mut self,
        derived: &[DerivedColumn],
        thresholds: &Thresholds,
    ) -> Result<(), ExprError> {
        for column in derived {
            let cells = {
                let view = FrameView { frame: self, thresholds };
                let values = column.is.numbers(&view)?;
                let cell = |n: f64| if n.is_nan() { TraceCell::Null } else { TraceCell::Number(n) };
                (0..self.rows).map(|row| cell(values.get(row))).collect()
            };
            self.set(&column.name, cells, false);
        }
        Ok(())
    }
}

/// The values that formulas read: the columns of a frame, the properties of each row's system (such as `gpu.mem_bw`),
/// and the thresholds.
pub(crate) struct FrameView<'a> {
    pub frame: &'a Frame<'a>,
    pub thresholds: &'a Thresholds,
}

impl Scope for FrameView<'_> {
    fn rows(&self) -> usize {
        self.frame.rows
    }

    fn column(&self, name: &str) -> Option<Value<'_>> {
        let cells = self.frame.columns.get(name)?;
        let is_text = self.frame.texts.contains(name);
        if is_text {
            let mut dict: Vec<Arc<str>> = Vec::new();
            let mut codes = BTreeMap::new();
            let coded = cells.iter().map(|cell| match cell {
                TraceCell::Text(t) => *codes.entry(t.clone()).or_insert_with(|| {
                    dict.push(t.clone());
                    dict.len() as u32 - 1
                }),
                _ => NULL_CODE,
            });
            let coded = coded.collect();
            return Some(Value::Text(Vals::Rows(coded), Cow::Owned(dict)));
        }
        let number = |cell: &TraceCell| cell.number().unwrap_or(f64::NAN);
        Some(Value::Number(Vals::Rows(cells.iter().map(number).collect())))
    }

    fn fields(&self, path: &str) -> Vals<'_, f64> {
        if let Some(name) = path.strip_prefix("threshold.") {
            return Vals::One(self.thresholds.get(name).map_or(f64::NAN, |t| t.value));
        }
        let figure = |system: &Option<&System>| system.and_then(|system| system.figure(path));
        let figures = self.frame.systems.iter().map(|system| figure(system).unwrap_or(f64::NAN));
        Vals::Rows(figures.collect())
    }
}
