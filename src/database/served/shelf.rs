//! The tables of a database by name, backend, system and version, and which of them a table is compared
//! with.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::str::FromStr;

use pep440_rs::Version;

use super::{Channel, ReuseManifest, ServedFormats, SystemShelf, TableSource};
use crate::base::reason::Reason;
use crate::database::catalog::{Catalog, Place, TableFile, VersionDir};
use crate::database::sidecar::Reuse;
use crate::specs::{Filling, Specs, TableSpec};

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
    /// What the loader finds, by system.
    loaders: BTreeMap<&'a str, SystemShelf<'a>>,
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
}

impl<'a> Shelf<'a> {
    /// Sorts the tables of a catalog; `reuse` is what its version directories declare, by path.
    pub fn new(catalog: &'a Catalog, reuse: &'a BTreeMap<String, Result<Reuse, Reason>>) -> Self {
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
        for system in catalog.dirs.values().map(|dir| dir.place.system.as_str()) {
            shelf.loaders.entry(system).or_insert_with(|| {
                let declared =
                    |dir: &VersionDir| Some(reuse.get(&dir.path)?.as_ref().ok()?.donors());
                SystemShelf::new(catalog, system, ServedFormats::All, declared)
            });
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

    /// Versions that a version of a backend declares as donors of a table, in whichever family's
    /// directory it does.
    pub fn declared(&self, place: &Place, table: &str) -> Vec<&'a str> {
        let alike = |p: &&&Place| {
            (&p.system, &p.backend, &p.version) == (&place.system, &place.backend, &place.version)
        };
        self.reuse.keys().filter(alike).flat_map(|p| self.donors(p, table)).collect()
    }

    /// What a version of a system's backend reads of a table, whether or not it has one itself.
    pub fn sources(&self, place: &Place, table: &str, filling: Filling) -> Served<'a> {
        let Some(system) = self.loaders.get(place.system.as_str()) else {
            return Served::default();
        };
        let nothing_lent = ReuseManifest::default();
        Served::of(system.sources(&place.backend, &place.version, table, filling, &nothing_lent))
    }

    /// What `edition` of a table is loaded from.
    pub fn served(&self, spec: &TableSpec, edition: &Edition<'a>) -> Served<'a> {
        self.sources(&edition.files[0].place, &spec.name, spec.filling)
    }

    /// The version that counts: the one that the system's YAML names for the backend (a library's,
    /// NCCL's for one), else the newest.
    pub fn current<'s>(
        &'s self,
        system: &str,
        editions: &'s Editions<'a>,
    ) -> Option<&'s Edition<'a>> {
        let file = editions.0.last()?.files.first()?;
        let named = self.named.get(system).and_then(|n| n.get(file.place.backend.as_str()));
        named.and_then(|version| editions.get(version)).or(editions.0.last())
    }

    /// The nearest other systems that have a table: those of the same generation, each with the
    /// version that counts there; where none has it, all others that have its very version, since
    /// collectors of one version have one plan.
    pub fn near<'s>(&'s self, file: &TableFile) -> (Nearness, Vec<Near<'s, 'a>>) {
        self.near_of(&file.table, &file.place)
    }

    /// The nearest other systems that have a table, as [`near`](Self::near) of it in that place,
    /// whether or not it is there.
    pub fn near_of<'s>(&'s self, table: &str, place: &Place) -> (Nearness, Vec<Near<'s, 'a>>) {
        let Some(systems) = self.systems(table, &place.backend) else {
            return (Nearness::SameVersion, Vec::new());
        };
        if let Some(own) = self.generations.get(place.system.as_str()) {
            let near = around(systems, &place.system, |system, editions| {
                let alike = self.generations.get(system) == Some(own);
                alike.then(|| self.current(system, editions)).flatten()
            });
            if !near.is_empty() {
                return (Nearness::Generation, near);
            }
        }
        let same = |_: &str, editions: &'s Editions<'a>| editions.get(&place.version);
        (Nearness::SameVersion, around(systems, &place.system, same))
    }

    /// Paths of the tables that others are compared with key by key.
    pub fn references(&self, specs: &Specs) -> BTreeSet<&'a str> {
        let mut files: Vec<&'a TableFile> = Vec::new();
        for (table, backends) in &self.tables {
            let Some(spec) = specs.tables.get(*table) else { continue };
            for (system, editions) in backends.values().flatten() {
                let Some(current) = self.current(system, editions) else { continue };
                for (_, _, edition) in self.near(current.files[0]).1 {
                    files.extend(self.served(spec, edition).fresh());
                }
                if spec.filling != Filling::Always {
                    files.extend(editions.iter().flat_map(|e| &e.files));
                }
            }
        }
        files.into_iter().map(|f| f.entry.path.as_str()).collect()
    }
}

