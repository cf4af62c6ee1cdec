//! Reads a collection's staging folder: its tables, the rows so far, and signs that the run has
//! ended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use crate::base::error::{Error, Result};
use crate::database::catalog::{Format, Place, TableFile, place_of};
use crate::database::table::{Column, Keys, Table, TableFault, TableScope};
use crate::gpu::rerun::RerunList;
use crate::jobs::rows::{entry, format_of};
use crate::specs::Specs;

/// The maximum depth of files below a staging folder.
const DEPTH: usize = 8;

/// The content of a staging folder.
#[derive(Debug)]
pub struct Stage {
    /// The tables, sorted by path.
    pub tables: Vec<StagedTable>,
    /// Paths of the sidecars.
    pub sidecars: Vec<PathBuf>,
    /// The time of the last change of a file.
    pub changed: Option<SystemTime>,
    /// True if the collector has written its summary.
    pub summed_up: bool,
}

/// A table that is being collected.
#[derive(Debug)]
pub struct StagedTable {
    /// The table's file.
    pub file: TableFile,
    /// Number of complete rows so far.
    pub rows: usize,
    /// Hashes of the keys of the rows.
    pub keys: BTreeSet<u64>,
    /// Lowest and highest clock in MHz, if rows have a clock.
    pub clocks: Option<(f64, f64)>,
    /// The reason why the table cannot be read.
    pub fault: Option<String>,
}

impl Stage {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be listed.
    pub fn read(folder: &Path, specs: &Specs) -> Result<Self> {
        let mut stage =
            Self { tables: Vec::new(), sidecars: Vec::new(), changed: None, summed_up: false };
        for item in walkdir::WalkDir::new(folder).max_depth(DEPTH).sort_by_file_name() {
            let item = match item {
                Ok(item) => item,
                // A file can disappear during listing, since collectors replace text by Parquet
                // files.
                Err(e) if e.depth() > 0 => continue,
                Err(e) => {
                    let message = format!("cannot list {}: {e}", folder.display());
                    return Err(Error::new(message, "--watch takes a collection's staging folder"));
                }
            };
            if !item.file_type().is_file() {
                continue;
            }
            let (path, name) = (item.path(), item.file_name().to_string_lossy().into_owned());
            let changed = item.metadata().ok().and_then(|m| m.modified().ok());
            let is_summary = name.starts_with("collection_summary_") && name.ends_with(".json");
            if name == "collection_meta.yaml" {
                stage.sidecars.push(path.to_owned());
            } else if is_summary {
                stage.summed_up = true;
            } else if let Some((stem, format)) = staged(&name, specs) {
                stage.tables.push(StagedTable::read(path, stem, format, specs));
            } else {
                continue;
            }
            stage.changed = stage.changed.max(changed);
        }
        stage.without_text_of_parquet();
        Ok(stage)
    }

    /// Drops text tables that have been converted to Parquet.
    fn without_text_of_parquet(&mut self) {
        let name = |t: &StagedTable| Path::new(&t.file.entry.path).with_extension("");
        let done: BTreeSet<PathBuf> =
            self.tables.iter().filter(|t| t.file.format == Format::Parquet).map(name).collect();
        self.tables.retain(|t| t.file.format == Format::Parquet || !done.contains(&name(t)));
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|t| t.rows).sum()
    }

    /// Returns the number of measured points of a list and the number of all its points.
    ///
    /// # Errors
    ///
    /// Returns an error if a formula of a spec does not fit the list's columns.
    pub fn measured(&self, list: &RerunList, specs: &Specs) -> Result<(usize, usize)> {
        let (mut measured, mut planned) = (0, 0);
        for operation in &list.operations {
            let Some(spec) = specs.tables.get(&operation.table) else { continue };
            let listed = operation.keys(spec, specs).map_err(|e| {
                Error::caused(operation.table.as_str(), "the formula is in rules/tables", e)
            })?;
            let of_table = self.tables.iter().filter(|t| t.file.table == operation.table);
            let there: BTreeSet<u64> = of_table.flat_map(|t| t.keys.iter().copied()).collect();
            planned += listed.len();
            measured += listed.intersection(&there).count();
        }
        Ok((measured, planned))
    }
}

