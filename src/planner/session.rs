//! The data that a planner loads: a state of a database, and one backend version on one system.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashSet;

use super::files::{FileOfTable, SharedSlices, pins};
use super::index::{RowOrigin, TableIndex, TableRows};
use super::keys::SliceSource;
use super::machine::MachineFigures;
use super::refusal::Refusal;
use super::slices::{FileSlices, SliceKey};
use super::store::Store;
use super::tables::TableName;
use crate::base::error::{Error, Result};
use crate::database::catalog::{Catalog, SystemFile, TableFile, VersionDir};
use crate::database::served::{Channel, ReuseManifest, ServedFormats, SystemShelf, TableSource};
use crate::database::sidecar::Reuse;
use crate::database::slots::slots;
use crate::database::source::Source;
use crate::database::state::State;
use crate::database::table::{TableFault, TableScope};
use crate::specs::Specs;
use crate::specs::facts::Slots;

/// A state of a database as the planner reads it.
pub struct Snapshot<'a> {
    state: State<'a>,
    formats: ServedFormats,
    store: &'a Store,
    manifest: ReuseManifest,
    /// The version slots that queries reach, by system and backend; `None` if the state does not define
    /// them.
    slots: Option<BTreeMap<&'a str, BTreeMap<&'a str, Slots<'a>>>>,
    /// Figures that each table's formulas read from the loader's code.
    pins: [Arc<str>; TableName::ALL.len()],
    /// The loader's view of each system's files, by system.
    shelves: Mutex<BTreeMap<String, Arc<SystemShelf<'a>>>>,
}

impl<'a> Snapshot<'a> {
    /// Reads a state. Only files in the given `formats` count, and `store` keeps what is read.
    ///
    /// # Errors
    ///
    /// If a file that decides which rows answer a query cannot be read.
    pub fn new(state: State<'a>, formats: ServedFormats, store: &'a Store) -> Result<Self> {
        if let Some((path, why)) = state.facts.unread_answers() {
            return Err(Error::new(format!("{path}: {why}"), "the planner reads it too"));
        }
        let manifest = state.facts.sharing.clone().unwrap_or_default();
        let versions = state.specs.query_versions.as_ref();
        let slots = versions.map(|versions| slots(state.catalog, versions));
        let pins = TableName::ALL.map(|table| pins(state.specs, table));
        Ok(Self { state, formats, store, manifest, slots, pins, shelves: Mutex::default() })
    }

