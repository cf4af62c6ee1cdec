//! Which files stand behind a table of a version, in the loader's order (source_resolution.rs).
//!
//! 1. the version's own file;
//! 2. donors that a `reuse.yaml` of the version declares, in file order;
//! 3. earlier versions of the same backend, nearest first;
//! 4. other backends, newest version first, only rows of the kernels that the reuse manifest shares.
//!
//! The first row of a key wins over all files. Collectives of a library (NCCL, oneCCL) have the first
//! channel alone, and so does any table that the version keeps in the family `comm`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;
use serde::Deserialize;

use super::operations::TableName;
use super::{Catalog, Format, Reason, Reuse, TableFile, yaml};

/// The family whose tables are never shared.
const COMM: &str = "comm";

/// How the loader comes to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The version's own.
    Own,
    /// Declared in reuse.yaml.
    Declared,
    /// An earlier version of the backend.
    Earlier,
    /// Another backend, by the reuse manifest.
    OtherBackend,
}

impl Channel {
    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Declared => "declared donor",
            Self::Earlier => "earlier version",
            Self::OtherBackend => "other backend",
        }
    }
}

/// A file behind a table.
#[derive(Debug, Clone)]
pub struct TableSource<'a> {
    /// The file.
    pub file: &'a TableFile,
    /// How the loader comes to it.
    pub channel: Channel,
    /// The values of kernel_source that it serves; all without this.
    pub kernels: Option<BTreeSet<String>>,
}

/// What backends take from each other: `perf_data_reuse_manifest.yaml`.
#[derive(Debug, Default, Deserialize)]
pub struct ReuseManifest {
    #[serde(default)]
    groups: Vec<Group>,
}

/// Backends that share the rows of a kernel.
#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    op_file: Option<String>,
    #[serde(default)]
    kernel_source: Option<String>,
    #[serde(default)]
    tier: Option<String>,
    #[serde(default)]
    frameworks: Option<Vec<String>>,
}

impl ReuseManifest {
    /// Parses a manifest. The error is one line.
    pub fn parse(bytes: &[u8]) -> Result<Self, Reason> {
        yaml::parse(&String::from_utf8_lossy(bytes))
    }

    /// The kernels of a table that `backend` may take from others, by backend, sorted.
    fn shared(&self, table: &str, backend: &str) -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for group in &self.groups {
            let stem = group.op_file.as_deref().and_then(|f| f.rsplit_once('.'));
            let shares = matches!(group.tier.as_deref(), Some("shared" | "shared_fallback"));
            let kernel = group.kernel_source.as_deref().filter(|k| !k.is_empty());
            let (Some((stem, _)), Some(kernel), true) = (stem, kernel, shares) else { continue };
            let backends: Vec<String> =
                group.frameworks.iter().flatten().map(|f| f.to_lowercase()).collect();
            if stem != table || !backends.iter().any(|b| b == backend) {
                continue;
            }
            for other in backends.into_iter().filter(|b| b != backend) {
                found.entry(other).or_default().insert(kernel.to_owned());
            }
        }
        found
    }
}

/// The tables of one system, by backend and version.
#[derive(Debug, Default)]
pub struct SystemShelf<'a> {
    backends: BTreeMap<&'a str, BTreeMap<&'a str, VersionTables<'a>>>,
}

/// A version of a backend, over all families.
#[derive(Debug, Default)]
struct VersionTables<'a> {
    parsed: Option<Version>,
    /// Tables by stem; the first family in order wins.
    tables: BTreeMap<&'a str, &'a TableFile>,
    /// Paths of its directories, for reuse.yaml.
    dirs: Vec<&'a str>,
}

impl<'a> SystemShelf<'a> {
    /// The tables of `system`. A directory with the old marker of incomplete data and no
    /// collection_meta.yaml is passed over, and so is text: the loader reads Parquet alone.
    pub fn new(catalog: &'a Catalog, system: &str) -> Self {
        let mut this = Self::default();
        // By family first, then the flat layout, as the loader looks.
        let dirs = catalog.dirs.values().filter(|d| d.place.system == system);
        let (families, flat): (Vec<_>, Vec<_>) = dirs.partition(|d| d.place.family.is_some());
        for dir in families.into_iter().chain(flat) {
            let versions = this.backends.entry(&dir.place.backend).or_default();
            let version = dir.place.version.as_str();
            let edition = versions.entry(version).or_insert_with(|| VersionTables {
                parsed: Version::from_str(version).ok(),
                ..VersionTables::default()
            });
            edition.dirs.push(&dir.path);
            let incomplete = |e: &super::Entry| e.path.ends_with("/INCOMPLETE.txt");
            if dir.meta.is_none() && dir.markers.iter().any(incomplete) {
                continue;
            }
            for file in dir.tables.iter().filter_map(|i| catalog.tables.get(*i)) {
                if file.format == Format::Parquet {
                    edition.tables.entry(&file.table).or_insert(file);
                }
            }
        }
        this
    }

