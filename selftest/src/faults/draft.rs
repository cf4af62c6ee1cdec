//! A copy of a table's rows that can be changed and written again.

use perfdb_gate::base::error::Result;
use perfdb_gate::base::expr::Value;
use perfdb_gate::database::table::{Column, Table, encode};

/// Columns of a table to be changed. Columns of unsupported types are left out.
pub(super) struct Draft {
    /// Number of rows.
    pub(super) rows: usize,
    /// Columns in file order.
    pub(super) columns: Vec<(String, Column)>,
}

impl Draft {
    /// Copies the given rows of a table, in that order; rows may repeat.
    pub(super) fn of(table: &Table, rows: &[usize]) -> Self {
        let mut columns = table.take(rows);
        columns.retain(|(_, column)| !matches!(column, Column::Other(_)));
        Self { rows: rows.len(), columns }
    }

    /// Returns the column with this name.
    pub(super) fn column(&mut self, name: &str) -> Option<&mut Column> {
        self.columns.iter_mut().find(|(n, _)| n == name).map(|(_, c)| c)
    }

    /// Sets the cells of a column in the given rows to the values of these rows; `None` sets them
    /// to null.
    pub(super) fn set(&mut self, name: &str, rows: &[usize], value: Option<&Value<'_>>) {
        let Some(column) = self.column(name) else { return };
        *column = match value {
            Some(Value::Text(codes, dict)) => {
                let mut texts = texts(column);
                for &row in rows {
                    texts[row] = dict.get(codes.get(row) as usize).map(ToString::to_string);
                }
                Column::texts(texts)
            }
            Some(value) => numbers(column, rows, |row| match value {
                Value::Number(v) => v.get(row),
                Value::Bool(v) => f64::from(v.get(row)),
                Value::Text(..) => f64::NAN,
            }),
            None => nulled(column, rows),
        };
    }

    /// Encodes the draft as a Parquet file.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes do not read back the same.
    pub(super) fn parquet(&self) -> Result<Vec<u8>> {
        encode(&self.columns)
    }

    /// Renders lines of comma-separated text, the header first; each ends with a line break.
    pub(super) fn lines(&self) -> Vec<String> {
        let join = |cells: Vec<String>| cells.join(",") + "\n";
        let header = self.columns.iter().map(|(n, _)| n.clone()).collect();
        let row = |row: usize| join(self.columns.iter().map(|(_, c)| cell(c, row)).collect());
        std::iter::once(join(header)).chain((0..self.rows).map(row)).collect()
    }
}

/// Sets numbers in some rows of a column; an integer column stays one if all numbers are whole.
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
        Column::Text { .. } => {
            let cells = (0..column.len()).map(|row| column.text(row).filter(|_| !nulls[row]));
            Column::texts(cells)
        }
        Column::Other(name) => Column::Other(name.clone()),
    }
}

/// Returns the cells as text; `None` for null.
pub(super) fn texts(column: &Column) -> Vec<Option<String>> {
    let text = |row: usize| (!column.is_null(row)).then(|| cell(column, row));
    (0..column.len()).map(text).collect()
}

/// Renders a cell as a collector writes it.
fn cell(column: &Column, row: usize) -> String {
    match column {
        _ if column.is_null(row) => String::new(),
        Column::Int { values, .. } => values[row].to_string(),
        Column::Float { values, .. } => values[row].to_string(),
        Column::Bool { values, .. } => values[row].to_string(),
        Column::Text { codes, dict, .. } => dict[codes[row] as usize].to_string(),
        Column::Other(_) => String::new(),
    }
}
