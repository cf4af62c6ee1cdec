//! The tables of a database by name, backend, system and version, and the tables with which each is compared.

use std::collections::{BTreeMap, BTreeSet};

use super::editions::{BySystem, Edition, Editions};
use super::sources::{MOST_PEERS, SystemKinship, SystemPeer, peers_around};
use super::{Channel, ReuseManifest, SystemShelf, TableSource};
use crate::base::error::Reason;
use crate::base::group::grouped;
use crate::database::catalog::{Catalog, Place, TableFile, VersionDir};
use crate::database::sidecar::Reuse;
use crate::specs::facts::{QueryVersions, Slots};
use crate::specs::{Filling, Specs, TableSpec};

/// All tables of a database by name, backend and system.
#[derive(Debug, Default)]
pub struct TableIndex<'a> {
    tables: BTreeMap<&'a str, BTreeMap<&'a str, BySystem<'a>>>,
    generations: BTreeMap<&'a str, &'a str>,
    /// The version that a system's YAML names for a backend (such as NCCL), by system, then by backend.
    named: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    /// The donors that each version directory declares, as pairs of a table and a donor version. A donor provides rows
    /// that the table lacks.
    reuse: BTreeMap<&'a Place, Vec<(&'a str, &'a str)>>,
    /// The tables that the loader finds, by system.
    loaders: BTreeMap<&'a str, SystemShelf<'a>>,
    /// The versions that a query can reach, by system and backend. Empty if the database does not state which versions
    /// these are.
    slots: BTreeMap<&'a str, BTreeMap<&'a str, Slots<'a>>>,
}

impl<'a> TableIndex<'a> {
    /// Creates an index of a catalog's tables. `reuse` contains each version directory's `reuse.yaml`, by the
    /// directory's path. `specs` states which versions a query can reach.
    pub fn new(
        catalog: &'a Catalog,
        reuse: &'a BTreeMap<String, Result<Reuse, Reason>>,
        specs: &'a Specs,
    ) -> Self {
        let mut shelf = Self::default();
        for (path, dir) in &catalog.dirs {
            let Some(Ok(declared)) = reuse.get(path) else { continue };
            let donors = declared.reuse.iter().map(|d| (d.table.as_str(), d.from_version.as_str()));
            shelf.reuse.entry(&dir.place).or_default().extend(donors);
        }
        for file in &catalog.tables {
            let place = &file.place;
            let backends = shelf.tables.entry(&file.table).or_default();
            let systems = backends.entry(&place.backend).or_default();
            systems.entry(&place.system).or_default().add(file);
        }
        let backends = shelf.tables.values_mut().flat_map(BTreeMap::values_mut);
        for editions in backends.flat_map(BTreeMap::values_mut) {
            editions.sort();
        }
        let dirs = grouped(catalog.dirs.values().map(|dir| (dir.place.system.as_str(), dir)));
        for (system, dirs) in dirs {
            let declared = |dir: &VersionDir| Some(reuse.get(&dir.path)?.as_ref().ok()?.donors());
            let loader = SystemShelf::new(catalog, dirs.into_iter(), declared);
            shelf.loaders.insert(system, loader);
        }
        if let Some(versions) = &specs.query_versions {
            shelf.slots = slots(catalog, versions);
        }
        for name in catalog.systems.keys() {
            let Some(system) = catalog.system(name, specs) else { continue };
            if let Some(generation) = system.generation() {
                shelf.generations.insert(name, generation);
            }
            for (path, version) in &system.texts {
                let backend = path.strip_prefix("misc.").and_then(|p| p.strip_suffix("_version"));
                if let Some(backend) = backend {
                    shelf.named.entry(name).or_default().insert(backend, version);
                }
            }
        }
        shelf
    }

