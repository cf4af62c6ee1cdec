//! Which files stand behind a table when it is loaded, and which tables are its references.
//!
//! A version's table is its own rows, then those of declared donors, then those of earlier versions
//! of the same backend; of some tables, its own rows alone.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;

use crate::base::reason::Reason;
use crate::database::catalog::{Catalog, Place, TableFile};
use crate::database::sidecar::Reuse;
use crate::database::slots::slots;
use crate::specs::facts::Slots;
use crate::specs::{Specs, TableSpec};

/// References that a table is compared with. Every table with every other takes the square of their number,
/// and what eight agree on, more would not tell better; tables of the public database have up to four.
const MOST_NEAR: usize = 8;

/// A version of a table: its files, one unless it lies in two layouts.
#[derive(Debug)]
pub struct Edition<'a> {
    /// As its directory is named.
    pub version: &'a str,
    /// As it is ordered; the loader passes over one that it cannot order.
    parsed: Option<Version>,
    /// By path.
    pub files: Vec<&'a TableFile>,
}

/// The versions of one table of one backend on one system, in their order.
#[derive(Debug, Default)]
pub struct Editions<'a>(Vec<Edition<'a>>);

/// A table of one backend by system.
type BySystem<'a> = BTreeMap<&'a str, Editions<'a>>;

/// Every table of a database: by name, by backend, then by system.
#[derive(Debug, Default)]
pub struct Shelf<'a> {
    tables: BTreeMap<&'a str, BTreeMap<&'a str, BySystem<'a>>>,
    generations: BTreeMap<&'a str, &'a str>,
    /// Versions that a system's YAML names, by backend.
    named: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
    /// Declared reuse: table and donor by the directory that declares it.
    reuse: BTreeMap<&'a Place, Vec<(&'a str, &'a str)>>,
    /// The versions that a query can reach, by system and backend, where the database says that.
    slots: BTreeMap<&'a str, BTreeMap<&'a str, Slots<'a>>>,
}

impl<'a> Editions<'a> {
    fn add(&mut self, file: &'a TableFile) {
        let version = file.place.version.as_str();
        match self.0.iter_mut().find(|e| e.version == version) {
            Some(edition) => edition.files.push(file),
            None => {
                let parsed = Version::from_str(version).ok();
                self.0.push(Edition { version, parsed, files: vec![file] });
            }
        }
    }

    /// The version of that name.
    pub fn get(&self, version: &str) -> Option<&Edition<'a>> {
        self.0.iter().find(|e| e.version == version)
    }

    /// The versions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Edition<'a>> {
        self.0.iter()
    }

    /// The one that stands before `version` in their order.
    pub fn last_before(&self, version: &str) -> Option<&Edition<'a>> {
        let at = self.0.iter().position(|e| e.version == version)?;
        self.0[..at].last()
    }

    /// Those strictly before `version`, as the loader orders them.
    pub fn before(&self, version: &str) -> impl Iterator<Item = &Edition<'a>> {
        let version = Version::from_str(version).ok();
        self.0.iter().filter(move |e| e.parsed.is_some() && e.parsed < version)
    }
}