/// Other systems that a table is compared with, at most: more than any generation has. Work for each
/// table is bounded so, however many systems there are.
const MOST_NEAR: usize = 16;

/// The systems of which `wanted` has an edition, in the order of their names; of more than
/// [`MOST_NEAR`] those next to `own` in that order.
fn around<'s, 'a>(
    systems: &'s BySystem<'a>,
    own: &str,
    wanted: impl Fn(&str, &'s Editions<'a>) -> Option<&'s Edition<'a>>,
) -> Vec<Near<'s, 'a>> {
    let near = |(system, editions): (&&'a str, &'s Editions<'a>)| {
        Some((*system, editions, wanted(system, editions)?))
    };
    let below = (Bound::Unbounded, Bound::Excluded(own));
    let above = (Bound::Excluded(own), Bound::Unbounded);
    let mut before: Vec<_> =
        systems.range::<str, _>(below).rev().filter_map(near).take(MOST_NEAR).collect();
    let mut after: Vec<_> =
        systems.range::<str, _>(above).filter_map(near).take(MOST_NEAR).collect();
    let half = MOST_NEAR / 2;
    before.truncate(half.max(MOST_NEAR - after.len()));
    after.truncate(MOST_NEAR - before.len());
    before.reverse();
    before.extend(after);
    before
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

/// The files that a version is loaded from, in the loader's order, without those of other backends:
/// these lend rows of some kernels alone.
#[derive(Debug, Default)]
pub struct Served<'a> {
    /// Its own.
    pub own: Option<&'a TableFile>,
    /// Those of the donors that it declares, in file order.
    pub donors: Vec<&'a TableFile>,
    /// Those of earlier versions, nearest first.
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
    fn of_many_systems_those_next_to_it_are_near() {
        let files: Vec<TableFile> = (10..99).map(|i| file(&format!("s{i}"), "1")).collect();
        let mut systems = BySystem::new();
        files.iter().for_each(|f| systems.entry(&f.place.system).or_default().add(f));
        let names_in = |systems: &BySystem<'_>, own: &str| {
            let near = around(systems, own, |_, editions| editions.get("1"));
            let names: Vec<&str> = near.iter().map(|(system, ..)| *system).collect();
            (names.len(), names[0].to_owned(), names[names.len() - 1].to_owned())
        };
        let names = |own: &str| names_in(&systems, own);
        let expected = |first: &str, last: &str| (16, first.to_owned(), last.to_owned());
        assert_eq!(names("s50"), expected("s42", "s58"));
        assert_eq!(names("s11"), expected("s10", "s27"));
        assert_eq!(names("s98"), expected("s82", "s97"));
        assert_eq!(names("t"), expected("s83", "s98"));
        systems.retain(|name, _| *name < "s13");
        assert_eq!(names_in(&systems, "s11"), (2, "s10".to_owned(), "s12".to_owned()));
    }

    #[test]
    fn versions_are_ordered_as_the_loader_orders_them() {
        let files = ["0.9.0", "0.10.0", "0.10.0rc1", "odd"].map(|v| file("s", v));
        let mut editions = Editions::default();
        files.iter().for_each(|f| editions.add(f));
        editions.0.sort_by_cached_key(|e| (e.parsed.clone(), e.version));
        let order: Vec<&str> = editions.iter().map(|e| e.version).collect();
        assert_eq!(order, ["odd", "0.9.0", "0.10.0rc1", "0.10.0"]);
    }
}