    /// The source of the state's bytes.
    pub(crate) fn source(&self) -> &'a dyn Source {
        self.state.source
    }

    /// The catalog of the state's files.
    pub(crate) fn catalog(&self) -> &'a Catalog {
        self.state.catalog
    }

    /// The versions of a system's backend that a query can reach; `None` if the state does not define
    /// them.
    pub(crate) fn slots(&self, system: &str, backend: &str) -> Option<&Slots<'a>> {
        self.slots.as_ref()?.get(system)?.get(backend)
    }

    /// A system of the state; `None` if the system does not exist.
    pub fn system(&self, name: &str) -> Option<SystemView<'_, 'a>> {
        let file = self.state.catalog.systems.get(name)?;
        Some(SystemView { snapshot: self, shelf: self.shelf(name), machine: self.machine(file) })
    }

    /// Groups the rows of a file that was decoded for another purpose.
    pub(crate) fn offer(&self, table: TableName, file: &TableFile, scope: &TableScope<'_>) {
        self.store.files.take(&self.file(table, file), scope);
    }

    fn file(&self, table: TableName, file: &TableFile) -> FileOfTable {
        let pins = self.pins[table as usize].clone();
        FileOfTable::new(self.state.source, file, table, pins)
    }

    /// The slices of a file, which may have been decoded or grouped already.
    fn slices(&self, content: &FileOfTable, file: &TableFile) -> SharedSlices {
        let State { catalog, specs, .. } = self.state;
        self.store.files.slices(content, |names| {
            let spec = specs.tables.get(&file.table).ok_or("no spec describes the table")?;
            let table = match self.state.columns(file, &FileSlices::columns(spec)) {
                Ok(table) => table,
                // A file without rows serves none, but it is not a fault.
                Err(TableFault::Empty) => return Ok(FileSlices::default()),
                Err(fault) => return Err(fault.to_string().into()),
            };
            let system = catalog.system(&file.place.system, specs);
            let scope = TableScope::new(&table, spec, &file.place, system, &specs.lookups);
            FileSlices::group(&scope, names)
        })
    }

    /// The specs, including the facts of the state.
    pub(crate) fn specs(&self) -> &'a Specs {
        self.state.specs
    }

    /// The declared sharing of rows between backends.
    pub(crate) fn manifest(&self) -> &ReuseManifest {
        &self.manifest
    }

    fn machine(&self, file: &SystemFile) -> Result<Arc<MachineFigures>, Refusal> {
        let system = file.system.as_ref();
        let system = system.map_err(|why| Refusal::missing(format!("{}: {why}", file.path)))?;
        MachineFigures::new(system).map(|machine| self.store.machine(machine))
    }

    /// The loader's view of a system's files. A `reuse.yaml` that cannot be read declares no donor, as
    /// for the loader.
    pub(crate) fn shelf(&self, system: &str) -> Arc<SystemShelf<'a>> {
        let mut known = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelf) = known.get(system) {
            return shelf.clone();
        }
        let declared = |dir: &VersionDir| {
            let text = self.state.source.text(dir.reuse.as_ref()?).ok()?;
            Some(Reuse::parse(&text).ok()?.donors())
        };
        let catalog = self.state.catalog;
        let dirs = catalog.dirs.values().filter(|dir| dir.place.system == system);
        let shelf = SystemShelf::new(catalog, dirs, self.formats, declared);
        known.entry(system.to_owned()).or_insert(Arc::new(shelf)).clone()
    }
}

/// A system of a state: its machine and its tables.
pub struct SystemView<'s, 'a> {
    snapshot: &'s Snapshot<'a>,
    shelf: Arc<SystemShelf<'a>>,
    machine: Result<Arc<MachineFigures>, Refusal>,
}

impl<'s, 'a> SystemView<'s, 'a> {
    /// Each backend with its versions, oldest first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
        self.shelf.versions()
    }

    /// Loads one version of a backend.
    ///
    /// # Errors
    ///
    /// If the system cannot be read, or the version has no directory in any family.
    pub fn session(&self, backend: &str, version: &str) -> Result<PlannerSession<'s, 'a>, Refusal> {
        let machine = self.machine.clone()?;
        let system = machine.name().to_owned();
        if !self.shelf.has(backend, version) {
            return Err(Refusal::Missing(format!("{system} has no data of {backend} {version}")));
        }
        let of = |table: TableName| {
            let filling = self.snapshot.state.specs.filling(table.stem());
            let manifest = &self.snapshot.manifest;
            library_sources(&self.shelf, &machine, table).unwrap_or_else(|| {
                self.shelf.sources(backend, version, table.stem(), filling, manifest)
            })
        };
        let tables =
            TableName::ALL.map(|table| TableSlot::new(self.snapshot, table, of(table), &machine));
        Ok(PlannerSession { snapshot: self.snapshot, machine, tables })
    }
}

/// The files of a library's table, in the library version that the machine's YAML names; `None` for a
/// table of a backend.
pub(crate) fn library_sources<'a>(
    shelf: &SystemShelf<'a>,
    machine: &MachineFigures,
    table: TableName,
) -> Option<Vec<TableSource<'a>>> {
    let library = table.library()?;
    let version = machine.text(&format!("misc.{library}_version"));
    let file = version.and_then(|version| shelf.own(library, version, table.stem()));
    let own = |file| TableSource { file, channel: Channel::Own, kernels: None };
    Some(file.map(own).into_iter().collect())
}

/// A table of a session: its files, and the index over them.
struct TableSlot<'a> {
    files: Vec<&'a TableFile>,
    index: Arc<TableIndex>,
}