    /// Backends with their versions, oldest first, that some family has a directory of.
    pub fn versions(&self) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
        self.backends.iter().map(|(backend, versions)| {
            let mut known: Vec<(&Option<Version>, &'a str)> =
                versions.iter().map(|(v, e)| (&e.parsed, *v)).collect();
            known.sort();
            (*backend, known.into_iter().map(|(_, version)| version).collect())
        })
    }

    /// Whether any family has a directory of a version.
    pub fn has(&self, backend: &str, version: &str) -> bool {
        self.backends.get(backend).is_some_and(|v| v.contains_key(version))
    }

    /// The file of a library's own table, such as NCCL's, in the version that the machine has.
    pub fn library(&self, library: &str, version: &str, table: &str) -> Option<&'a TableFile> {
        self.file(library, version, table)
    }

    fn file(&self, backend: &str, version: &str, table: &str) -> Option<&'a TableFile> {
        self.backends.get(backend)?.get(version)?.tables.get(table).copied()
    }

    /// The files behind a table of a version. `reuse` gives what a directory declares.
    pub fn sources(
        &self,
        backend: &str,
        version: &str,
        table: TableName,
        manifest: &ReuseManifest,
        reuse: &BTreeMap<String, Reuse>,
    ) -> Vec<TableSource<'a>> {
        let stem = table.stem();
        let plain = |file, channel| TableSource { file, channel, kernels: None };
        let own = self.file(backend, version, stem);
        let mut found: Vec<TableSource<'a>> =
            own.map(|file| plain(file, Channel::Own)).into_iter().collect();
        let alone = own.is_some_and(|f| f.place.family.as_deref() == Some(COMM));
        if alone {
            return found;
        }
        let declared = self.declared(backend, version, stem, reuse);
        found.extend(declared.iter().map(|(_, file)| plain(file, Channel::Declared)));
        for (other, file) in self.earlier(backend, version, stem) {
            if declared.iter().all(|(donor, _)| *donor != other) {
                found.push(plain(file, Channel::Earlier));
            }
        }
        for (other, kernels) in manifest.shared(stem, backend) {
            for file in self.newest_first(&other, stem) {
                let kernels = Some(kernels.clone());
                found.push(TableSource { file, channel: Channel::OtherBackend, kernels });
            }
        }
        found
    }

    /// Declared donors that have the table, each version once, in file order.
    fn declared(
        &self,
        backend: &str,
        version: &str,
        table: &str,
        reuse: &BTreeMap<String, Reuse>,
    ) -> Vec<(&'a str, &'a TableFile)> {
        let mut found: Vec<(&'a str, &'a TableFile)> = Vec::new();
        let Some(versions) = self.backends.get(backend) else { return found };
        let Some(edition) = versions.get(version) else { return found };
        for donor in edition.dirs.iter().filter_map(|d| reuse.get(*d)).flat_map(|r| &r.reuse) {
            let known = versions.get_key_value(donor.from_version.as_str());
            let Some((name, other)) = known.filter(|_| donor.table == table) else { continue };
            let file = other.tables.get(table).copied();
            if let Some(file) = file.filter(|_| found.iter().all(|(n, _)| n != name)) {
                found.push((name, file));
            }
        }
        found
    }

    /// Earlier versions that have the table, nearest first; none where the version has no order.
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

    /// Files of a table of a backend, newest version first, versions without an order last.
    fn newest_first(&self, backend: &str, table: &str) -> Vec<&'a TableFile> {
        let versions = self.backends.get(backend).into_iter().flatten();
        let mut found: Vec<(&Option<Version>, &str, &'a TableFile)> = versions
            .filter_map(|(name, e)| Some((&e.parsed, *name, *e.tables.get(table)?)))
            .collect();
        found.sort_by(|a, b| (b.0, b.1).cmp(&(a.0, a.1)));
        found.into_iter().map(|(.., file)| file).collect()
    }
}
