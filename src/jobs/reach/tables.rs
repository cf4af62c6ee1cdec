//! The state of every row of a system's table files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{FileReach, FileRows, Options};
use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::base::threads;
use crate::database::catalog::{Format, TableFile};
use crate::database::served::{
    QueryVersions, RowRun, RowState, RowStates, SystemShelf, TableSource,
};
use crate::database::table::{TableFault, TableScope};
use crate::jobs::impact::choose::{NameFilter, names};
use crate::jobs::impact::{Opened, PlannedVersion, States};
use crate::planner::{Snapshot, TableName};
use crate::specs::Specs;

/// Which rows are looked at.
pub(super) struct RowFilter<'o> {
    systems: Vec<&'o str>,
    backends: NameFilter,
    versions: &'o [String],
    tables: NameFilter,
}

impl<'o> RowFilter<'o> {
    pub(super) fn new(options: &'o Options, opened: &'o Opened) -> Result<Self> {
        let files: Vec<&TableFile> = opened.catalogs().flat_map(|c| &c.tables).collect();
        let distinct = |name: fn(&TableFile) -> &str| -> Vec<&str> {
            let all: BTreeSet<&str> = files.iter().map(|file| name(file)).collect();
            all.into_iter().collect()
        };
        let select = &options.select;
        let systems: BTreeSet<&str> = opened
            .catalogs()
            .flat_map(|c| c.systems.keys().map(String::as_str))
            .chain(files.iter().map(|f| f.place.system.as_str()))
            .collect();
        let wanted = names(&select.systems, "system", systems.iter().copied().collect())?;
        Ok(Self {
            systems: systems.into_iter().filter(|name| wanted.has(name)).collect(),
            backends: names(&select.backends, "backend", distinct(|f| &f.place.backend))?,
            versions: &select.versions,
            tables: names(&options.tables, "table", distinct(|f| &f.table))?,
        })
    }

    /// The systems to look at.
    pub(super) fn systems(&self) -> &[&'o str] {
        &self.systems
    }

    fn has(&self, file: &TableFile) -> bool {
        self.backends.has(&file.place.backend)
            && self.tables.has(&file.table)
            && (self.versions.is_empty() || self.versions.contains(&file.place.version))
    }

    /// The versions whose lookups are told: those that [`impact`](crate::jobs::impact) predicts, of the
    /// backends that are looked at.
    pub(super) fn planned(
        &self,
        options: &Options,
        opened: &Opened,
    ) -> Result<Vec<PlannedVersion>> {
        let any = opened.catalogs().flat_map(|c| &c.tables).any(|file| {
            let planned = |m: &crate::planner::ModelList| m.plan(&file.place.backend).is_some();
            self.has(file) && opened.models.lists.iter().any(planned)
        });
        if !any {
            return Ok(Vec::new());
        }
        let mut select = options.select.clone();
        select.backends.clear();
        let mut versions = opened.versions(&select)?;
        versions.retain(|v| self.backends.has(&v.backend));
        Ok(versions)
    }
}

/// The tables of a system in both states.
pub(super) struct SystemTables<'x, 'a> {
    pub states: &'x States<'a>,
    pub system: &'x str,
    pub filter: &'x RowFilter<'x>,
    pub threads: usize,
}

/// A file of a state, with what it is read for.
struct FileToRead<'x, 'a> {
    snapshot: &'x Snapshot<'a>,
    file: &'a TableFile,
    /// Whether a planner's session reads it, too.
    planned: Option<TableName>,
}

/// The rows of a file by itself, or why it cannot be read.
type OwnRows = Arc<Result<FileContent, String>>;

struct FileContent {
    states: RowStates,
    guessed: bool,
}