impl<'a> TableSlot<'a> {
    fn new(
        snapshot: &Snapshot<'_>,
        table: TableName,
        sources: Vec<TableSource<'a>>,
        machine: &Arc<MachineFigures>,
    ) -> Self {
        let files = sources.iter().map(|s| s.file).collect();
        let origin = |s: TableSource<'a>| {
            let path = s.file.entry.path.clone();
            (
                snapshot.file(table, s.file),
                RowOrigin { path, channel: s.channel, kernels: s.kernels },
            )
        };
        let sources = sources.into_iter().map(origin).collect();
        let index = snapshot.store.index(table, sources, machine);
        Self { files, index }
    }
}

/// One backend version on a system, as a planner loads it.
pub struct PlannerSession<'s, 'a> {
    snapshot: &'s Snapshot<'a>,
    machine: Arc<MachineFigures>,
    tables: [TableSlot<'a>; TableName::ALL.len()],
}

impl PlannerSession<'_, '_> {
    /// The machine's figures.
    pub(crate) fn machine(&self) -> &MachineFigures {
        &self.machine
    }

    /// Returns true if every lookup answers as in another session: on an equal machine, with the same
    /// files used in the same way.
    pub(crate) fn answers_as(&self, other: &PlannerSession<'_, '_>) -> bool {
        let alike = |(a, b): (&TableSlot<'_>, &TableSlot<'_>)| Arc::ptr_eq(&a.index, &b.index);
        self.machine == other.machine && self.tables.iter().zip(&other.tables).all(alike)
    }

    /// Returns true if lookups in a table answer as in another session, whatever else differs.
    pub(super) fn answers_table_as(
        &self,
        other: &PlannerSession<'_, '_>,
        table: TableName,
    ) -> bool {
        let (own, other) = (&self.tables[table as usize], &other.tables[table as usize]);
        Arc::ptr_eq(&own.index, &other.index)
    }

    /// Returns true if both sessions plan on the same machine.
    pub(super) fn is_on_machine_of(&self, other: &PlannerSession<'_, '_>) -> bool {
        Arc::ptr_eq(&self.machine, &other.machine)
    }

    /// The origins of a table's files, in the loader's order.
    pub fn origins(&self, table: TableName) -> &[Arc<RowOrigin>] {
        &self.tables[table as usize].index.origins
    }

    /// The files of a table; their order gives the index for [`Self::read`].
    pub(crate) fn files(&self, table: TableName) -> impl Iterator<Item = &TableFile> {
        self.tables[table as usize].files.iter().copied()
    }

    /// The shared identity of a table's file, by its index.
    pub(crate) fn content(&self, table: TableName, file: usize) -> Option<&FileOfTable> {
        self.tables[table as usize].index.files.get(file)
    }

    /// Reads one file of a table in advance, so that several threads can share the work.
    pub(crate) fn read(&self, table: TableName, file: usize) {
        let slot = &self.tables[table as usize];
        if let Some((content, source)) = slot.index.files.get(file).zip(slot.files.get(file)) {
            // The lookup that needs the file reports its faults.
            drop(self.snapshot.slices(content, source));
        }
    }

    /// The rows of a table; the first caller reads them.
    ///
    /// # Errors
    ///
    /// If the loader refuses the table, or serves none of its rows.
    pub(super) fn table(&self, table: TableName) -> Result<&TableRows, Refusal> {
        let TableSlot { files, index } = &self.tables[table as usize];
        // The index has one file per source.
        let slices = |place: usize| self.snapshot.slices(&index.files[place], files[place]);
        index.rows(&self.snapshot.store.files.names, slices)
    }
}

impl SliceSource for PlannerSession<'_, '_> {
    fn machine(&self) -> &MachineFigures {
        &self.machine
    }

    fn code(&self, text: &str) -> u32 {
        self.snapshot.store.files.names.code(text)
    }

    fn has_files(&self, table: TableName) -> bool {
        !self.origins(table).is_empty()
    }

    fn keys(&self, table: TableName) -> Result<&HashSet<SliceKey>, Refusal> {
        Ok(&self.table(table)?.keys)
    }
}
