//! Finds the perf database in a source: systems, version directories, tables, sidecars.
//!
//! This module is the only one that knows the layouts of databases, and [`walk`] decides how each file is
//! used:
//!
//! ```text
//! systems/<system>.yaml                                              a machine; its data_dir wins
//! systems/data/<system>/<family>/<backend>/<version>/<table>.parquet  by family
//! systems/data/<system>/<backend>/<version>/<table>.{txt,parquet}     flat, before July 2026
//! systems/support_matrix/<system>.csv                                the models that should be plannable
//! systems/perf_data_reuse_manifest.yaml                              the rows that backends share
//! ```
//!
//! A source may contain several such roots; [`roots`] finds them.

mod by_path;
mod links;
mod places;
mod roots;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use by_path::place_of;
pub(crate) use places::{is_misspelt, is_passed_over};

use crate::base::error::{Error, Result};
use crate::base::reason::Reason;
use crate::database::source::{Entry, Source};
use crate::specs::Specs;
use crate::specs::system::System;

/// The file format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated text, the collectors' staging format.
    Csv,
}

/// A table's place in the database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The system's name.
    pub system: String,
    /// The family directory's name; `None` in the flat layout.
    pub family: Option<String>,
    /// The backend directory's name.
    pub backend: String,
    /// The version directory's name, such as `0.24.0`.
    pub version: String,
}

/// A table file.
#[derive(Debug, Clone)]
pub struct TableFile {
    /// The file's location in the source.
    pub entry: Entry,
    /// The place of the version directory that contains the table.
    pub place: Place,
    /// The table's name, which is the file stem.
    pub table: String,
    /// The file format, by the file's extension.
    pub format: Format,
}

impl TableFile {
    /// Returns the system, backend, version and name of the table, which identify it in every layout.
    pub fn identity(&self) -> (&str, &str, &str, &str) {
        (&self.place.system, &self.place.backend, &self.place.version, &self.table)
    }
}

/// A version directory: tables that were collected together, and their sidecars.
#[derive(Debug, Clone)]
pub struct VersionDir {
    /// The place of the directory.
    pub place: Place,
    /// The path of the directory, without a trailing slash.
    pub path: String,
    /// The file `collection_meta.yaml`.
    pub meta: Option<Entry>,
    /// The file `reuse.yaml`.
    pub reuse: Option<Entry>,
    /// Marker files of the older scheme that sidecars replaced.
    pub markers: Vec<Entry>,
    /// The directory's tables, as indices into [`Catalog::tables`].
    pub tables: Vec<usize>,
}

impl VersionDir {
    /// Returns true if the loader skips the directory: an old marker file says that it is incomplete, and
    /// there is no `collection_meta.yaml`.
    pub fn is_vetoed(&self) -> bool {
        let incomplete = |entry: &Entry| entry.path.ends_with("/INCOMPLETE.txt");
        self.meta.is_none() && self.markers.iter().any(incomplete)
    }
}

/// A system of a root: its YAML and the location of its data.
#[derive(Debug, Clone)]
pub struct SystemFile {
    /// The system's name.
    pub name: String,
    /// The path of the system's YAML, or of its data directory if there is no YAML.
    pub path: String,
    /// The parsed YAML completed by embedded facts, or the reason why it cannot be read.
    pub system: Result<System, Reason>,
    /// The path where the system's YAML is or should be.
    pub yaml: String,
    /// The path of the system's data directory, without a trailing slash.
    pub data_dir: String,
    /// The reason why the data directory is not read although the loader would read it; `None` if it is read.
    pub unread: Option<String>,
}

impl SystemFile {
    /// Returns the folder of the system's YAML.
    fn folder(&self) -> &str {
        self.yaml.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the path where the system's support matrix is or would be.
    pub fn matrix(&self) -> String {
        places::join(self.folder(), &format!("support_matrix/{}.csv", self.name))
    }
}

/// The role of a file that is not a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A sidecar, or a marker file of the older scheme.
    Sidecar,
    /// A system's YAML.
    System,
    /// A file that states facts about the database.
    Facts,
    /// Any other file below a data directory, such as a note, a link or a table that no loader reads.
    Other,
    /// A workload card, config or metric file of an end-to-end trace.
    Trace,
}

/// The files of one root of a source.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The folder that contains the systems' YAML, without a trailing slash.
    pub folder: String,
    /// The systems by name.
    pub systems: BTreeMap<String, SystemFile>,
    /// The version directories by path.
    pub dirs: BTreeMap<String, VersionDir>,
    /// The tables, sorted by path.
    pub tables: Vec<TableFile>,
    /// The support matrices by system.
    pub support: BTreeMap<String, Entry>,
    /// The manifest of rows that backends share.
    pub manifest: Option<Entry>,
    /// Tables at a wrong depth or with a misspelt name, links and submodules, each with the name of the
    /// affected system. The name is empty if all systems are affected.
    pub strays: Vec<(Entry, String)>,
    /// Files of the database that are not tables, unsorted.
    pub beside: Vec<(Entry, Role)>,
    /// Files of the source that are outside of all databases, sorted by path.
    pub others: Arc<Vec<Entry>>,
}

impl Catalog {
    /// Reads the main root of a source that must contain a database.
    ///
    /// # Errors
    ///
    /// If the files cannot be listed or contain no perf database.
    pub fn read(source: &dyn Source, specs: &Specs) -> Result<Self> {
        let roots = Self::some_roots(source, source.files()?, specs)?;
        Ok(roots.into_iter().next().unwrap_or_default())
    }

    /// Returns the description of a system. If its YAML cannot be read, its embedded facts are used, since
    /// its tables exist anyway.
    pub fn system<'a>(&'a self, name: &str, specs: &'a Specs) -> Option<&'a System> {
        self.systems.get(name)?.system.as_ref().ok().or_else(|| specs.systems.get(name))
    }

    /// Returns the version directory of a table.
    pub fn dir_of(&self, file: &TableFile) -> Option<&VersionDir> {
        file.entry.path.rsplit_once('/').and_then(|(dir, _)| self.dirs.get(dir))
    }
}

/// Creates the error of a job that finds no database.
pub fn no_database() -> Error {
    Error::new(
        "no perf database found",
        "--root takes a repository or folder that contains systems/<system>.yaml and the data",
    )
}
