//! Reads tables and their rows as a loader does, for jobs that choose rows.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::base::error::{Error, Result, unknown};
use crate::base::expr::{ExprError, Vals};
use crate::database::catalog::{Format, TableFile, place_of};
use crate::database::served::rows::rows_by_key;
use crate::database::source::{Entry, EntryKind, Source};
use crate::database::table::{Keys, Table, TableScope};
use crate::specs::{Serves, Specs, TableSpec};

/// Reads a table.
///
/// # Errors
///
/// Returns an error if the bytes are unavailable or are not a table.
pub(crate) fn read_table(source: &dyn Source, file: &TableFile, specs: &Specs) -> Result<Table> {
    let bytes = source.read(&file.entry).map_err(|why| unreadable(file, &why))?;
    file.decode(specs, &bytes).map_err(|why| unreadable(file, &why))
}

/// Returns the error for a table that cannot be read.
pub(crate) fn unreadable(file: &TableFile, why: &dyn std::error::Error) -> Error {
    let hint = "`perfdb-gate validate` shows what is wrong with it";
    Error::new(format!("{}: {why}", file.entry.path), hint)
}

/// Returns the error for a formula that does not fit a table.
pub(crate) fn misfit(file: &TableFile, why: ExprError) -> Error {
    Error::caused(file.entry.path.as_str(), "the formula is in rules/tables", why)
}

/// Returns the spec of a table.
///
/// # Errors
///
/// Returns an error if no spec describes the table.
pub(crate) fn known_spec<'s>(specs: &'s Specs, table: &str) -> Result<&'s Arc<TableSpec>> {
    let known = specs.tables.keys().map(String::as_str);
    specs.tables.get(table).ok_or_else(|| unknown("table", table, known))
}

/// Describes a table's file that is not in a database. The table's name, system, backend and version come from the
/// path. Returns `None` if the file's extension is not that of a table.
pub(crate) fn loose_table(path: &Path, specs: &Specs) -> Option<TableFile> {
    let table = path.file_stem()?.to_string_lossy().into_owned();
    let format = format_of(path)?;
    Some(TableFile { entry: entry(path), place: place_of(path, specs), table, format })
}

/// Describes a file on disk that is not in a database. The file's size is not determined and stated as 0.
pub(crate) fn entry(path: &Path) -> Entry {
    Entry { path: path.display().to_string(), kind: EntryKind::Path(path.to_owned()), size: 0 }
}

/// Returns the format of a table's file by its extension; `None` if the extension is not a table's.
pub(crate) fn format_of(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "parquet" => Some(Format::Parquet),
        "txt" | "csv" => Some(Format::Csv),
        _ => None,
    }
}

/// Renders the parts of a key for people, such as `m 64, gemm_dtype fp8`.
pub(crate) fn key_text(key: impl IntoIterator<Item = (String, Value)>) -> String {
    let part = |(name, value): (String, Value)| match value {
        Value::String(text) => format!("{name} {text}"),
        value => format!("{name} {value}"),
    };
    key.into_iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The rows of a table with their keys and latencies.
pub(crate) struct LoadedRows<'a> {
    /// The key of each row, as the loader computes it.
    pub(crate) keys: Keys<'a>,
    /// The latency that a lookup returns for each row, in ms; NaN if the table has no latency.
    pub(crate) latency: Vec<f64>,
    /// One pair for each row that the loader reads: the hash of the row's key, and the row's index. Pairs with the same
    /// key follow each other. `None` if the table has no key.
    by_key: Option<Vec<(u64, u32)>>,
    serves: Serves,
}

impl<'a> LoadedRows<'a> {
    /// Computes the key and the latency of each row by the formulas of the table's spec.
    ///
    /// # Errors
    ///
    /// Returns an error if a formula does not fit the table's columns.
    pub(crate) fn new(scope: &'a TableScope<'a>) -> Result<Self, ExprError> {
        let parts = scope.spec.latency.iter().map(|part| part.value.numbers(scope));
        let parts: Vec<Vals<'_, f64>> = parts.collect::<Result<_, _>>()?;
        let time = |row: usize| match parts[..] {
            [] => f64::NAN,
            _ => parts.iter().map(|part| part.get(row)).sum(),
        };
        Ok(Self {
            keys: Keys::new(&scope.spec.key, scope)?,
            latency: (0..scope.table.rows).map(time).collect(),
            by_key: rows_by_key(scope)?,
            serves: scope.spec.serves,
        })
    }

    /// Iterates over the distinct keys of the table. Each item contains the indices of all rows with one key, in file
    /// order.
    pub(crate) fn rows_by_key(&self) -> impl Iterator<Item = Vec<usize>> {
        let keys = self.by_key.as_deref().unwrap_or_default().chunk_by(|a, b| a.0 == b.0);
        keys.map(|rows| rows.iter().map(|(_, row)| *row as usize).collect())
    }

    /// Returns the row that the loader serves among `rows`, which have one key and are in file order; `None` if
    /// `rows` is empty.
    pub(crate) fn served(&self, rows: &[usize]) -> Option<usize> {
        match self.serves {
            Serves::First | Serves::Error => rows.first().copied(),
            Serves::Last => rows.last().copied(),
        }
    }

    /// Returns the rows that the loader serves; all rows if the table has no key.
    pub(crate) fn all_served(&self) -> Vec<usize> {
        match self.by_key {
            None => (0..self.latency.len()).collect(),
            Some(_) => self.rows_by_key().filter_map(|rows| self.served(&rows)).collect(),
        }
    }
}