    fn systems<'s>(&'s self, table: &str, backend: &str) -> Option<&'s BySystem<'a>> {
        self.tables.get(table)?.get(backend)
    }

    /// Returns all versions of the table `file`, for the same system and backend. `None` if the catalog does not list
    /// the table.
    pub(crate) fn editions<'s>(&'s self, file: &TableFile) -> Option<&'s Editions<'a>> {
        self.editions_of(&file.table, &file.place.backend, &file.place.system)
    }

    /// Returns the versions of a backend's table on a system; `None` if the catalog has none.
    pub(crate) fn editions_of<'s>(
        &'s self,
        table: &str,
        backend: &str,
        system: &str,
    ) -> Option<&'s Editions<'a>> {
        self.systems(table, backend)?.get(system)
    }

    /// Returns the donors of a table that the version directory at `place` declares: the versions that provide missing
    /// rows.
    pub(crate) fn donors(&self, place: &Place, table: &str) -> Vec<&'a str> {
        let declared = self.reuse.get(place).into_iter().flatten();
        declared.filter(|(t, _)| *t == table).map(|(_, version)| *version).collect()
    }

    /// Returns the files from which the loader reads a table of the version at `place`. The version need not have a
    /// file of its own for this table.
    pub fn sources(&self, place: &Place, table: &str, filling: Filling) -> Served<'a> {
        let Some(system) = self.loaders.get(place.system.as_str()) else {
            return Served::default();
        };
        let nothing_lent = ReuseManifest::default();
        Served::of(system.sources(&place.backend, &place.version, table, filling, &nothing_lent))
    }

    /// Returns the tables that the loader finds on a system; `None` for a system without tables.
    pub(crate) fn loader(&self, system: &str) -> Option<&SystemShelf<'a>> {
        self.loaders.get(system)
    }

    /// Returns the files that the loader reads for one version of a table.
    pub(crate) fn served(&self, spec: &TableSpec, edition: &Edition<'a>) -> Served<'a> {
        self.sources(&edition.files[0].place, &spec.name, spec.filling)
    }

    /// Returns the versions of a system's backend that a query can reach; `None` if the database does not
    /// state them.
    pub fn slots(&self, system: &str, backend: &str) -> Option<&Slots<'a>> {
        self.slots.get(system)?.get(backend)
    }

    /// Returns true if a query can reach a version of a backend on a system. If the system's YAML names one version (as
    /// for libraries such as NCCL), queries reach only that version. Otherwise, queries reach the versions that the
    /// database lists as reachable, or all versions if the database has no such list.
    pub(crate) fn is_reached(&self, system: &str, backend: &str, version: &str) -> bool {
        if let Some(named) = self.named.get(system).and_then(|named| named.get(backend)) {
            return *named == version;
        }
        self.slots(system, backend).is_none_or(|slots| slots.versions().any(|v| v == version))
    }

    /// Returns the version of a table that queries read by default:
    /// - the version that the system's YAML names, as it does for libraries such as NCCL;
    /// - otherwise, the version that the database states as current, or the table's next older version;
    /// - otherwise, the newest version.
    pub(crate) fn current<'s>(
        &'s self,
        system: &str,
        editions: &'s Editions<'a>,
    ) -> Option<&'s Edition<'a>> {
        let file = editions.newest()?.files.first()?;
        let (backend, table) = (&file.place.backend, &file.table);
        // A version that the loader skips as incomplete does not answer queries.
        let is_read = |edition: &&Edition<'_>| {
            let loader = self.loaders.get(system);
            loader.is_none_or(|loader| loader.own(backend, edition.version, table).is_some())
        };
        let newest = editions.iter().rev().find(is_read)?;
        let named = self.named.get(system).and_then(|n| n.get(file.place.backend.as_str()));
        let named = named.and_then(|version| editions.get(version));
        let slots = self.slots(system, &file.place.backend);
        let reads = |slots: &Slots<'_>| {
            let earlier = || editions.before(slots.current).filter(is_read).last();
            editions.get(slots.current).filter(is_read).or_else(earlier)
        };
        named.or_else(|| slots.and_then(reads)).or(Some(newest))
    }

    /// Returns the peers of a table on other systems, and how they are related to it. Peers are the table's current
    /// versions on systems of the same GPU generation. If there are no such peers, the tables of the same version on
    /// all other systems are peers, because collectors of one version measure the same cases.
    pub(crate) fn peers_of<'s>(
        &'s self,
        file: &TableFile,
    ) -> (SystemKinship, Vec<SystemPeer<'s, 'a>>) {
        self.system_peers_of(&file.table, &file.place)
    }

    /// Returns the peers that a table at `place` has on other systems. See [`peers_of`](Self::peers_of). The table
    /// itself need not exist.
    pub(crate) fn system_peers_of<'s>(
        &'s self,
        table: &str,
        place: &Place,
    ) -> (SystemKinship, Vec<SystemPeer<'s, 'a>>) {
        let Some(systems) = self.systems(table, &place.backend) else {
            return (SystemKinship::SameVersion, Vec::new());
        };
        if let Some(own) = self.generations.get(place.system.as_str()) {
            let near = peers_around(systems, &place.system, |system, editions| {
                let alike = self.generations.get(system) == Some(own);
                alike.then(|| self.current(system, editions)).flatten()
            });
            if !near.is_empty() {
                return (SystemKinship::Generation, near);
            }
        }
        let same = |_: &str, editions: &'s Editions<'a>| editions.get(&place.version);
        (SystemKinship::SameVersion, peers_around(systems, &place.system, same))
    }

    /// Returns a table's peers in other versions: the newest versions except `current`, at most [`MOST_PEERS`].
    pub(crate) fn other_versions<'s>(
        &self,
        editions: &'s Editions<'a>,
        current: &str,
    ) -> Vec<&'s Edition<'a>> {
        let others = editions.iter().rev().filter(|edition| edition.version != current);
        let mut others: Vec<_> = others.take(MOST_PEERS).collect();
        others.reverse();
        others
    }

    /// Returns the paths of the tables with which other tables are compared key by key.
    pub fn references(&self, specs: &Specs) -> BTreeSet<&'a str> {
        let mut files: Vec<&'a TableFile> = Vec::new();
        for (table, backends) in &self.tables {
            let Some(spec) = specs.tables.get(table) else { continue };
            for (system, editions) in backends.values().flatten() {
                let Some(current) = self.current(system, editions) else { continue };
                for (_, _, edition) in self.peers_of(current.files[0]).1 {
                    files.extend(self.served(spec, edition).fresh());
                }
                if spec.filling != Filling::Always {
                    let others = self.other_versions(editions, current.version);
                    files.extend(others.into_iter().flat_map(|edition| &edition.files));
                }
            }
        }
        files.into_iter().map(|f| f.entry.path.as_str()).collect()
    }
}