/// Returns the table's name and format by a file name; `None` if the file is not a table.
fn staged<'a>(name: &'a str, specs: &Specs) -> Option<(&'a str, Format)> {
    if let Some(stem) = name.strip_suffix(".samples.jsonl") {
        // A log that `measure` writes contains rows before the table exists.
        return specs.tables.contains_key(stem).then_some((stem, Format::Csv));
    }
    let (stem, _) = name.rsplit_once('.')?;
    let format = format_of(Path::new(name))?;
    (specs.tables.contains_key(stem) || stem.ends_with("_perf")).then_some((stem, format))
}

impl StagedTable {
    fn read(path: &Path, stem: &str, format: Format, specs: &Specs) -> Self {
        let (entry, place) = (entry(path), place_of(path, specs));
        let mut staged = Self {
            file: TableFile { entry, place, table: stem.to_owned(), format },
            rows: 0,
            keys: BTreeSet::new(),
            clocks: None,
            fault: None,
        };
        match staged.table(path, specs) {
            Ok(table) => table.iter().for_each(|table| staged.take(table, specs)),
            Err(why) => staged.fault = Some(why),
        }
        staged
    }

    /// Reads the complete rows so far, if there are any, or returns the reason why the file cannot
    /// be read.
    fn table(&self, path: &Path, specs: &Specs) -> Result<Option<Table>, String> {
        let bytes = std::fs::read(path).map_err(|e| e.kind().to_string())?;
        if self.is_log() {
            return Ok(logged(&bytes));
        }
        // The last line of a file that is being written may be incomplete.
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        let end = if self.file.format == Format::Csv { whole } else { bytes.len() };
        match self.file.decode(specs, &bytes[..end]) {
            Ok(table) => Ok(Some(table)),
            Err(TableFault::Empty) => Ok(None),
            Err(_) if end == 0 => Ok(None),
            Err(fault) => Err(fault.to_string()),
        }
    }

    /// Returns true if the file is a log of samples, not a table.
    pub fn is_log(&self) -> bool {
        self.file.entry.path.ends_with(".samples.jsonl")
    }

    /// Records the rows, clocks and keys of a table.
    fn take(&mut self, table: &Table, specs: &Specs) {
        self.rows = table.rows;
        self.place(table, specs);
        let clocks = ["clocks_mhz", "sm_clock_mhz", "clock_mhz"];
        if let Some(column) = clocks.iter().find_map(|name| table.column(name)) {
            let all = (0..table.rows).map(|row| column.number(row)).filter(|c| c.is_finite());
            self.clocks = all.map(|c| (c, c)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        }
        let spec = self.file.spec(specs, Some(table));
        let system = specs.systems.get(&self.file.place.system);
        let scope = TableScope::new(table, &spec, &self.file.place, system, &specs.lookups);
        if let Ok(keys) = Keys::new(&spec.key, &scope) {
            self.keys = keys.hashes().iter().copied().collect();
        }
    }

    /// Derives the place from the rows, unless the folders name a known system.
    fn place(&mut self, table: &Table, specs: &Specs) {
        if specs.systems.get(&self.file.place.system).is_some() {
            return;
        }
        let cell = |name: &str| table.column(name).and_then(|c| c.text(0)).unwrap_or_default();
        let device = cell("device");
        let system = specs.systems.iter().find(|(_, s)| s.is_device(device));
        let spec = specs.tables.get(&self.file.table);
        self.file.place = Place {
            system: system.map_or_else(String::new, |(name, _)| name.clone()),
            family: spec.map(|s| s.family.clone()),
            backend: cell("framework").to_ascii_lowercase(),
            version: cell("version").to_owned(),
        };
    }
}

/// Returns the points of a log of samples as rows; `None` if it has no points.
fn logged(bytes: &[u8]) -> Option<Table> {
    let lines = bytes.split(|b| *b == b'\n');
    let points: Vec<BTreeMap<String, Value>> = lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|point| point["samples_ms"].is_array())
        .filter_map(|point| {
            let mut key: BTreeMap<String, Value> =
                serde_json::from_value(point["key"].clone()).ok()?;
            key.insert("clocks_mhz".to_owned(), point["clocks_mhz"].clone());
            Some(key)
        })
        .collect();
    let names: BTreeSet<&String> = points.iter().flat_map(BTreeMap::keys).collect();
    let column = |name: &&String| {
        let cells: Vec<&Value> =
            points.iter().map(|p| p.get(*name).unwrap_or(&Value::Null)).collect();
        Some(((*name).clone(), Column::from_json(&cells).ok()?))
    };
    let columns = names.iter().filter_map(column).collect();
    (!points.is_empty()).then(|| Table::of(points.len(), columns))
}
