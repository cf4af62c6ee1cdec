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
    /// Files named `INCOMPLETE.txt` or `SHARED_LAYER_REUSE.txt`, which older databases have instead of sidecars.
    pub markers: Vec<Entry>,
    /// The directory's tables, as indices into `Catalog::tables`.
    pub tables: Vec<usize>,
}

impl VersionDir {
    /// Returns true if the loader skips the version directory. It does so if the directory contains `INCOMPLETE.txt`
    /// and no `collection_meta.yaml`.
    pub(crate) fn is_vetoed(&self) -> bool {
        let incomplete = |entry: &Entry| entry.path.ends_with("/INCOMPLETE.txt");
        self.meta.is_none() && self.markers.iter().any(incomplete)
    }

    /// Returns true if the version directory contains `SHARED_LAYER_REUSE.txt`. It lets the version use the rows of all
    /// other versions of the backend.
    pub(crate) fn reuses_all(&self) -> bool {
        self.markers.iter().any(|entry| entry.path.ends_with("/SHARED_LAYER_REUSE.txt"))
    }
}

/// A system of a database: its YAML file and the location of its data.
#[derive(Debug, Clone)]
pub struct SystemFile {
    /// The system's name.
    pub name: String,
    /// The path of the system's YAML, or of its data directory if there is no YAML.
    pub path: String,
    /// The system that the YAML file describes, with missing values from the built-in facts; or the reason why the YAML
    /// cannot be read.
    pub system: Result<System, Reason>,
    /// The path where the system's YAML is or should be.
    pub yaml: String,
    /// The path of the system's data directory, without a trailing slash.
    pub data_dir: String,
    /// The reason why the tables in the data directory are not read, for example that the YAML names a hidden folder;
    /// `None` if there is no problem.
    pub unread: Option<String>,
    /// The defective values in the system's YAML. A value is defective if the loader rejects it, or if another program
    /// reads it as a different value than the loader does.
    pub refused: Vec<MisreadValue>,
}

impl SystemFile {
    /// Returns the folder of the system's YAML.
    pub(super) fn folder(&self) -> &str {
        self.yaml.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the path of the system's support matrix. The file may not exist.
    pub fn matrix(&self) -> String {
        join(self.folder(), &format!("support_matrix/{}.csv", self.name))
    }
}

/// What a file that is not a table is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A sidecar, or a marker file such as `INCOMPLETE.txt` that older databases have instead.
    Sidecar,
    /// The YAML file of a system.
    System,
    /// A file with facts that the checks use, such as which rows backends share.
    Facts,
    /// Any other file below a data directory, such as a note, a link or a table that no loader reads.
    Other,
    /// A file that affects later runs of this program: a file below `.perfdb-gate/`, or `.gitattributes`.
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

/// Returns true if only capital letters in a file's name keep the file from being a table, such as `gemm.Parquet` or
/// `gemm_perf.TXT`.
pub(crate) fn is_misspelt(path: &str) -> bool {
    format_of(path).is_none() && format_of(&path.to_ascii_lowercase()).is_some()
}

/// Returns the format of a table by the ending of its file name; `None` if the name is not that of a table.
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
