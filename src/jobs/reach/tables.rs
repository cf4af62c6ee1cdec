//! The options of `reach`, and the state of every row of a system's table files.

use std::collections::{BTreeMap, BTreeSet};

use super::files::FileReach;
use super::loading::{FileContent, Loading, OwnRows};
use crate::base::error::Result;
use crate::base::expr::ExprError;
use crate::base::threads;
use crate::database::catalog::{Format, TableFile};
use crate::database::served::FileRowStates;
use crate::database::table::{TableFault, TableScope};
use crate::jobs::impact::choose::{NameFilter, names};
use crate::jobs::impact::{ImpactOptions, Opened, PlannedVersion, States};
use crate::jobs::rows::misfit;
use crate::planner::{Snapshot, TableName};
use crate::specs::Specs;

/// The options of `reach`.
#[derive(Debug, Default, Clone)]
pub struct ReachOptions {
    /// States, systems, backends, versions and models. Without versions, rows of all versions are
    /// shown, and lookups of the versions that [`impact`](crate::jobs::impact) predicts.
    pub select: ImpactOptions,
    /// Tables, as globs over their names; empty selects all.
    pub tables: Vec<String>,
}

/// The systems, backends, versions and tables whose rows are reported.
pub(super) struct RowFilter<'o> {
    systems: Vec<&'o str>,
    backends: NameFilter,
    versions: &'o [String],
    tables: NameFilter,
}

impl<'o> RowFilter<'o> {
    pub(super) fn new(options: &'o ReachOptions, opened: &'o Opened) -> Result<Self> {
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

    /// Returns the names of the selected systems.
    pub(super) fn systems(&self) -> &[&'o str] {
        &self.systems
    }

    fn has(&self, file: &TableFile) -> bool {
        self.backends.has(&file.place.backend)
            && self.tables.has(&file.table)
            && (self.versions.is_empty() || self.versions.contains(&file.place.version))
    }

    /// Returns the versions whose lookups are reported: the versions that
    /// [`impact`](crate::jobs::impact) predicts on the selected backends.
    pub(super) fn planned(
        &self,
        options: &ReachOptions,
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
}

impl<'a> SystemTables<'_, 'a> {
    /// Returns the files with their rows, sorted by path. Decoded tables of `planned` are passed to
    /// the planner.
    pub(super) fn files(&self, planned: &BTreeSet<(TableName, String)>) -> Result<Vec<FileReach>> {
        let mut found: BTreeMap<&str, FileReach> = BTreeMap::new();
        for snapshot in self.states.all() {
            let is_after = std::ptr::eq(snapshot, &self.states.after);
            let own = self.read(snapshot, planned)?;
            let loading = Loading::new(snapshot, self.system, &own);
            for (path, (file, rows)) in &own {
                if !self.filter.has(file) {
                    continue;
                }
                let entry = found.entry(path).or_insert_with(|| FileReach {
                    path: (*path).to_owned(),
                    version: PlannedVersion::of(&file.place),
                    table: file.table.clone(),
                    before: None,
                    after: None,
                });
                let rows = Some(loading.rows(file, rows));
                *(if is_after { &mut entry.after } else { &mut entry.before }) = rows;
            }
        }
        Ok(found.into_values().collect())
    }

    /// Reads the selected files of the system.
    fn read(
        &self,
        snapshot: &Snapshot<'a>,
        planned: &BTreeSet<(TableName, String)>,
    ) -> Result<BTreeMap<&'a str, (&'a TableFile, OwnRows)>> {
        let catalog: &'a _ = snapshot.catalog();
        let of_system = catalog.tables.iter().filter(|f| f.place.system == self.system);
        let files: Vec<&TableFile> =
            of_system.filter(|file| self.filter.tables.has(&file.table)).collect();
        let read = |file: &&'a TableFile| own_rows(snapshot, file, planned);
        let rows = threads::map_largest_first(&files, |file| file.entry.size, read);
        let mut found = BTreeMap::new();
        for (file, rows) in files.into_iter().zip(rows) {
            found.insert(file.entry.path.as_str(), (file, rows.map_err(|e| misfit(file, e))?));
        }
        Ok(found)
    }
}

/// Reads the rows of a file; a table of `planned` is passed to the planner.
fn own_rows(
    snapshot: &Snapshot<'_>,
    file: &TableFile,
    planned: &BTreeSet<(TableName, String)>,
) -> Result<OwnRows, ExprError> {
    let specs: &Specs = snapshot.specs();
    let decoded = match snapshot.source().read(&file.entry) {
        Ok(bytes) => file.decode(specs, &bytes),
        Err(why) => Err(why.into()),
    };
    let table = match decoded {
        Ok(table) => table,
        Err(TableFault::Empty) => {
            return Ok(Ok(FileContent { states: FileRowStates::default(), guessed: false }));
        }
        Err(fault) => return Ok(Err(fault)),
    };
    let spec = file.spec(specs, Some(&table));
    let system = snapshot.catalog().system(&file.place.system, specs);
    let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
    let states = FileRowStates::of(&scope)?;
    if let Some(name) = TableName::of(&file.table)
        && file.format == Format::Parquet
        && planned.contains(&(name, file.entry.path.clone()))
    {
        snapshot.offer(name, file, &scope);
    }
    Ok(Ok(FileContent { states, guessed: spec.inferred }))
}
