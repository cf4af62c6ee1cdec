//! The files of a database by their use: tables with their place and format, systems, version directories.

use super::paths::join;
use crate::base::error::Reason;
use crate::base::yaml::MisreadValue;
use crate::database::source::Entry;
use crate::specs::system::System;

/// The place of a table in a database: system, family, backend and version.
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
    pub(crate) fn identity(&self) -> (&str, &str, &str, &str) {
        (&self.place.system, &self.place.backend, &self.place.version, &self.table)
    }
}

/// A version directory: tables that were collected together, and their sidecars.
#[derive(Debug, Clone)]
pub struct VersionDir {
    /// The place of the version directory.
    pub place: Place,
    /// The path of the directory, without a trailing slash.
    pub path: String,
    /// The version directory's `collection_meta.yaml`; `None` if it does not exist.
    pub meta: Option<Entry>,
    /// The version directory's `reuse.yaml`; `None` if it does not exist.
    pub reuse: Option<Entry>,
    /// Marker files of the older scheme that sidecars replaced.
    pub markers: Vec<Entry>,
    /// The directory's tables, as indices into `Catalog::tables`.
    pub tables: Vec<usize>,
}

impl VersionDir {
    /// Returns true if the loader skips the directory: an old marker file says that it is incomplete, and
    /// there is no `collection_meta.yaml`.
    pub(crate) fn is_vetoed(&self) -> bool {
        let incomplete = |entry: &Entry| entry.path.ends_with("/INCOMPLETE.txt");
        self.meta.is_none() && self.markers.iter().any(incomplete)
    }

    /// Returns true if an old marker file makes all other versions of the backend donors. The content of the file is
    /// not read.
    pub(crate) fn reuses_all(&self) -> bool {
        self.markers.iter().any(|entry| entry.path.ends_with("/SHARED_LAYER_REUSE.txt"))
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
    /// The values of the YAML that its loaders refuse or read differently.
    pub refused: Vec<MisreadValue>,
}

impl SystemFile {
    /// Returns the folder of the system's YAML.
    pub(super) fn folder(&self) -> &str {
        self.yaml.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the path where the system's support matrix is or would be.
    pub fn matrix(&self) -> String {
        join(self.folder(), &format!("support_matrix/{}.csv", self.name))
    }
}

/// The role of a file that is not a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A sidecar, or a marker file of the older scheme.
    Sidecar,
    /// The YAML file of a system.
    System,
    /// A file that states facts about the database.
    Facts,
    /// Any other file below a data directory, such as a note, a link or a table that no loader reads.
    Other,
    /// A file that decides how later runs judge: one below `.perfdb-gate/`, or `.gitattributes`.
    Settings,
    /// A workload card, config or metric file of an end-to-end trace.
    Trace,
}

/// The file format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated text, the collectors' staging format.
    Csv,
}

/// Returns true if a table's ending is spelt in a way that the loader does not accept: `.Parquet`,
/// `_perf.TXT`.
pub(crate) fn is_misspelt(path: &str) -> bool {
    format_of(path).is_none() && format_of(&path.to_ascii_lowercase()).is_some()
}

/// Returns the table format of a file name, or `None` if the name is not a table's.
pub(crate) fn format_of(path: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.ends_with(".parquet") {
        Some(Format::Parquet)
    } else if name.ends_with("_perf.txt") || name.ends_with("_perf.csv") {
        Some(Format::Csv)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_a_table_s_name_and_ending_are_tables() {
        assert_eq!(format_of("a/gemm_perf.parquet"), Some(Format::Parquet));
        assert_eq!(format_of("a/gemm_perf.txt"), Some(Format::Csv));
        assert_eq!(format_of("a/INCOMPLETE.txt"), None);
    }
}
