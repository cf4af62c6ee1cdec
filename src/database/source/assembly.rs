//! Tables that are assembled from rows of files: some rows of one file, or the rows of several files.
//!
//! The rows are written as one text table, so that everything after the source reads one format.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::{Assembly, Entry, Part, ReadError};
use crate::specs::layout::{Dialect, Fill};

/// The maximal depth of JSON objects inside a row.
const DEEPEST: usize = 16;

/// The place of a row in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The index of the part.
    pub part: usize,
    /// The line in a text file, from 1; in other files the number of the row, from 1.
    pub line: u64,
    /// True if the row has another number of cells than the header.
    pub is_torn: bool,
}

/// The rows of a file as cells by column.
struct FileRows {
    header: Vec<String>,
    rows: Vec<(u64, Vec<String>)>,
}

impl Assembly {
    /// Returns the table as comma-separated text.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or is not in the declared format; the error names the file and line.
    pub fn text(
        &self,
        read: impl Fn(&Entry) -> Result<Vec<u8>, ReadError>,
    ) -> Result<Vec<u8>, ReadError> {
        let (header, rows) = self.rows(read)?;
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        let write = |writer: &mut csv::Writer<Vec<u8>>, cells: &[String]| {
            writer.write_record(cells).map_err(|why| unreadable("the table", why))
        };
        write(&mut writer, &header)?;
        for (_, row) in rows {
            write(&mut writer, &row)?;
        }
        writer.into_inner().map_err(|why| unreadable("the table", why))
    }

    /// Returns true if all rows of each file belong to the table.
    pub fn has_whole_files(&self) -> bool {
        self.parts.iter().all(|part| part.rows.is_empty())
    }

    /// Returns an id that is equal exactly if the files and the selected rows are; `None` if a file has no id.
    pub fn id(&self, id: impl Fn(&Entry) -> Option<git2::Oid>) -> Option<git2::Oid> {
        let mut text = format!("{:?}", self.dialect);
        for Part { entry, rows, added } in &self.parts {
            text += &format!("{} {rows:?} {added:?}", id(entry)?);
        }
        git2::Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).ok()
    }

    /// Returns the place of each row in its file.
    ///
    /// # Errors
    ///
    /// Those of [`Assembly::text`].
    pub fn origins(
        &self,
        read: impl Fn(&Entry) -> Result<Vec<u8>, ReadError>,
    ) -> Result<Vec<Origin>, ReadError> {
        Ok(self.rows(read)?.1.into_iter().map(|(origin, _)| origin).collect())
    }

    /// Returns the number of a row in its file, from 0. A text table has a header before its first row.
    pub fn row_in_file(&self, origin: Origin) -> u64 {
        let before = match self.dialect {
            Dialect::Csv { .. } => 2,
            Dialect::JsonLines { .. } | Dialect::Json { .. } => 1,
        };
        origin.line.saturating_sub(before)
    }

    /// Returns the columns of all parts, and the rows in the order of the parts.
    #[allow(clippy::type_complexity, reason = "the header and the rows of one table")]
    fn rows(
        &self,
        read: impl Fn(&Entry) -> Result<Vec<u8>, ReadError>,
    ) -> Result<(Vec<String>, Vec<(Origin, Vec<String>)>), ReadError> {
        let mut header: Vec<String> = Vec::new();
        let mut rows = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let file = self.dialect.rows(&part.entry.path, &read(&part.entry)?)?;
            let names = file.header.iter().chain(part.added.keys());
            let columns: Vec<usize> = names.map(|name| column(&mut header, name)).collect();
            let at = |name: &String| file.header.iter().position(|own| own == name);
            let wanted: Vec<(Option<usize>, &String)> =
                part.rows.iter().map(|(name, cell)| (at(name), cell)).collect();
            for (line, mut cells) in file.rows {
                let cell = |at: &Option<usize>| at.and_then(|at| cells.get(at)).map_or("", |c| c);
                if wanted.iter().any(|(at, wanted)| cell(at).trim() != *wanted) {
                    continue;
                }
                let is_torn = cells.len() != file.header.len();
                let origin = Origin { part: number, line, is_torn };
                if is_torn {
                    rows.push((origin, cells));
                    continue;
                }
                cells.extend(part.added.values().cloned());
                let mut row = vec![String::new(); header.len()];
                columns.iter().zip(cells).for_each(|(column, cell)| row[*column] = cell);
                rows.push((origin, row));
            }
        }
        // Rows of earlier parts lack the columns that only later parts have. A torn row stays torn.
        for (origin, row) in &mut rows {
            if !origin.is_torn {
                row.resize(header.len(), String::new());
            } else if row.len() == header.len() {
                row.push(String::new());
            }
        }
        Ok((header, rows))
    }
}

