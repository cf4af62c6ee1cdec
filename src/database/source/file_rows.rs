//! The rows of one file that is not read as a table itself: text, or JSON whose objects name their cells.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use hashbrown::HashMap;
use serde_json::{Map, Value};

use super::ReadError;
use crate::database::limits::{
    LARGEST_DOCUMENT, LONGEST_LINE, LONGEST_NAME, MOST_BYTES, MOST_CELLS, MOST_COLUMNS, MOST_TABLES,
};
use crate::specs::layout::Dialect;

/// The maximal depth of JSON objects inside a row.
const DEEPEST: usize = 16;

/// The names of columns, in the order in which they first appear.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ColumnNames {
    pub names: Vec<String>,
    numbers: HashMap<String, usize>,
}

/// The rows of a file, as cells by column. A row has cells only in the columns that the file states for the row.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileRows {
    pub(super) header: ColumnNames,
    rows: Vec<FileRow>,
    /// For each cell, the index of its column and the end of its text in `text`.
    cells: Vec<(u32, u32)>,
    /// The cells of all rows, one after the other.
    text: String,
    /// The computed columns. Each has the index of the column of the file from which it is computed, and a map from
    /// that column's cells to the computed cells.
    filled: Vec<(usize, BTreeMap<String, String>)>,
}

/// The rows of a file that belong to one table. The file has rows of several tables and is decoded only once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedRows {
    /// The rows of the file.
    pub file: Arc<FileRows>,
    /// The indices of the selected rows in the file, ascending.
    pub numbers: Vec<u32>,
}

#[derive(Debug, PartialEq, Eq)]
struct FileRow {
    line: u32,
    is_torn: bool,
    /// The index in `FileRows::cells` of the first cell after this row.
    end: u32,
}

/// A group of rows with equal cells in some columns: these cells, and the rows.
pub type RowGroup = (Vec<String>, SelectedRows);

pub(super) fn unreadable(what: impl Display, why: impl Display) -> ReadError {
    ReadError::NotAFile(format!("{what}: {why}"))
}

impl ColumnNames {
    /// Returns the index of a column, which is added if it is new.
    ///
    /// # Errors
    ///
    /// If the name is too long, or there are too many columns.
    pub(crate) fn column(&mut self, name: &str) -> Result<usize, ReadError> {
        if let Some(known) = self.numbers.get(name) {
            return Ok(*known);
        }
        if name.len() > LONGEST_NAME || self.names.len() == MOST_COLUMNS {
            return Err(ReadError::NotAFile(format!(
                "a table has at most {MOST_COLUMNS} columns, with names of at most {LONGEST_NAME} bytes"
            )));
        }
        self.numbers.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        Ok(self.names.len() - 1)
    }

    /// Returns the index of a column that was added before.
    pub(crate) fn known(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }
}

impl FileRows {
    /// Splits a file into rows.
    ///
    /// # Errors
    ///
    /// If the bytes are not in the format, or are larger than any table.
    pub fn read(dialect: &Dialect, path: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let mut file = Self::default();
        match dialect {
            Dialect::Csv { delimiter, comment, .. } => {
                let mut reader = csv::ReaderBuilder::new();
                reader.flexible(true).delimiter(*delimiter).comment(*comment);
                file.read_text(path, reader.from_reader(bytes))?;
            }
            Dialect::JsonLines { .. } => {
                let text = std::str::from_utf8(bytes).map_err(|why| unreadable(path, why))?;
                for (line, text) in (1..).zip(text.lines()) {
                    let bad = |why: &dyn Display| unreadable(format!("{path} line {line}"), why);
                    if text.len() > LONGEST_LINE {
                        return Err(bad(&format_args!("it has more than {LONGEST_LINE} bytes")));
                    }
                    if !text.trim().is_empty() {
                        let value = serde_json::from_str(text).map_err(|why| bad(&why))?;
                        file.add_json(path, line, &value, &[])?;
                    }
                }
            }
            Dialect::Json { rows, .. } => {
                if bytes.len() > LARGEST_DOCUMENT {
                    let why = format!("a JSON document has at most {LARGEST_DOCUMENT} bytes");
                    return Err(unreadable(path, why));
                }
                let value = serde_json::from_slice(bytes).map_err(|why| unreadable(path, why))?;
                file.walk(rows.steps(), path, &value, &mut Vec::new())?;
            }
        }
        for (name, fill) in dialect.fills() {
            if let (None, Some(by)) = (file.header.known(name), file.header.known(&fill.by)) {
                file.header.column(name)?;
                file.filled.push((by, fill.values.clone()));
            }
        }
        Ok(file)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the approximate size in memory, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.text.len() + 8 * self.cells.len() + 12 * self.rows.len()
    }

