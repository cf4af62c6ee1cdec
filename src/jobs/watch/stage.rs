//! A collection's staging folder as it is now: the tables in it, the rows so far, the run's signs of an end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use crate::base::error::{Error, Result};
use crate::database::catalog::{Format, Place, TableFile, place_of};
use crate::database::source::{Entry, EntryKind};
use crate::database::table::{Column, Keys, Table, TableFault, TableScope};
use crate::gpu::rerun::RerunList;
use crate::jobs::rows::format_of;
use crate::specs::Specs;

/// Folders below a staging folder in which its files may be.
const DEPTH: usize = 8;

/// A staging folder.
#[derive(Debug)]
pub struct Stage {
    /// Its tables, by path.
    pub tables: Vec<StagedTable>,
    /// The sidecars beside them.
    pub sidecars: Vec<PathBuf>,
    /// When a file of it changed last.
    pub changed: Option<SystemTime>,
    /// Whether the collector has summed up its run.
    pub summed_up: bool,
}

/// A table that is being collected.
#[derive(Debug)]
pub struct StagedTable {
    /// Its file.
    pub file: TableFile,
    /// Whole rows so far.
    pub rows: usize,
    /// Hashes of their keys.
    pub keys: BTreeSet<u64>,
    /// Lowest and highest clock in MHz, where rows have one.
    pub clocks: Option<(f64, f64)>,
    /// Why it cannot be read, where it cannot.
    pub fault: Option<String>,
}

impl Stage {
    /// Reads a folder.
    ///
    /// # Errors
    ///
    /// When it cannot be listed.
    pub fn read(folder: &Path, specs: &Specs) -> Result<Self> {
        let mut stage =
            Self { tables: Vec::new(), sidecars: Vec::new(), changed: None, summed_up: false };
        for item in walkdir::WalkDir::new(folder).max_depth(DEPTH).sort_by_file_name() {
            let item = match item {
                Ok(item) => item,
                // A file may go while the folder is listed: the collector makes parquet of its text.
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

    /// A table's text that has become parquet counts once.
    fn without_text_of_parquet(&mut self) {
        let name = |t: &StagedTable| Path::new(&t.file.entry.path).with_extension("");
        let done: BTreeSet<PathBuf> =
            self.tables.iter().filter(|t| t.file.format == Format::Parquet).map(name).collect();
        self.tables.retain(|t| t.file.format == Format::Parquet || !done.contains(&name(t)));
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|t| t.rows).sum()
    }

    /// How many points of a list are measured, and of how many.
    ///
    /// # Errors
    ///
    /// When a formula of a spec does not fit the list's columns.
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

/// The table that a file of that name is, and how its bytes are laid out.
fn staged<'a>(name: &'a str, specs: &Specs) -> Option<(&'a str, Format)> {
    if let Some(stem) = name.strip_suffix(".samples.jsonl") {
        // A log that `measure` keeps: its rows come before the table.
        return specs.tables.contains_key(stem).then_some((stem, Format::Csv));
    }
    let (stem, _) = name.rsplit_once('.')?;
    let format = format_of(Path::new(name))?;
    (specs.tables.contains_key(stem) || stem.ends_with("_perf")).then_some((stem, format))
}

impl StagedTable {
    fn read(path: &Path, stem: &str, format: Format, specs: &Specs) -> Self {
        let kind = EntryKind::Path(path.to_owned());
        let entry = Entry { path: path.display().to_string(), kind, size: 0 };
        let place = place_of(path, specs);
        let mut staged = Self {
            file: TableFile { entry, place, table: stem.to_owned(), format },
            rows: 0,
            keys: BTreeSet::new(),
            clocks: None,
            fault: None,
        };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(e) => {
                staged.fault = Some(e.kind().to_string());
                return staged;
            }
        };
        let table = if staged.is_log() {
            logged(&bytes)
        } else {
            // What is being written ends in a line that is not whole yet.
            let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
            let end = if format == Format::Csv { whole } else { bytes.len() };
            match staged.file.decode(specs, &bytes[..end]) {
                Ok(table) => Some(table),
                Err(TableFault::Empty) => None,
                Err(_) if end == 0 => None,
                Err(fault) => {
                    staged.fault = Some(fault.to_string());
                    None
                }
            }
        };
        if let Some(table) = table {
            staged.take(&table, specs);
        }
        staged
    }

    /// Whether it is a log of samples, not a table.
    pub fn is_log(&self) -> bool {
        self.file.entry.path.ends_with(".samples.jsonl")
    }

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

    /// Finds the place by what the rows say, unless the folders above are one.
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

/// The points of a log of samples as rows; none where it has no point yet.
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