impl<'a> Shelf<'a> {
    /// Sorts the tables of a catalog; `reuse` is what its version directories declare, by path, and
    /// `specs` say what versions a query can reach.
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
            let order = |e: &Edition<'a>| (e.parsed.clone(), e.version);
            editions.0.sort_by_cached_key(order);
        }
        if let Some(versions) = &specs.query_versions {
            shelf.slots = slots(catalog, versions);
        }
        for (name, file) in &catalog.systems {
            let Ok(system) = &file.system else { continue };
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

    /// Names of the tables that a backend has on any system, in order.
    pub fn tables(&self, backend: &str) -> impl Iterator<Item = &'a str> {
        self.tables.iter().filter(move |(_, b)| b.contains_key(backend)).map(|(table, _)| *table)
    }

    /// The versions of a table on the system where it lies.
    pub fn editions<'s>(&'s self, file: &TableFile) -> Option<&'s Editions<'a>> {
        self.editions_of(&file.table, &file.place.backend, &file.place.system)
    }

    /// The versions of a backend's table on a system.
    pub fn editions_of<'s>(
        &'s self,
        table: &str,
        backend: &str,
        system: &str,
    ) -> Option<&'s Editions<'a>> {
        self.systems(table, backend)?.get(system)
    }

    /// Versions that a place declares as donors of a table.
    pub fn donors(&self, place: &Place, table: &str) -> Vec<&'a str> {
        let declared = self.reuse.get(place).into_iter().flatten();
        declared.filter(|(t, _)| *t == table).map(|(_, version)| *version).collect()
    }

    /// What `edition` of a table is loaded from.
    pub fn served(
        &self,
        spec: &TableSpec,
        editions: &Editions<'a>,
        edition: &Edition<'a>,
    ) -> Served<'a> {
        let donors = self.donors(&edition.files[0].place, &spec.name);
        Served::new(editions, edition.version, spec.shared, &donors)
    }

    /// Versions that a version of a backend declares as donors of a table, in whichever family's
    /// directory it does.
    pub fn declared(&self, place: &Place, table: &str) -> Vec<&'a str> {
        let alike = |p: &&&Place| {
            (&p.system, &p.backend, &p.version) == (&place.system, &place.backend, &place.version)
        };
        self.reuse.keys().filter(alike).flat_map(|p| self.donors(p, table)).collect()
    }

    /// What a version of a system's backend reads of a table, whether or not it has one itself.
    pub fn sources(&self, place: &Place, table: &str, shared: bool) -> Served<'a> {
        match self.editions_of(table, &place.backend, &place.system) {
            Some(editions) => {
                Served::new(editions, &place.version, shared, &self.declared(place, table))
            }
            None => Served::default(),
        }
    }

    /// What versions of a system's backend a query can reach; none where the database does not say.
    pub fn slots(&self, system: &str, backend: &str) -> Option<&Slots<'a>> {
        self.slots.get(system)?.get(backend)
    }

    /// Whether a query can reach a version of a system's backend: all of them, where nothing says.
    pub fn is_reached(&self, system: &str, backend: &str, version: &str) -> bool {
        self.slots(system, backend).is_none_or(|slots| slots.versions().any(|v| v == version))
    }

    /// The version that counts: the one that the system's YAML names for the backend (a library's,
    /// NCCL's for one), else what the current version of queries reads first, else the newest.
    pub fn current<'s>(
        &'s self,
        system: &str,
        editions: &'s Editions<'a>,
    ) -> Option<&'s Edition<'a>> {
        let file = editions.0.last()?.files.first()?;
        let named = self.named.get(system).and_then(|n| n.get(file.place.backend.as_str()));
        let slots = self.slots(system, &file.place.backend);
        let reads = |slots: &Slots<'_>| {
            editions.get(slots.current).or_else(|| editions.before(slots.current).last())
        };
        let named = named.and_then(|version| editions.get(version));
        named.or_else(|| slots.and_then(reads)).or(editions.0.last())
    }

    /// The nearest other systems that have a table: those of the same generation, each with the
    /// version that counts there; where none has it, all others that have its very version, since
    /// collectors of one version have one plan. At most [`MOST_NEAR`] of them, by name.
    pub fn near<'s>(&'s self, file: &TableFile) -> (Nearness, Vec<Near<'s, 'a>>) {
        self.near_of(&file.table, &file.place)
    }

    /// The nearest other systems that have a table, as [`near`](Self::near) of it in that place,
    /// whether or not it is there.
    pub fn near_of<'s>(&'s self, table: &str, place: &Place) -> (Nearness, Vec<Near<'s, 'a>>) {
        let own = self.generations.get(place.system.as_str());
        let systems = self.systems(table, &place.backend);
        let others = || systems.into_iter().flatten().filter(|(s, _)| **s != place.system);
        let alike = others().filter(|(s, _)| own.is_some() && self.generations.get(*s) == own);
        let current = |(s, e): (&&'a str, &'s Editions<'a>)| Some((*s, e, self.current(s, e)?));
        let near: Vec<_> = alike.filter_map(current).take(MOST_NEAR).collect();
        if !near.is_empty() {
            return (Nearness::Generation, near);
        }
        let same = |(s, e): (&&'a str, &'s Editions<'a>)| Some((*s, e, e.get(&place.version)?));
        (Nearness::SameVersion, others().filter_map(same).take(MOST_NEAR).collect())
    }

    /// Other versions of a table than `current`, which it is compared with where versions share nothing: the
    /// newest, at most [`MOST_NEAR`].
    pub fn other_versions<'s>(
        &self,
        editions: &'s Editions<'a>,
        current: &str,
    ) -> Vec<&'s Edition<'a>> {
        let others = editions.iter().rev().filter(|edition| edition.version != current);
        let mut others: Vec<_> = others.take(MOST_NEAR).collect();
        others.reverse();
        others
    }

    /// Paths of the tables that others are compared with key by key.
    pub fn references(&self, specs: &Specs) -> BTreeSet<&'a str> {
        let mut files: Vec<&'a TableFile> = Vec::new();
        for (table, backends) in &self.tables {
            let Some(spec) = specs.tables.get(*table) else { continue };
            for (system, editions) in backends.values().flatten() {
                let Some(current) = self.current(system, editions) else { continue };
                for (_, editions, edition) in self.near(current.files[0]).1 {
                    files.extend(self.served(spec, editions, edition).fresh());
                }
                if !spec.shared {
                    let others = self.other_versions(editions, current.version);
                    files.extend(others.into_iter().flat_map(|edition| &edition.files));
                }
            }
        }
        files.into_iter().map(|f| f.entry.path.as_str()).collect()
    }
}