    /// Returns the number of a row's line, from 1, and true if the row has another number of cells than the header.
    pub(super) fn line(&self, row: u32) -> (u64, bool) {
        let row = &self.rows[row as usize];
        (u64::from(row.line), row.is_torn)
    }

    /// Iterates over the cells of a row, each with the index of its column. The cells of a torn row cannot be assigned
    /// to columns, so each has its position in the row instead.
    pub(super) fn cells(&self, row: u32) -> impl Iterator<Item = (usize, &str)> {
        let stored = self.stored(row).len();
        let first = if self.rows[row as usize].is_torn { stored } else { self.first_filled() };
        let filled = (0..self.filled.len())
            .map(move |number| (first + number, self.cell(row, self.first_filled() + number)));
        self.stored(row).map(|at| (self.cells[at].0 as usize, self.text_of(at))).chain(filled)
    }

    /// Returns the index of the first computed column. Computed columns follow the columns of the file.
    fn first_filled(&self) -> usize {
        self.header.names.len() - self.filled.len()
    }

    /// Returns the range of a row's cells in `FileRows::cells`.
    fn stored(&self, row: u32) -> std::ops::Range<usize> {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(0, |before| self.rows[before].end);
        start as usize..self.rows[row].end as usize
    }

    fn text_of(&self, cell: usize) -> &str {
        let start = cell.checked_sub(1).map_or(0, |before| self.cells[before].1);
        &self.text[start as usize..self.cells[cell].1 as usize]
    }

    /// Returns the cell of a row in a column; empty if it is missing.
    fn cell(&self, row: u32, column: usize) -> &str {
        if let Some(filled) = column.checked_sub(self.first_filled()) {
            let (by, values) = &self.filled[filled];
            return values.get(self.cell(row, *by).trim()).map_or("", String::as_str);
        }
        let mut stored = self.stored(row);
        stored.find(|at| self.cells[*at].0 as usize == column).map_or("", |at| self.text_of(at))
    }

    /// Groups the rows by their cells in some columns, ignoring spaces around a cell. Groups are in the order of their
    /// first rows.
    ///
    /// # Errors
    ///
    /// If there are more than `MOST_TABLES` groups.
    pub(crate) fn groups(self: &Arc<Self>, names: &[&str]) -> Result<Vec<RowGroup>, ReadError> {
        let columns: Vec<Option<usize>> =
            names.iter().map(|name| self.header.known(name)).collect();
        let mut numbers: HashMap<Vec<&str>, usize> = HashMap::new();
        let mut groups: Vec<RowGroup> = Vec::new();
        for row in 0..self.len() as u32 {
            let cell = |column: &Option<usize>| column.map_or("", |at| self.cell(row, at).trim());
            let cells: Vec<&str> = columns.iter().map(cell).collect();
            let number = *numbers.entry(cells).or_insert_with_key(|cells| {
                let rows = SelectedRows { file: self.clone(), numbers: Vec::new() };
                groups.push((cells.iter().map(|cell| (*cell).to_owned()).collect(), rows));
                groups.len() - 1
            });
            groups[number].1.numbers.push(row);
            if groups.len() > MOST_TABLES {
                let why = format!("the file has rows of more than {MOST_TABLES} tables");
                return Err(ReadError::NotAFile(why));
            }
        }
        Ok(groups)
    }

    /// Adds a cell to the last row.
    fn push(&mut self, path: &str, column: usize, text: &str) -> Result<(), ReadError> {
        self.text += text;
        self.cells.push((column as u32, self.text.len() as u32));
        if self.cells.len() > MOST_CELLS || self.text.len() > MOST_BYTES {
            return Err(too_large(path));
        }
        Ok(())
    }

    fn end_row(&mut self, line: u64, is_torn: bool) {
        let end = self.cells.len() as u32;
        self.rows.push(FileRow { line: line as u32, is_torn, end });
    }

