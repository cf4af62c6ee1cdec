//! Rows as formulas see them: a document is one row, a metric file has many.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::spec::{Derived, Threshold};
use crate::base::expr::{ExprError, Lookup, NULL_CODE, Scope, Vals, Value};
use crate::specs::system::System;

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum TraceCell {
    #[default]
    Null,
    /// Flags are 1 and 0.
    Number(f64),
    Text(Arc<str>),
}

impl TraceCell {
    /// As JSON; what JSON lacks by its name.
    pub fn json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Number(n) if n.fract() == 0.0 && n.abs() < 1e15 => (*n as i64).into(),
            Self::Number(n) if n.is_finite() => (*n).into(),
            Self::Number(n) => n.to_string().into(),
            Self::Text(t) => super::tree::brief(t).into(),
        }
    }

    /// The number that it is.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// The text that it is.
    pub fn text(&self) -> Option<&str> {
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
            Self::Text(t) => f.write_str(&super::tree::brief(t)),
        }
    }
}

/// Rows of named cells.
#[derive(Debug, Default, Clone)]
pub struct Frame<'a> {
    pub rows: usize,
    columns: BTreeMap<String, Vec<TraceCell>>,
    /// Columns that are text whatever their cells look like.
    texts: BTreeSet<String>,
    /// By how much values of a column may be rounded; exact without it.
    half_units: BTreeMap<String, Vec<f64>>,
    /// The machine of each row, where it is known.
    pub systems: Vec<Option<&'a System>>,
    /// Rows whose machine nothing states: it is the one that such files are mostly of.
    pub assumed: BTreeSet<usize>,
}

impl<'a> Frame<'a> {
    /// No columns yet, and no machine known.
    pub fn new(rows: usize) -> Self {
        Self { rows, systems: vec![None; rows], ..Self::default() }
    }

    /// Adds a column, or replaces it.
    pub fn set(&mut self, name: &str, cells: Vec<TraceCell>, is_text: bool) {
        debug_assert_eq!(cells.len(), self.rows);
        if is_text {
            self.texts.insert(name.to_owned());
        }
        self.columns.insert(name.to_owned(), cells);
    }

    /// Says by how much the values of a column may be rounded.
    pub fn set_half_units(&mut self, name: &str, half_units: Vec<f64>) {
        debug_assert_eq!(half_units.len(), self.rows);
        self.half_units.insert(name.to_owned(), half_units);
    }

    /// Columns whose values may be rounded.
    pub fn rounded(&self) -> impl Iterator<Item = &str> {
        self.half_units.keys().map(String::as_str)
    }

    /// The cells of some rows, for formulas.
    pub fn take(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter();
        let columns =
            columns.map(|(n, c)| (n.clone(), rows.iter().map(|r| c[*r].clone()).collect()));
        let half = self.half_units.iter();
        let half = half.map(|(n, h)| (n.clone(), rows.iter().map(|r| h[*r]).collect()));
        Self {
            columns: columns.collect(),
            half_units: half.collect(),
            texts: self.texts.clone(),
            ..Self::new(rows.len())
        }
    }

    /// The same with a column's values as many half units off.
    pub fn off_by(&self, name: &str, half_units: f64) -> Self {
        let mut frame = self.clone();
        if let (Some(cells), Some(half)) = (frame.columns.get_mut(name), self.half_units.get(name))
        {
            for (cell, half) in cells.iter_mut().zip(half) {
                if let TraceCell::Number(n) = cell {
                    *n += half_units * half;
                }
            }
        }
        frame
    }

    /// The value of a column in a row; null where there is no such column.
    pub fn cell(&self, name: &str, row: usize) -> &TraceCell {
        self.columns.get(name).and_then(|c| c.get(row)).unwrap_or(&TraceCell::Null)
    }

    /// Whether there is such a column.
    pub fn has(&self, name: &str) -> bool {
        self.columns.contains_key(name)
    }

    /// Works out further columns, each from those before.
    pub fn derive(
        &mut self,
        derived: &[Derived],
        thresholds: &BTreeMap<String, Threshold>,
    ) -> Result<(), ExprError> {
        for column in derived {
            let cells = {
                let view = FrameView { frame: self, system: None, thresholds };
                let values = column.is.numbers(&view)?;
                let cell = |n: f64| if n.is_nan() { TraceCell::Null } else { TraceCell::Number(n) };
                (0..self.rows).map(|row| cell(values.get(row))).collect()
            };
            self.set(&column.name, cells, false);
        }
        Ok(())
    }
}

/// A frame as one machine's rows see it.
pub struct FrameView<'a> {
    pub frame: &'a Frame<'a>,
    pub system: Option<&'a System>,
    pub thresholds: &'a BTreeMap<String, Threshold>,
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

    fn field(&self, path: &str) -> Option<f64> {
        match path.strip_prefix("threshold.") {
            Some(name) => self.thresholds.get(name).map(|t| t.value),
            None => self.system?.figure(path),
        }
    }

    fn lookup(&self, _: &Lookup, _: &str) -> Option<f64> {
        None
    }
}