/// Returns the index of a column, which is added if it is new.
fn column(header: &mut Vec<String>, name: &str) -> usize {
    header.iter().position(|known| known == name).unwrap_or_else(|| {
        header.push(name.to_owned());
        header.len() - 1
    })
}

fn unreadable(what: impl Display, why: impl Display) -> ReadError {
    ReadError::NotAFile(format!("{what}: {why}"))
}

/// Returns the distinct cells of some columns of a file, with empty texts for missing cells.
///
/// # Errors
///
/// If the bytes are not in the format.
pub fn distinct_cells(
    dialect: &Dialect,
    path: &str,
    bytes: &[u8],
    names: &[&str],
) -> Result<Vec<Vec<String>>, ReadError> {
    let file = dialect.rows(path, bytes)?;
    let at: Vec<Option<usize>> =
        names.iter().map(|name| file.header.iter().position(|own| own == name)).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (_, cells) in &file.rows {
        let cell = |at: &Option<usize>| at.and_then(|at| cells.get(at)).map_or("", |c| c.trim());
        if !found.iter().any(|known| known.iter().zip(&at).all(|(known, at)| known == cell(at))) {
            found.push(at.iter().map(|at| cell(at).to_owned()).collect());
        }
    }
    Ok(found)
}

impl Dialect {
    /// Splits a file into rows.
    fn rows(&self, path: &str, bytes: &[u8]) -> Result<FileRows, ReadError> {
        let mut file = match self {
            Self::Csv { delimiter, comment, .. } => {
                let mut reader = csv::ReaderBuilder::new();
                reader.flexible(true).delimiter(*delimiter).comment(*comment);
                text_rows(path, reader.from_reader(bytes))?
            }
            Self::JsonLines { .. } => {
                let text = std::str::from_utf8(bytes).map_err(|why| unreadable(path, why))?;
                let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
                let mut found = Vec::new();
                for (number, line) in lines {
                    let value = serde_json::from_str(line)
                        .map_err(|why| unreadable(format!("{path} line {}", number + 1), why))?;
                    found.push((number as u64 + 1, json_row(path, &value)?));
                }
                FileRows::of(found)
            }
            Self::Json { rows, .. } => {
                let value = serde_json::from_slice(bytes).map_err(|why| unreadable(path, why))?;
                let mut found = Vec::new();
                walk(rows.steps(), path, &value, Map::new(), &mut found)?;
                FileRows::of((1..).zip(found))
            }
        };
        for (name, fill) in self.fills() {
            file.fill(name, fill);
        }
        Ok(file)
    }
}

/// Reads the rows of a text file. Line ends inside a cell become spaces, so that each row is one line.
fn text_rows(path: &str, mut reader: csv::Reader<&[u8]>) -> Result<FileRows, ReadError> {
    let header = reader.headers().map_err(|why| unreadable(path, why))?;
    let header: Vec<String> =
        header.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
    if let Some((_, twice)) = header.iter().enumerate().find(|(i, n)| header[..*i].contains(n)) {
        return Err(unreadable(path, format!("the header names {twice} twice")));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|why| unreadable(path, why))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cells = record.iter().map(|cell| cell.replace(['\r', '\n'], " "));
        rows.push((line, cells.collect()));
    }
    Ok(FileRows { header, rows })
}

