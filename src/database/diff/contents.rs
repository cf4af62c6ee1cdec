//! The contents of changed tables before and after, for the audit of a change.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::TableDiff;
use crate::base::digest::sha256;
use crate::database::catalog::TableFile;
use crate::database::state::State;
use crate::database::table::{Column, Keys, Table, TableScope, number_json};
use crate::specs::TableSpec;

/// The maximum number of slices that are listed for a table, and of distinct texts that are listed for a column.
const LISTED: usize = 1000;

/// A changed table in an audit: its contents before and after the change, and the rules that examined all its rows.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditedTable {
    /// The path in the head, or in the base if the table was deleted.
    pub path: String,
    /// The contents before the change; null if the table is new.
    pub before: Option<TableContents>,
    /// The contents after the change; null if the table was deleted.
    pub after: Option<TableContents>,
    /// The ids of the rules that examined all rows of the head's table, sorted.
    pub examined: Vec<String>,
}

/// The contents of a table's file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TableContents {
    /// The SHA-256 of the file in hex; null if the bytes are unavailable.
    sha256: Option<String>,
    /// The size of the file in bytes.
    bytes: u64,
    /// The reason why the table cannot be read; null if it can be read.
    unreadable: Option<String>,
    /// The number of rows.
    pub(crate) rows: usize,
    /// The names of the columns that form the loader's key, sorted.
    key: Vec<String>,
    /// The contents of the columns, by name.
    columns: BTreeMap<String, ColumnContents>,
    /// The slices with their numbers of rows, sorted by name. At most 1,000 slices are listed.
    slices: Vec<SliceContents>,
}

/// The contents of a column.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ColumnContents {
    /// The decoded type: int, number, bool or text.
    r#type: String,
    /// The number of rows in which the column is null.
    nulls: usize,
    /// The smallest and the largest number in the column; null for texts.
    range: Option<[Value; 2]>,
    /// The distinct texts in the column, sorted. At most 1,000 texts are listed. Empty for a column of numbers.
    texts: Vec<String>,
}

/// A slice of a table with its number of rows.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct SliceContents {
    /// The text of each key part that identifies the slice, such as `fp8`, by the name of the key part, such as
    /// `gemm_dtype`.
    slice: BTreeMap<String, String>,
    /// The number of rows in the slice.
    rows: u32,
}

impl AuditedTable {
    /// Reads the contents of a changed table in base and head. `examined` are the ids of the rules that examined all
    /// rows of the head's table.
    pub(crate) fn of(
        (base, head): (State<'_>, State<'_>),
        diff: &TableDiff,
        examined: Option<BTreeSet<String>>,
    ) -> Self {
        let contents = |state: State<'_>, path: &str| {
            state.catalog.table(path).map(|file| TableContents::of(state, file))
        };
        Self {
            path: diff.path.clone(),
            before: contents(base, diff.old_path.as_ref().unwrap_or(&diff.path)),
            after: contents(head, &diff.path),
            examined: examined.into_iter().flatten().collect(),
        }
    }
}

impl TableContents {
    /// Reads the contents of a table's file in the base or in the head.
    fn of(state: State<'_>, file: &TableFile) -> Self {
        let bytes = state.source.read(&file.entry);
        let mut contents = Self {
            sha256: bytes.as_ref().ok().map(|bytes| sha256(bytes)),
            bytes: bytes.as_ref().map_or(file.entry.size, |bytes| bytes.len() as u64),
            unreadable: None,
            rows: 0,
            key: Vec::new(),
            columns: BTreeMap::new(),
            slices: Vec::new(),
        };
        let table = match &bytes {
            Ok(bytes) => file.decode(state.specs, bytes).map_err(|why| why.to_string()),
            Err(why) => Err(why.to_string()),
        };
        match table {
            Ok(table) => {
                let spec = file.spec(state.specs, Some(&table));
                let system = state.catalog.system(&file.place.system, state.specs);
                let lookups = &state.specs.lookups;
                let scope = TableScope::new(&table, &spec, &file.place, system, lookups);
                contents.fill(&table, &spec, &scope);
            }
            Err(why) => contents.unreadable = Some(why),
        }
        contents
    }

    fn fill(&mut self, table: &Table, spec: &TableSpec, scope: &TableScope<'_>) {
        let column = |(name, column)| (str::to_owned(name), ColumnContents::of(column, table.rows));
        self.rows = table.rows;
        self.columns = table.columns().map(column).collect();
        self.key =
            spec.key.iter().flat_map(|part| part.value.columns()).map(str::to_owned).collect();
        self.key.sort_unstable();
        self.key.dedup();
        // A key that does not fit the columns is ignored here, because rules report it.
        let keys = Keys::new(&spec.key, scope).ok().filter(|_| !spec.key.is_empty());
        let Some(keys) = keys else { return };
        let numbers = keys.slice_numbers();
        let slice = |(row, rows): (usize, &u32)| SliceContents {
            slice: keys.texts(row).into_iter().collect(),
            rows: *rows,
        };
        self.slices =
            numbers.first_rows().into_iter().zip(&numbers.counts).take(LISTED).map(slice).collect();
        self.slices.sort_by(|a, b| a.slice.cmp(&b.slice));
    }
}

impl ColumnContents {
    fn of(column: &Column, rows: usize) -> Self {
        let is_number = matches!(column, Column::Int { .. } | Column::Float { .. });
        let numbers = || (0..rows).map(|row| column.number(row)).filter(|number| !number.is_nan());
        let least = numbers().reduce(f64::min).filter(|_| is_number);
        let most = numbers().reduce(f64::max);
        let mut texts: Vec<String> = match column {
            Column::Text { dict, .. } => dict.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        texts.sort_unstable();
        texts.dedup();
        texts.truncate(LISTED);
        Self {
            r#type: column.kind_name().to_owned(),
            nulls: (0..rows).filter(|row| column.is_null(*row)).count(),
            range: least.zip(most).map(|(least, most)| [number_json(least), number_json(most)]),
            texts,
        }
    }
}
