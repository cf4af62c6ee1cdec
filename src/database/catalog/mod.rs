//! Finds the perf database in a source: systems, version directories, tables, sidecars.
//!
//! This is the one place that knows the layouts, and [`walk`] what becomes of each file:
//!
//! ```text
//! systems/<system>.yaml                                              a machine; its data_dir wins
//! systems/data/<system>/<family>/<backend>/<version>/<table>.parquet  by family
//! systems/data/<system>/<backend>/<version>/<table>.{txt,parquet}     flat, before July 2026
//! systems/support_matrix/<system>.csv                                what is said to be plannable
//! systems/perf_data_reuse_manifest.yaml                              what backends take from each other
//! ```
//!
//! A source may hold several such roots; [`roots`] finds them.

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

/// How a table's bytes are laid out.
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
    /// System name.
    pub system: String,
    /// Family directory; none in the flat layout.
    pub family: Option<String>,
    /// Backend directory.
    pub backend: String,
    /// Version directory.
    pub version: String,
}

/// A table file.
#[derive(Debug, Clone)]
pub struct TableFile {
    /// Where its bytes are.
    pub entry: Entry,
    /// Its version directory's place.
    pub place: Place,
    /// File stem.
    pub table: String,
    /// By its extension.
    pub format: Format,
}

impl TableFile {
    /// What the table is, wherever it is stored: system, backend, version and name.
    pub fn identity(&self) -> (&str, &str, &str, &str) {
        (&self.place.system, &self.place.backend, &self.place.version, &self.table)
    }
}

/// A version directory: tables that were collected together, and what is said of them.
#[derive(Debug, Clone)]
pub struct VersionDir {
    /// Its place.
    pub place: Place,
    /// Its path, without a trailing slash.
    pub path: String,
    /// `collection_meta.yaml`.
    pub meta: Option<Entry>,
    /// `reuse.yaml`.
    pub reuse: Option<Entry>,
    /// Marker files of schemes that sidecars replaced.
    pub markers: Vec<Entry>,
    /// Its tables, as indices into [`Catalog::tables`].
    pub tables: Vec<usize>,
}

impl VersionDir {
    /// Whether the loader passes it over: it is marked incomplete in the old way, and no
    /// collection_meta.yaml says more.
    pub fn is_vetoed(&self) -> bool {
        let incomplete = |entry: &Entry| entry.path.ends_with("/INCOMPLETE.txt");
        self.meta.is_none() && self.markers.iter().any(incomplete)
    }
}

/// A system of the root: its YAML, and what could be read of it.
#[derive(Debug, Clone)]
pub struct SystemFile {
    /// Name.
    pub name: String,
    /// Path of its YAML, or of its data directory where it has none.
    pub path: String,
    /// The YAML as the loader reads it with our facts beside, or why it cannot be read.
    pub system: Result<System, Reason>,
    /// Where its YAML is or should be.
    pub yaml: String,
    /// Directory of its data, without a trailing slash.
    pub data_dir: String,
    /// Why its data directory is not read, though its loader would; none where it is.
    pub unread: Option<String>,
}

impl SystemFile {
    /// The folder of its YAML.
    fn folder(&self) -> &str {
        self.yaml.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Where its support matrix is or would be.
    pub fn matrix(&self) -> String {
        places::join(self.folder(), &format!("support_matrix/{}.csv", self.name))
    }
}

/// What a file beside the tables is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A sidecar, or a marker of the scheme before.
    Sidecar,
    /// A system's YAML.
    System,
    /// A file that states facts about the database.
    Facts,
    /// Anything else below a data directory: a table that no loader looks for, a link, a note.
    Other,
    /// A workload card, config or metric file, which lies beside the database.
    Trace,
}

/// What a source holds.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The folder of its systems' YAML, without a trailing slash.
    pub folder: String,
    /// Systems, by name.
    pub systems: BTreeMap<String, SystemFile>,
    /// Version directories, by path.
    pub dirs: BTreeMap<String, VersionDir>,
    /// Tables, by path.
    pub tables: Vec<TableFile>,
    /// Support matrices, by system.
    pub support: BTreeMap<String, Entry>,
    /// What backends take from each other.
    pub manifest: Option<Entry>,
    /// Tables at a depth where no loader looks or spelt otherwise, links and submodules: each with
    /// the system that it concerns, an empty name where that is all of them.
    pub strays: Vec<(Entry, String)>,
    /// Files of the database that are not tables, in no order.
    pub beside: Vec<(Entry, Role)>,
    /// Files that are not part of any database of the source, by path.
    pub others: Arc<Vec<Entry>>,
}

impl Catalog {
    /// Walks the main root of a source that holds a database.
    ///
    /// # Errors
    ///
    /// When the files cannot be listed, or no perf database is among them.
    pub fn read(source: &dyn Source, specs: &Specs) -> Result<Self> {
        let roots = Self::some_roots(source, source.files()?, specs)?;
        Ok(roots.into_iter().next().unwrap_or_default())
    }

    /// A machine: what its YAML says of it or, where that cannot be read, what the rules know of it, since
    /// its tables are there all the same.
    pub fn system<'a>(&'a self, name: &str, specs: &'a Specs) -> Option<&'a System> {
        self.systems.get(name)?.system.as_ref().ok().or_else(|| specs.systems.get(name))
    }

    /// The version directory of a table.
    pub fn dir_of(&self, file: &TableFile) -> Option<&VersionDir> {
        file.entry.path.rsplit_once('/').and_then(|(dir, _)| self.dirs.get(dir))
    }
}

/// The error of a job that finds nothing to work on.
pub fn no_database() -> Error {
    Error::new(
        "no perf database found",
        "--root takes a repository or folder that contains systems/<system>.yaml and the data",
    )
}