/// The files that the loader reads for one version of a table, in the loader's order. Files of other backends are left
/// out, because the loader takes only rows of some kernels from them.
#[derive(Debug, Clone, Default)]
pub struct Served<'a> {
    /// The version's own file; `None` if the version only has rows of other versions.
    pub own: Option<&'a TableFile>,
    /// The files of the donors that the version declares, in the order in which the loader reads the files.
    pub donors: Vec<&'a TableFile>,
    /// The files of earlier versions of the table, newest first.
    pub earlier: Vec<&'a TableFile>,
}

impl<'a> Served<'a> {
    fn of(sources: Vec<TableSource<'a>>) -> Self {
        let mut this = Self::default();
        for source in sources {
            match source.channel {
                Channel::Own => this.own = Some(source.file),
                Channel::Declared => this.donors.push(source.file),
                Channel::Earlier => this.earlier.push(source.file),
                Channel::OtherBackend => {}
            }
        }
        this
    }

    /// Returns the version's own file and the files of its donors. Files of earlier versions are left out, because the
    /// collector may have dropped their rows on purpose.
    pub(crate) fn fresh(&self) -> impl Iterator<Item = &'a TableFile> {
        self.own.iter().chain(&self.donors).copied()
    }

    /// Returns all files in the loader's order.
    pub fn files(self) -> impl Iterator<Item = &'a TableFile> + use<'a> {
        self.own.into_iter().chain(self.donors).chain(self.earlier)
    }
}

/// Returns the versions that a query can reach, by system and backend, for all backends with tables on the
/// system. Directories that the loader skips as incomplete do not count.
pub fn slots<'a>(
    catalog: &'a Catalog,
    versions: &'a QueryVersions,
) -> BTreeMap<&'a str, BTreeMap<&'a str, Slots<'a>>> {
    let mut fleet: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut there = BTreeSet::new();
    let is_read = |table: &&TableFile| catalog.dir_of(table).is_none_or(|dir| !dir.is_vetoed());
    let tables = catalog.tables.iter().filter(is_read);
    for Place { system, backend, version, .. } in tables.map(|t| &t.place) {
        there.insert((system.as_str(), backend.as_str()));
        if !versions.is_frozen(system, backend) {
            fleet.entry(backend).or_default().insert(version);
        }
    }
    let mut slots: BTreeMap<&str, BTreeMap<&str, Slots<'_>>> = BTreeMap::new();
    for (system, backend) in there {
        let fleet = fleet.get(backend).into_iter().flatten().copied();
        let own = versions.slots(system, backend, fleet).map(|slots| (backend, slots));
        slots.entry(system).or_default().extend(own);
    }
    slots
}
