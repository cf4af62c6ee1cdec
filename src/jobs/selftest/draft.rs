//! Rows of a table that can be changed and written again.

use std::fmt::Write;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::expr::{NULL_CODE, Value};
use crate::database::table::{Column, Table, encode};

/// Columns of a table, to be changed. A column of a type that no table has is left out.
pub struct Draft {
    /// Number of rows.
    pub rows: usize,
    /// Columns in file order.
    pub columns: Vec<(String, Column)>,
}

impl Draft {
    /// Some rows of a table, in that order; a row may be there twice.
    pub fn of(table: &Table, rows: &[usize]) -> Self {
        let known = table.columns().filter(|(_, c)| !matches!(c, Column::Other(_)));
        let columns = known.map(|(name, column)| (name.to_owned(), column.take(rows)));
        Self { rows: rows.len(), columns: columns.collect() }
    }

    /// The column of that name.
    pub fn column(&mut self, name: &str) -> Option<&mut Column> {
        self.columns.iter_mut().find(|(n, _)| n == name).map(|(_, c)| c)
    }

    /// Sets cells of a column to one value per row; null without one.
    pub fn set(&mut self, name: &str, rows: &[usize], value: Option<&Value<'_>>) {
        let Some(column) = self.column(name) else { return };
        *column = match value {
            Some(Value::Text(codes, dict)) => {
                let mut texts = texts(column);
                for &row in rows {
                    texts[row] = dict.get(codes.get(row) as usize).map(ToString::to_string);
                }
                coded(texts)
            }
            Some(value) => numbers(column, rows, |row| match value {
                Value::Number(v) => v.get(row),
                Value::Bool(v) => f64::from(v.get(row)),
                Value::Text(..) => f64::NAN,
            }),
            None => nulled(column, rows),
        };
    }

    /// The bytes of a Parquet file.
    ///
    /// # Errors
    ///
    /// When they do not read back as they are.
    pub fn parquet(&self) -> Result<Vec<u8>> {
        encode(&self.columns)
    }

    /// Lines of comma-separated text, the header first, each with its end.
    pub fn lines(&self) -> Vec<String> {
        let join = |cells: Vec<String>| cells.join(",") + "\n";
        let header = self.columns.iter().map(|(n, _)| n.clone()).collect();
        let row = |row: usize| join(self.columns.iter().map(|(_, c)| cell(c, row)).collect());
        std::iter::once(join(header)).chain((0..self.rows).map(row)).collect()
    }
}

/// A column with numbers in some rows: whole ones where all are.
fn numbers(column: &Column, rows: &[usize], value: impl Fn(usize) -> f64) -> Column {
    let whole = rows.iter().all(|r| value(*r).fract() == 0.0);
    match column {
        Column::Int { values, nulls } if whole => {
            let mut values = values.to_vec();
            rows.iter().for_each(|r| values[*r] = value(*r) as i64);
            Column::Int { values: values.into(), nulls: nulls.clone() }
        }
        _ => {
            let all = column.len();
            let mut values: Vec<f64> = (0..all).map(|r| column.number(r)).collect();
            rows.iter().for_each(|r| values[*r] = value(*r));
            let null = |r: usize| column.is_null(r) && !rows.contains(&r);
            let nulls = column.has_nulls().then(|| (0..all).map(null).collect());
            Column::Float { values, nulls }
        }
    }
}

fn nulled(column: &Column, rows: &[usize]) -> Column {
    let mut nulls: Vec<bool> = (0..column.len()).map(|r| column.is_null(r)).collect();
    rows.iter().for_each(|r| nulls[*r] = true);
    match column {
        Column::Int { values, .. } => Column::Int { values: values.clone(), nulls: Some(nulls) },
        Column::Bool { values, .. } => Column::Bool { values: values.clone(), nulls: Some(nulls) },
        Column::Float { values, .. } => {
            Column::Float { values: values.clone(), nulls: Some(nulls) }
        }
        Column::Text { codes, dict, .. } => {
            let code = |(code, null): (&u32, &bool)| if *null { NULL_CODE } else { *code };
            let codes: Vec<u32> = codes.iter().zip(&nulls).map(code).collect();
            let nulls = codes.iter().filter(|c| **c == NULL_CODE).count();
            Column::Text { codes, dict: dict.clone(), nulls }
        }
        Column::Other(name) => Column::Other(name.clone()),
    }
}

/// The cells as text, absent where null.
pub fn texts(column: &Column) -> Vec<Option<String>> {
    let text = |row: usize| (!column.is_null(row)).then(|| cell(column, row));
    (0..column.len()).map(text).collect()
}

/// A text column.
pub fn coded(texts: Vec<Option<String>>) -> Column {
    let mut dict: Vec<Arc<str>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let nulls = texts.iter().filter(|t| t.is_none()).count();
    let codes = texts
        .into_iter()
        .map(|text| match text {
            None => NULL_CODE,
            Some(text) => *known.entry(text).or_insert_with_key(|text| {
                dict.push(text.as_str().into());
                dict.len() as u32 - 1
            }),
        })
        .collect();
    Column::Text { codes, dict, nulls }
}

/// A cell as a collector writes it.
fn cell(column: &Column, row: usize) -> String {
    let mut out = String::new();
    let done = match column {
        _ if column.is_null(row) => Ok(()),
        Column::Int { values, .. } => write!(out, "{}", values[row]),
        Column::Float { values, .. } => write!(out, "{}", values[row]),
        Column::Bool { values, .. } => write!(out, "{}", values[row]),
        Column::Text { codes, dict, .. } => write!(out, "{}", dict[codes[row] as usize]),
        Column::Other(_) => Ok(()),
    };
    debug_assert!(done.is_ok());
    out
}
