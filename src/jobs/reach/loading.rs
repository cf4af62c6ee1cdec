//! Determines which files the loader reads for a version, and the resulting state of their rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::files::{FileRows, StateCounts};
use crate::database::catalog::{TableFile, VersionDir};
use crate::database::served::{FileRowStates, RowRun, RowState, SystemShelf, TableSource};
use crate::database::table::TableFault;
use crate::planner::{Snapshot, TableName};

/// The states of a file's rows regardless of other files, or the reason why the file cannot be
/// read.
pub(super) type OwnRows = Result<FileContent, TableFault>;

pub(super) struct FileContent {
    pub states: FileRowStates,
    pub guessed: bool,
}

/// The loader's view of the tables of a system.
pub(super) struct Loading<'x, 'a> {
    snapshot: &'x Snapshot<'a>,
    shelf: Arc<SystemShelf<'a>>,
    own: &'x BTreeMap<&'a str, (&'a TableFile, OwnRows)>,
    /// Versions that queries can name and that load a file, by path.
    read_by: BTreeMap<&'a str, Vec<String>>,
}

impl<'x, 'a> Loading<'x, 'a> {
    pub(super) fn new(
        snapshot: &'x Snapshot<'a>,
        system: &str,
        own: &'x BTreeMap<&'a str, (&'a TableFile, OwnRows)>,
    ) -> Self {
        let shelf = snapshot.shelf(system);
        let mut this = Self { snapshot, shelf, own, read_by: BTreeMap::new() };
        let tables: BTreeSet<&str> = own.values().map(|(file, _)| file.table.as_str()).collect();
        let mut read_by: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (backend, versions) in this.shelf.versions() {
            for version in versions {
                for table in &tables {
                    if this.unasked(system, backend, version, table).is_some() {
                        continue;
                    }
                    for source in this.sources(backend, version, table) {
                        let readers = read_by.entry(&source.file.entry.path).or_default();
                        readers.push(format!("{backend} {version}"));
                    }
                }
            }
        }
        this.read_by = read_by;
        this
    }

    fn sources(&self, backend: &str, version: &str, table: &str) -> Vec<TableSource<'a>> {
        let filling = self.snapshot.specs().filling(table);
        self.shelf.sources(backend, version, table, filling, self.snapshot.manifest())
    }

    /// Returns the reason why no query can name a version of a table, if there is one.
    fn unasked(&self, system: &str, backend: &str, version: &str, table: &str) -> Option<String> {
        let described = self.snapshot.catalog().systems.get(system).map(|s| &s.system);
        let described = match described {
            Some(Ok(described)) => described,
            Some(Err(why)) => return Some(format!("the YAML of the system cannot be read: {why}")),
            None => return Some(format!("the system {system} does not exist")),
        };
        if let Some(library) = TableName::of(table).and_then(TableName::library) {
            let named = described.texts.get(&format!("misc.{library}_version"));
            return match named {
                Some(named) if backend == library && named == version => None,
                Some(named) => Some(format!("the system's YAML names {library} {named}")),
                None => Some(format!("the system's YAML names no version of {library}")),
            };
        }
        let slots = self.snapshot.slots(system, backend);
        let unreached = slots.is_some_and(|slots| slots.versions().all(|named| named != version));
        unreached.then(|| "no slot of query_versions.yaml names the version".to_owned())
    }

    /// Returns the rows of a file with their states, as a query of its version sees them.
    pub(super) fn rows(&self, file: &TableFile, own: &OwnRows) -> FileRows {
        let read_by = self.read_by.get(file.entry.path.as_str()).cloned().unwrap_or_default();
        let content = match own {
            Ok(content) => content,
            Err(why) => {
                return FileRows { unread: Some(why.to_string()), read_by, ..FileRows::default() };
            }
        };
        let mut rows = FileRows {
            runs: content.states.runs.clone(),
            key_guessed: content.guessed,
            read_by,
            ..FileRows::default()
        };
        let whole =
            |state| RowRun { first: 0, rows: content.states.rows() as u32, state, by_row: None };
        if let Some((state, why, instead)) = self.whole(file) {
            rows.runs =
                if content.states.runs.is_empty() { Vec::new() } else { vec![whole(state)] };
            (rows.why, rows.by_file) = (Some(why), instead);
        }
        rows.states = StateCounts::of(&rows.runs);
        rows
    }

    /// Returns the common state of all rows of a file, the reason, and the file read instead;
    /// `None` if rows have states of their own.
    fn whole(&self, file: &TableFile) -> Option<(RowState, String, Option<String>)> {
        let place = &file.place;
        let (backend, version, table) = (&place.backend, &place.version, &file.table);
        if let Some(why) = self.unasked(&place.system, backend, version, table) {
            return Some((RowState::NotQueryable, why, None));
        }
        let vetoed = self.snapshot.catalog().dir_of(file).is_some_and(VersionDir::is_vetoed);
        if vetoed {
            let why = "its directory is marked incomplete and has no collection_meta.yaml";
            return Some((RowState::Refused, why.to_owned(), None));
        }
        let path = &file.entry.path;
        match self.shelf.own(backend, version, table).map(|own| &own.entry.path) {
            Some(own) if own == path => {}
            Some(own) => {
                let why = format!("the loader reads {own} instead");
                return Some((RowState::Shadowed, why, Some(own.clone())));
            }
            None => {
                let why = "the loader reads only Parquet files".to_owned();
                return Some((RowState::Refused, why, None));
            }
        }
        let fault =
            self.sources(backend, version, table).into_iter().find_map(|s| self.fault(&s))?;
        Some((RowState::Refused, fault, None))
    }

    /// Returns the reason why a source makes the loader refuse a table, if there is one.
    fn fault(&self, source: &TableSource<'_>) -> Option<String> {
        let path = source.file.entry.path.as_str();
        let (_, content) = self.own.get(path)?;
        let admits = |kernel: Option<&str>| {
            source.kernels.as_ref().is_none_or(|k| kernel.is_some_and(|kernel| k.contains(kernel)))
        };
        match content {
            Err(why) => Some(format!("{path} cannot be read: {why}")),
            Ok(content) => {
                let fault = content.states.fault(admits)?;
                let row = fault.row.map(|row| format!(" row {row}:")).unwrap_or_default();
                Some(format!("{path}:{row} {}", fault.why))
            }
        }
    }
}
