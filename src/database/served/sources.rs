//! The files behind a table of a version, in the loader's order (source_resolution.rs):
//!
//! 1. the version's own file;
//! 2. donors that a `reuse.yaml` of the version declares, in file order; all other versions, newest first, if
//!    the marker file SHARED_LAYER_REUSE.txt of the older scheme is there;
//! 3. earlier versions of the same backend, nearest first;
//! 4. other backends, newest version first. The loader takes only rows of the kernels that the reuse manifest shares.
//!
//! The first row of a key wins over all files. The table's spec can limit the channels: collectives of a
//! library (NCCL, oneCCL) only use the first one, and a backend's own collectives only use
//! the first and the third.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::str::FromStr;

use pep440_rs::Version;

use super::ReuseManifest;
use super::editions::{BySystem, Edition, Editions};
use crate::database::catalog::{Catalog, TableFile, VersionDir};
use crate::specs::Filling;

/// The channel through which the loader finds a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The version's own file.
    Own,
    /// A donor's file, declared in reuse.yaml.
    Declared,
    /// The file of an earlier version of the backend.
    Earlier,
    /// A file of another backend that shares its rows according to the reuse manifest.
    OtherBackend,
}

/// A file from which the loader reads rows of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableSource<'a> {
    /// The file that the loader reads.
    pub file: &'a TableFile,
    /// The channel through which the loader finds the file.
    pub channel: Channel,
}

/// The tables of one system by backend and version.
#[derive(Debug, Default)]
pub(crate) struct SystemShelf<'a> {
    backends: BTreeMap<&'a str, BTreeMap<&'a str, VersionTables<'a>>>,
}

/// The tables of a version of a backend, over all families.
#[derive(Debug, Default)]
struct VersionTables<'a> {
    parsed: Option<Version>,
    /// The tables by name. If several families have a table of the same name, this is the table of the first family.
    tables: BTreeMap<&'a str, &'a TableFile>,
    /// The donors that the version's `reuse.yaml` files declare, each as table and version, in the declared order. A
    /// donor is another version that provides missing rows.
    donors: Vec<(String, String)>,
    /// True if the marker file `SHARED_LAYER_REUSE.txt` makes all other versions donors.
    reuses_all: bool,
}

impl<'a> SystemShelf<'a> {
    /// Indexes the tables of one system. `dirs` are the system's version directories; those that the loader skips as
    /// incomplete are left out. `reuse` returns the donors that a directory declares, as pairs of table and version.
    /// Tables in text format are included.
    pub(crate) fn new(
        catalog: &'a Catalog,
        dirs: impl Iterator<Item = &'a VersionDir>,
        reuse: impl Fn(&VersionDir) -> Option<Vec<(String, String)>>,
    ) -> Self {
        let mut this = Self::default();
        // The loader looks in family directories first, then in the flat layout.
        let (families, flat): (Vec<_>, Vec<_>) = dirs.partition(|d| d.place.family.is_some());
        for dir in families.into_iter().chain(flat).filter(|dir| !dir.is_vetoed()) {
            let versions = this.backends.entry(&dir.place.backend).or_default();
            let version = dir.place.version.as_str();
            let edition = versions.entry(version).or_insert_with(|| VersionTables {
                parsed: Version::from_str(version).ok(),
                ..VersionTables::default()
            });
            edition.donors.extend(reuse(dir).unwrap_or_default());
            edition.reuses_all |= dir.reuses_all();
            for file in dir.tables.iter().filter_map(|i| catalog.tables.get(*i)) {
                edition.tables.entry(&file.table).or_insert(file);
            }
        }
        this
    }

    /// Returns the backends with their versions, oldest first.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
        self.backends.iter().map(|(backend, versions)| {
            let mut known: Vec<(&Option<Version>, &'a str)> =
                versions.iter().map(|(v, e)| (&e.parsed, *v)).collect();
            known.sort();
            (*backend, known.into_iter().map(|(_, version)| version).collect())
        })
    }