impl<'a> SystemTables<'_, 'a> {
    /// The files, by path; those of `planned` are handed to the planner as they are decoded.
    pub(super) fn files(&self, planned: &BTreeSet<(TableName, String)>) -> Result<Vec<FileReach>> {
        let mut found: BTreeMap<&str, FileReach> = BTreeMap::new();
        let mut known: BTreeMap<(&str, Option<git2::Oid>), OwnRows> = BTreeMap::new();
        for snapshot in self.states.all() {
            let is_after = std::ptr::eq(snapshot, &self.states.after);
            let own = self.read(snapshot, planned, &known)?;
            let loading = Loading::new(snapshot, self.system, &own)?;
            for (path, (file, rows)) in &own {
                if !self.filter.has(file) {
                    continue;
                }
                let place = &file.place;
                let entry = found.entry(path).or_insert_with(|| FileReach {
                    path: (*path).to_owned(),
                    version: PlannedVersion {
                        system: place.system.clone(),
                        backend: place.backend.clone(),
                        version: place.version.clone(),
                    },
                    table: file.table.clone(),
                    before: None,
                    after: None,
                });
                let rows = Some(loading.rows(file, rows));
                *(if is_after { &mut entry.after } else { &mut entry.before }) = rows;
            }
            known.extend(
                own.into_iter()
                    .map(|(path, (file, rows))| ((path, snapshot.source().id(&file.entry)), rows)),
            );
        }
        Ok(found.into_values().collect())
    }

    /// The files of the system of which the filter has the table, each by itself.
    fn read(
        &self,
        snapshot: &Snapshot<'a>,
        planned: &BTreeSet<(TableName, String)>,
        known: &BTreeMap<(&'a str, Option<git2::Oid>), OwnRows>,
    ) -> Result<BTreeMap<&'a str, (&'a TableFile, OwnRows)>> {
        let catalog: &'a _ = snapshot.catalog();
        let of_system = catalog.tables.iter().filter(|f| f.place.system == self.system);
        let files: Vec<FileToRead<'_, 'a>> = of_system
            .filter(|file| self.filter.tables.has(&file.table))
            .map(|file| {
                let table = TableName::of(&file.table);
                let reads = |t: &TableName| planned.contains(&(*t, file.entry.path.clone()));
                FileToRead { snapshot, file, planned: table.filter(reads) }
            })
            .collect();
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(files[*i].file.entry.size));
        let read = threads::map(&files, &order, self.threads, |to_read| {
            let id = snapshot.source().id(&to_read.file.entry);
            match known.get(&(to_read.file.entry.path.as_str(), id)).filter(|_| id.is_some()) {
                Some(rows) => Ok(rows.clone()),
                None => to_read.rows().map(Arc::new),
            }
        });
        files
            .iter()
            .zip(read)
            .map(|(to_read, rows)| {
                let path = to_read.file.entry.path.as_str();
                let rows = rows.map_err(|e| {
                    let hint = "the formula is in rules/tables";
                    Error::caused(format!("cannot judge {path}"), hint, e)
                })?;
                Ok((path, (to_read.file, rows)))
            })
            .collect()
    }
}

impl FileToRead<'_, '_> {
    fn rows(&self) -> Result<Result<FileContent, String>, ExprError> {
        let (snapshot, file) = (self.snapshot, self.file);
        let specs: &Specs = snapshot.specs();
        let decoded = match snapshot.source().read(&file.entry) {
            Ok(bytes) => file.decode(specs, &bytes),
            Err(why) => Err(why.into()),
        };
        let table = match decoded {
            Ok(table) => table,
            Err(TableFault::Empty) => {
                return Ok(Ok(FileContent { states: RowStates::default(), guessed: false }));
            }
            Err(fault) => return Ok(Err(fault.to_string())),
        };
        let spec = file.spec(specs, Some(&table));
        let system = snapshot.catalog().systems.get(&file.place.system);
        let system = system.and_then(|s| s.system.as_ref().ok());
        let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
        let states = RowStates::of(&scope)?;
        if let Some(planned) = self.planned.filter(|_| file.format == Format::Parquet) {
            snapshot.offer(planned, file, &table);
        }
        Ok(Ok(FileContent { states, guessed: spec.inferred }))
    }
}

