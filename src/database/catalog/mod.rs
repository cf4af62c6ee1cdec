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
//! A source may contain several such roots; [`roots`] finds them. Other databases are found by the patterns of
//! a layout in `rules/layouts/` ([`declared`]).

mod declared;
mod files;
mod links;
mod paths;
mod places;
mod roots;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub use self::files::Format;
pub(crate) use self::files::{format_of, is_misspelt};
pub(crate) use self::places::place_of;
pub(crate) use self::places::{Places, holds_files};
pub use files::{Place, Role, SystemFile, TableFile, VersionDir};
pub(crate) use paths::{is_passed_over, is_within, join};

use crate::base::error::Error;
use crate::database::limits::MOST_TABLES;
use crate::database::source::{Entry, EntryKind};
use crate::specs::Specs;
use crate::specs::layout::Layout;
use crate::specs::system::System;

/// The files of one database. A source may contain several databases, each in its own folder, called a root.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The layout from `rules/layouts/` by which the tables were found; `None` for the public layout.
    pub layout: Option<Arc<Layout>>,
    /// The folder that contains the systems' YAML, without a trailing slash.
    pub folder: String,
    /// The systems by name.
    pub systems: BTreeMap<String, SystemFile>,
    /// The version directories by path.
    pub dirs: BTreeMap<String, VersionDir>,
    /// The tables, sorted by path.
    pub tables: Vec<TableFile>,
    /// The file with the support matrix of each system, by the system's name.
    pub support: BTreeMap<String, Entry>,
    /// Entries that are not read although they may contain data: tables at a wrong depth or with a misspelt name, and
    /// links and submodules where tables are expected. Each entry is paired with the name of the system to which the
    /// data may belong. The name is empty if it may be any system.
    pub strays: Vec<(Entry, String)>,
    /// Files of the database that are not tables, unsorted.
    pub other_files: Vec<(Entry, Role)>,
    /// Files of the source that belong to no database, sorted by path.
    pub outside_files: Arc<Vec<Entry>>,
}

impl Catalog {
    /// Returns the description of a system; `None` if the catalog does not have the system. If the system's YAML cannot
    /// be read, the built-in description is returned.
    pub fn system<'a>(&'a self, name: &str, specs: &'a Specs) -> Option<&'a System> {
        tracing::trace!("lookup");
        self.systems.get(name)?.system.as_ref().ok().or_else(|| specs.systems.get(name))
    }

    /// Returns the table at a path.
    pub(crate) fn table(&self, path: &str) -> Option<&TableFile> {
        let at = self.tables.binary_search_by(|file| file.entry.path.as_str().cmp(path));
        tracing::trace!("lookup");
        at.ok().map(|at| &self.tables[at])
    }

    /// Limits the number of tables with the same name to [`MOST_TABLES`]. Further tables are marked as refused, and are
    /// not read.
    fn refuse_many(&mut self) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for TableFile { entry, table, .. } in &mut self.tables {
            let count = counts.entry(table).or_default();
            *count += 1;
            if *count > MOST_TABLES {
                entry.refuse(format!(
                    "the database has more than {MOST_TABLES} tables of this name"
                ));
            }
        }
    }

    /// Returns true if the file at a path is one of the files from which a table is assembled.
    pub(crate) fn has_part(&self, path: &str) -> bool {
        let mut tables = vec![path.to_owned()];
        self.add_assembled(&mut tables);
        tables.len() > 1
    }

    /// Adds the paths of assembled tables to `paths`. A table's path is added if `paths` contains at least one of the
    /// files from which the table is assembled.
    pub(crate) fn add_assembled(&self, paths: &mut Vec<String>) {
        let known: HashSet<&String> = paths.iter().collect();
        let is_of = |table: &&TableFile| match &table.entry.stored().kind {
            EntryKind::Assembled(assembly) => {
                assembly.parts.iter().any(|part| known.contains(&part.entry.path))
            }
            EntryKind::Path(_)
            | EntryKind::Blob(_)
            | EntryKind::Link(_)
            | EntryKind::Submodule(_)
            | EntryKind::Broken(_)
            | EntryKind::Refused(..) => false,
        };
        let tables = self.tables.iter().filter(is_of);
        let assembled: Vec<String> = tables.map(|table| table.entry.path.clone()).collect();
        paths.extend(assembled);
    }

    /// Returns the version directory of a table; `None` in a declared layout.
    pub fn dir_of(&self, file: &TableFile) -> Option<&VersionDir> {
        tracing::trace!("lookup");
        file.entry.path.rsplit_once('/').and_then(|(dir, _)| self.dirs.get(dir))
    }
}

/// Creates the error that is reported if no database is found.
pub(crate) fn no_database() -> Error {
    Error::new(
        "no perf database found",
        "--root takes a repository or folder that contains systems/<system>.yaml and the data",
    )
}