    /// Returns the file of a table in the version's own directories; `None` if these have no such file. If several
    /// families have the file, returns the one that the loader finds first.
    pub(crate) fn own(&self, backend: &str, version: &str, table: &str) -> Option<&'a TableFile> {
        self.backends.get(backend)?.get(version)?.tables.get(table).copied()
    }

    /// Returns all files from which the loader reads a version's table, in the loader's order. `filling` states which
    /// files other than the version's own may fill gaps.
    pub(crate) fn sources(
        &self,
        backend: &str,
        version: &str,
        table: &str,
        filling: Filling,
        manifest: &ReuseManifest,
    ) -> Vec<TableSource<'a>> {
        let plain = |file, channel| TableSource { file, channel };
        let own = self.own(backend, version, table);
        let mut found: Vec<TableSource<'a>> =
            own.map(|file| plain(file, Channel::Own)).into_iter().collect();
        if filling == Filling::Never {
            return found;
        }
        let is_open = filling == Filling::Always;
        let declared = if is_open { self.declared(backend, version, table) } else { Vec::new() };
        found.extend(declared.iter().map(|(_, file)| plain(file, Channel::Declared)));
        for (other, file) in self.earlier(backend, version, table) {
            if declared.iter().all(|(donor, _)| *donor != other) {
                found.push(plain(file, Channel::Earlier));
            }
        }
        for other in manifest.lenders(table, backend).into_iter().filter(|_| is_open) {
            let files = self.newest_first(&other, table).into_iter();
            found.extend(files.map(|file| plain(file, Channel::OtherBackend)));
        }
        found
    }

    /// Returns the donors of a version's table, each as version and file: other versions that provide missing rows.
    /// Donors from `reuse.yaml` come first, in the order of that file. If a marker file makes all other versions
    /// donors, the remaining versions follow, newest first.
    fn declared(&self, backend: &str, version: &str, table: &str) -> Vec<(&'a str, &'a TableFile)> {
        let mut found: Vec<(&'a str, &'a TableFile)> = Vec::new();
        let Some(versions) = self.backends.get(backend) else { return found };
        let Some(edition) = versions.get(version) else { return found };
        let named = edition.donors.iter().filter(|(of, _)| of == table);
        let mut donors: Vec<&str> = named.map(|(_, donor)| donor.as_str()).collect();
        if edition.reuses_all {
            let all = self.newest_first(backend, table);
            donors.extend(all.iter().map(|file| file.place.version.as_str()));
        }
        for donor in donors {
            let Some((name, other)) = versions.get_key_value(donor) else { continue };
            let file = other.tables.get(table).copied().filter(|_| *name != version);
            if let Some(file) = file.filter(|_| found.iter().all(|(n, _)| n != name)) {
                found.push((name, file));
            }
        }
        found
    }

    /// Returns the earlier versions that have the table, newest first; none if `version` cannot be parsed.
    fn earlier(
        &self,
        backend: &str,
        version: &str,
        table: &str,
    ) -> impl Iterator<Item = (&'a str, &'a TableFile)> {
        let asked = Version::from_str(version).ok();
        let versions = self.backends.get(backend).into_iter().flatten();
        let mut found: Vec<(&Version, &'a str, &'a TableFile)> = versions
            .filter_map(|(name, e)| Some((e.parsed.as_ref()?, *name, *e.tables.get(table)?)))
            .filter(|(parsed, name, _)| {
                *name != version && asked.as_ref().is_some_and(|a| *parsed < a)
            })
            .collect();
        found.sort_by(|a, b| b.0.cmp(a.0).then(a.1.cmp(b.1)));
        found.into_iter().map(|(_, name, file)| (name, file))
    }

    /// Returns the files of a backend's table, sorted from the newest version to the oldest. Files of versions that
    /// cannot be parsed come last.
    fn newest_first(&self, backend: &str, table: &str) -> Vec<&'a TableFile> {
        let versions = self.backends.get(backend).into_iter().flatten();
        let mut found: Vec<(&Option<Version>, &str, &'a TableFile)> = versions
            .filter_map(|(name, e)| Some((&e.parsed, *name, *e.tables.get(table)?)))
            .collect();
        found.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)));
        found.into_iter().map(|(.., file)| file).collect()
    }
}

/// The maximum number of peers of a table on other systems, and the maximum number of peers in other versions. All
/// pairs are compared, so the time grows quadratically. Tables of the public database have at most four peers.
pub(super) const MOST_PEERS: usize = 8;

/// Returns the peers of a table on systems other than `own`, sorted by system name. `wanted` returns the version to
/// compare with, or `None` for a system without a peer. Of more than [`MOST_PEERS`] peers, only those with the names
/// closest to `own` in alphabetical order are returned.
pub(super) fn peers_around<'s, 'a>(
    systems: &'s BySystem<'a>,
    own: &str,
    wanted: impl Fn(&str, &'s Editions<'a>) -> Option<&'s Edition<'a>>,
) -> Vec<SystemPeer<'s, 'a>> {
    let near = |(system, editions): (&&'a str, &'s Editions<'a>)| {
        tracing::trace!("lookup");
        Some((*system, editions, wanted(system, editions)?))
    };
    let below = (Bound::Unbounded, Bound::Excluded(own));
    let above = (Bound::Excluded(own), Bound::Unbounded);
    let mut before: Vec<_> =
        systems.range::<str, _>(below).rev().filter_map(near).take(MOST_PEERS).collect();
    let mut after: Vec<_> =
        systems.range::<str, _>(above).filter_map(near).take(MOST_PEERS).collect();
    let half = MOST_PEERS / 2;
    before.truncate(half.max(MOST_PEERS - after.len()));
    after.truncate(MOST_PEERS - before.len());
    before.reverse();
    before.extend(after);
    before
}

/// How a table and its peers on other systems are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemKinship {
    /// The systems have the same GPU generation.
    Generation,
    /// The tables have the same software version. The GPU generations of the systems may differ.
    SameVersion,
}

/// A peer of a table on another system: the system's name, all versions of the table on that system, and the version to
/// compare with.
pub(crate) type SystemPeer<'s, 'a> = (&'a str, &'s Editions<'a>, &'s Edition<'a>);

#[cfg(test)]
mod tests {
    use super::super::tests::table_file;
    use super::*;
    use crate::database::catalog::TableFile;

    #[test]
    fn only_the_next_systems_in_order_are_peers_of_a_system() {
        let files: Vec<TableFile> = (10..99).map(|i| table_file(&format!("s{i}"), "1")).collect();
        let mut systems = BySystem::new();
        files.iter().for_each(|f| systems.entry(&f.place.system).or_default().add(f));
        let names_in = |systems: &BySystem<'_>, own: &str| {
            let near = peers_around(systems, own, |_, editions| editions.get("1"));
            let names: Vec<&str> = near.iter().map(|(system, ..)| *system).collect();
            (names.len(), names[0].to_owned(), names[names.len() - 1].to_owned())
        };
        let names = |own: &str| names_in(&systems, own);
        let expected = |first: &str, last: &str| (8, first.to_owned(), last.to_owned());
        assert_eq!(names("s50"), expected("s46", "s54"));
        assert_eq!(names("s11"), expected("s10", "s18"));
        assert_eq!(names("s98"), expected("s90", "s97"));
        assert_eq!(names("t"), expected("s91", "s98"));
        systems.retain(|name, _| *name < "s13");
        assert_eq!(names_in(&systems, "s11"), (2, "s10".to_owned(), "s12".to_owned()));
    }
}