/// How the loader loads the tables of a system's versions.
struct Loading<'x, 'a> {
    snapshot: &'x Snapshot<'a>,
    shelf: Arc<SystemShelf<'a>>,
    own: &'x BTreeMap<&'a str, (&'a TableFile, OwnRows)>,
    query_versions: Option<QueryVersions>,
    /// By path, the versions that can be asked for and load it.
    read_by: BTreeMap<&'a str, Vec<String>>,
}

impl<'x, 'a> Loading<'x, 'a> {
    fn new(
        snapshot: &'x Snapshot<'a>,
        system: &str,
        own: &'x BTreeMap<&'a str, (&'a TableFile, OwnRows)>,
    ) -> Result<Self> {
        let query_versions = QueryVersions::read(snapshot.source(), snapshot.catalog())?;
        let shelf = snapshot.shelf(system);
        let mut this = Self { snapshot, shelf, own, query_versions, read_by: BTreeMap::new() };
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
        Ok(this)
    }

    fn sources(&self, backend: &str, version: &str, table: &str) -> Vec<TableSource<'a>> {
        let filling = self.snapshot.specs().filling(table);
        self.shelf.sources(backend, version, table, filling, self.snapshot.manifest())
    }

    /// Why no query asks for a table of a version.
    fn unasked(&self, system: &str, backend: &str, version: &str, table: &str) -> Option<String> {
        let described = self.snapshot.catalog().systems.get(system).map(|s| &s.system);
        let described = match described {
            Some(Ok(described)) => described,
            Some(Err(why)) => return Some(format!("the system cannot be read: {why}")),
            None => return Some(format!("there is no system {system}")),
        };
        if let Some(library) = TableName::of(table).and_then(TableName::library) {
            let named = described.texts.get(&format!("misc.{library}_version"));
            return match named {
                Some(named) if backend == library && named == version => None,
                Some(named) => Some(format!("the system's YAML names {library} {named}")),
                None => Some(format!("the system's YAML names no version of {library}")),
            };
        }
        let reaches = |q: &QueryVersions| q.reaches(system, backend, version);
        let unreached = self.query_versions.as_ref().is_some_and(|q| !reaches(q));
        unreached.then(|| "no slot of query_versions.yaml names the version".to_owned())
    }

    /// The rows of a file, as a query of its version sees them.
    fn rows(&self, file: &TableFile, own: &OwnRows) -> FileRows {
        let read_by = self.read_by.get(file.entry.path.as_str()).cloned().unwrap_or_default();
        let content = match own.as_ref() {
            Ok(content) => content,
            Err(why) => {
                return FileRows { unread: Some(why.clone()), read_by, ..FileRows::default() };
            }
        };
        let mut rows = FileRows {
            runs: content.states.runs.clone(),
            guessed: content.guessed,
            read_by,
            ..FileRows::default()
        };
        let whole =
            |state| RowRun { first: 0, rows: content.states.rows() as u32, state, by_row: None };
        if let Some((state, why, instead)) = self.whole(file) {
            rows.runs =
                if content.states.runs.is_empty() { Vec::new() } else { vec![whole(state)] };
            (rows.why, rows.instead) = (Some(why), instead);
        }
        rows
    }

    /// The state of all rows of a file, with the reason, where they have one.
    fn whole(&self, file: &TableFile) -> Option<(RowState, String, Option<String>)> {
        let place = &file.place;
        let (backend, version, table) = (&place.backend, &place.version, &file.table);
        if let Some(why) = self.unasked(&place.system, backend, version, table) {
            return Some((RowState::NotQueryable, why, None));
        }
        let vetoed = self.snapshot.catalog().dir_of(file).is_some_and(|dir| dir.is_vetoed());
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
                let why = "the loader reads Parquet alone".to_owned();
                return Some((RowState::Refused, why, None));
            }
        }
        let fault =
            self.sources(backend, version, table).into_iter().find_map(|s| self.fault(&s))?;
        Some((RowState::Refused, fault, None))
    }

    /// Why a source of a table makes the loader refuse it.
    fn fault(&self, source: &TableSource<'_>) -> Option<String> {
        let path = source.file.entry.path.as_str();
        let (_, content) = self.own.get(path)?;
        let admits = |kernel: Option<&str>| {
            source.kernels.as_ref().is_none_or(|k| kernel.is_some_and(|kernel| k.contains(kernel)))
        };
        match content.as_ref() {
            Err(why) => Some(format!("{path} cannot be read: {why}")),
            Ok(content) => {
                let fault = content.states.fault(admits)?;
                let row = fault.row.map(|row| format!(" row {row}:")).unwrap_or_default();
                Some(format!("{path}:{row} {}", fault.why))
            }
        }
    }
}