    /// Reads the rows of a text file. Line ends inside a cell become spaces, so that each row is one line.
    fn read_text(&mut self, path: &str, mut reader: csv::Reader<&[u8]>) -> Result<(), ReadError> {
        for (number, name) in reader.headers().map_err(|e| unreadable(path, e))?.iter().enumerate()
        {
            let name = name.trim_start_matches('\u{feff}').trim();
            if self.header.column(name)? != number {
                return Err(unreadable(path, format!("the header names {name} twice")));
            }
        }
        for record in reader.records() {
            let record = record.map_err(|why| unreadable(path, why))?;
            for (column, cell) in record.iter().enumerate() {
                self.push(path, column, &cell.replace(['\r', '\n'], " "))?;
            }
            let line = record.position().map_or(0, csv::Position::line);
            self.end_row(line, record.len() != self.header.names.len());
        }
        Ok(())
    }

    /// Adds a JSON object as a row. The row also gets the fields `above`, which are those of the enclosing objects.
    fn add_json(
        &mut self,
        path: &str,
        line: u64,
        value: &Value,
        above: &[(&str, Cow<'_, Value>)],
    ) -> Result<(), ReadError> {
        let mut row: BTreeMap<String, &Value> = BTreeMap::new();
        row.extend(above.iter().map(|(name, value)| ((*name).to_owned(), value.as_ref())));
        match value {
            Value::Object(fields) => flatten("", fields, DEEPEST, &mut row)?,
            _ => return Err(unreadable(path, "a row is not an object")),
        }
        for (name, cell) in row {
            let column = self.header.column(&name)?;
            match cell {
                Value::String(text) => self.push(path, column, text)?,
                Value::Null => self.push(path, column, "")?,
                cell => self.push(path, column, &cell.to_string())?,
            }
        }
        self.end_row(line, false);
        Ok(())
    }

    /// Adds the rows at a JSON path. Each row also gets the fields of the objects along the path.
    fn walk<'v>(
        &mut self,
        steps: &'v [String],
        path: &str,
        value: &'v Value,
        above: &mut Vec<(&'v str, Cow<'v, Value>)>,
    ) -> Result<(), ReadError> {
        let Some((step, rest)) = steps.split_first() else {
            return self.add_json(path, self.len() as u64 + 1, value, above);
        };
        let before = above.len();
        if let Value::Object(fields) = value {
            let scalars = fields.iter().filter(|(_, v)| !v.is_object() && !v.is_array());
            above.extend(scalars.map(|(name, value)| (&name[..], Cow::Borrowed(value))));
        }
        let inside = above.len();
        let (name, is_list) = step.strip_suffix("[]").map_or((&step[..], false), |s| (s, true));
        let found = if name.is_empty() { Some(value) } else { value.get(name) };
        if let Some(column) = step.strip_prefix('{').and_then(|step| step.strip_suffix('}')) {
            let Value::Object(fields) = value else {
                return Err(unreadable(path, format!("{step} does not stand for an object")));
            };
            for (key, value) in fields {
                above.truncate(inside);
                above.push((column, Cow::Owned(key.clone().into())));
                self.walk(rest, path, value, above)?;
            }
        } else {
            match found {
                Some(Value::Array(items)) if is_list => {
                    items.iter().try_for_each(|item| self.walk(rest, path, item, above))?;
                }
                Some(value) if !is_list => self.walk(rest, path, value, above)?,
                Some(_) => return Err(unreadable(path, format!("{name} is not a list"))),
                None => return Err(unreadable(path, format!("{name} is missing"))),
            }
        }
        above.truncate(before);
        Ok(())
    }
}

/// Creates the error of a table that exceeds the size limit.
pub(super) fn too_large(what: impl Display) -> ReadError {
    let (cells, bytes) = (MOST_CELLS / 1_000_000, MOST_BYTES >> 20);
    unreadable(what, format!("a table has at most {cells} M cells and {bytes} MiB of text"))
}

/// Flattens an object to cells; names of nested fields are joined by `_`.
fn flatten<'v>(
    prefix: &str,
    fields: &'v Map<String, Value>,
    depth: usize,
    row: &mut BTreeMap<String, &'v Value>,
) -> Result<(), ReadError> {
    for (name, value) in fields {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}_{name}") };
        if name.len() > LONGEST_NAME {
            return Err(ReadError::NotAFile(format!("a name has more than {LONGEST_NAME} bytes")));
        }
        match value {
            // Lists and deeper objects are not cells of a row.
            Value::Array(_) => {}
            Value::Object(_) if depth == 1 => {}
            Value::Object(fields) => flatten(&name, fields, depth - 1, row)?,
            value => {
                row.insert(name, value);
            }
        }
    }
    Ok(())
}