/// What the nearest systems are near by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nearness {
    /// The generation of their GPUs.
    Generation,
    /// The version of what was measured, alone.
    SameVersion,
}

/// A system with a table's versions there, and the one to compare with.
pub type Near<'s, 'a> = (&'a str, &'s Editions<'a>, &'s Edition<'a>);

/// The files that a version is loaded from, in the loader's order.
#[derive(Debug, Default)]
pub struct Served<'a> {
    /// Its own.
    pub own: Vec<&'a TableFile>,
    /// Those of the donors that it declares.
    pub donors: Vec<&'a TableFile>,
    /// Those of earlier versions.
    pub earlier: Vec<&'a TableFile>,
}

impl<'a> Served<'a> {
    /// Of `version`; `donors` are the versions that its reuse.yaml names. Of a table that is not
    /// `shared` nothing but its own.
    fn new(editions: &Editions<'a>, version: &str, shared: bool, donors: &[&str]) -> Self {
        let own = editions.get(version).map_or_else(Vec::new, |e| e.files.clone());
        if !shared {
            return Self { own, ..Self::default() };
        }
        let declared = |e: &&Edition<'a>| donors.contains(&e.version) && e.version != version;
        let files = |e: &Edition<'a>| e.files.clone();
        Self {
            own,
            donors: editions.iter().filter(declared).flat_map(files).collect(),
            earlier: editions.before(version).filter(|e| !declared(e)).flat_map(files).collect(),
        }
    }

    /// Its own and its donors': what only earlier versions have, the collector may have given up.
    pub fn fresh(&self) -> impl Iterator<Item = &'a TableFile> {
        self.own.iter().chain(&self.donors).copied()
    }

    /// All of them, in that order.
    pub fn files(self) -> impl Iterator<Item = &'a TableFile> + use<'a> {
        self.own.into_iter().chain(self.donors).chain(self.earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::database::source::{Entry, EntryKind};

    fn file(system: &str, version: &str) -> TableFile {
        TableFile {
            entry: Entry {
                path: format!("{system}/{version}/t.parquet"),
                size: 0,
                kind: EntryKind::Link(String::new()),
            },
            place: Place {
                system: system.into(),
                family: None,
                backend: "vllm".into(),
                version: version.into(),
            },
            table: "t_perf".into(),
            format: Format::Parquet,
        }
    }

    #[test]
    fn versions_are_ordered_as_the_loader_orders_them() {
        let files = ["0.9.0", "0.10.0", "0.10.0rc1", "dev-1aa0e962"].map(|v| file("s", v));
        let mut editions = Editions::default();
        files.iter().for_each(|f| editions.add(f));
        editions.0.sort_by_cached_key(|e| (e.parsed.clone(), e.version));
        let order: Vec<&str> = editions.iter().map(|e| e.version).collect();
        assert_eq!(order, ["dev-1aa0e962", "0.9.0", "0.10.0rc1", "0.10.0"]);
        let before: Vec<&str> = editions.before("0.10.0").map(|e| e.version).collect();
        assert_eq!(before, ["0.9.0", "0.10.0rc1"], "one that cannot be ordered is passed over");
        assert_eq!(editions.before("dev-1aa0e962").count(), 0, "nor is anything before it");
        // A local version is one of its release, later than it.
        let local = "0.10.0+nvinternal.rubin.0.8full.66997102";
        assert_eq!(editions.before(local).count(), 3);
    }
}