impl FileRows {
    /// Arranges rows of named cells as columns, in the order in which the names first appear.
    fn of(found: impl IntoIterator<Item = (u64, Map<String, Value>)>) -> Self {
        let (mut header, mut rows) = (Vec::new(), Vec::new());
        for (line, cells) in found {
            let mut row = vec![String::new(); header.len()];
            for (name, cell) in cells {
                let at = column(&mut header, &name);
                row.resize(header.len(), String::new());
                row[at] = match cell {
                    Value::String(text) => text,
                    Value::Null => String::new(),
                    cell => cell.to_string(),
                };
            }
            rows.push((line, row));
        }
        rows.iter_mut().for_each(|(_, row)| row.resize(header.len(), String::new()));
        Self { header, rows }
    }

    /// Adds a column that the file lacks, by the values of another column.
    fn fill(&mut self, name: &str, fill: &Fill) {
        if self.header.iter().any(|own| own == name) {
            return;
        }
        let Some(by) = self.header.iter().position(|own| *own == fill.by) else { return };
        self.header.push(name.to_owned());
        for (_, row) in &mut self.rows {
            row.push(fill.values.get(row[by].trim()).cloned().unwrap_or_default());
        }
    }
}

/// Flattens an object to one row; names of nested fields are joined by `_`.
fn json_row(path: &str, value: &Value) -> Result<Map<String, Value>, ReadError> {
    let mut row = Map::new();
    match value {
        Value::Object(_) => flatten("", value, DEEPEST, &mut row),
        _ => return Err(unreadable(path, "a row is not an object")),
    }
    Ok(row)
}

fn flatten(prefix: &str, value: &Value, depth: usize, row: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) if depth > 0 => {
            for (name, value) in fields {
                let name =
                    if prefix.is_empty() { name.clone() } else { format!("{prefix}_{name}") };
                flatten(&name, value, depth - 1, row);
            }
        }
        // Lists and deeper objects are not cells of a row.
        Value::Object(_) | Value::Array(_) => {}
        value => {
            row.insert(prefix.to_owned(), value.clone());
        }
    }
}

/// Collects the rows at the end of a path. Fields of the objects on the way are columns of each row.
fn walk(
    steps: &[String],
    file: &str,
    value: &Value,
    mut above: Map<String, Value>,
    rows: &mut Vec<Map<String, Value>>,
) -> Result<(), ReadError> {
    let Some((step, rest)) = steps.split_first() else {
        above.extend(json_row(file, value)?);
        rows.push(above);
        return Ok(());
    };
    if let Value::Object(fields) = value {
        let scalars = fields.iter().filter(|(_, v)| !v.is_object() && !v.is_array());
        above.extend(scalars.map(|(name, value)| (name.clone(), value.clone())));
    }
    if let Some(column) = step.strip_prefix('{').and_then(|step| step.strip_suffix('}')) {
        let Value::Object(fields) = value else {
            return Err(unreadable(file, format!("{step} does not stand for an object")));
        };
        return fields.iter().try_for_each(|(key, value)| {
            above.insert(column.to_owned(), key.clone().into());
            walk(rest, file, value, above.clone(), rows)
        });
    }
    let (name, is_list) = step.strip_suffix("[]").map_or((step.as_str(), false), |s| (s, true));
    let found = if name.is_empty() { Some(value) } else { value.get(name) };
    match found {
        Some(Value::Array(items)) if is_list => {
            items.iter().try_for_each(|item| walk(rest, file, item, above.clone(), rows))
        }
        Some(value) if !is_list => walk(rest, file, value, above, rows),
        Some(_) => Err(unreadable(file, format!("{name} is not a list"))),
        None => Err(unreadable(file, format!("{name} is missing"))),
    }
}
