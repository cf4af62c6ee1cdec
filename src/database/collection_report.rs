//! Collection reports: files beside the folders of a system that sum up the collection of one backend's version.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::base::error::Reason;
use crate::database::catalog::{Catalog, TableFile};
use crate::database::source::{Entry, Source};

/// The ending of a collection report's file name. The backend and the version come before it.
const ENDING: &str = "-collection-report.json";

/// The contents of a collection report; unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CollectionReport {
    /// The system that was measured.
    pub system: String,
    /// The backend that was measured.
    #[serde(alias = "framework")]
    pub backend: String,
    /// The version that was measured.
    #[serde(alias = "runtime_version")]
    pub version: String,
    /// The tables that the report describes, by table name.
    pub tables: BTreeMap<String, ReportedTable>,
    /// The number of rows of all tables together.
    #[serde(default, alias = "total_published_rows")]
    pub total_rows: Option<u64>,
}

/// A table as a collection report states it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReportedTable {
    /// The path of the table, relative to the system's folder.
    #[serde(default)]
    pub path: Option<String>,
    /// The number of rows.
    #[serde(default)]
    pub rows: Option<u64>,
    /// The SHA-256 of the table's bytes, in hex.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The status of the collection, such as `complete`.
    #[serde(default)]
    pub status: Option<String>,
    /// The collection runs that measured the table. Each run measured a different part of the table's rows.
    #[serde(default, alias = "source_jobs")]
    pub shards: Vec<Shard>,
    /// The number of collection runs that were planned for the table.
    #[serde(default)]
    pub expected_shards: Option<u64>,
}

/// A collection run that measured some of a table's rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Shard {
    /// The number of rows that the run measured.
    #[serde(default)]
    pub source_rows: Option<u64>,
}

impl CollectionReport {
    /// Returns the files of a catalog that are named like collection reports.
    pub(crate) fn files(catalog: &Catalog) -> impl Iterator<Item = &Entry> {
        catalog.other_files.iter().map(|(entry, _)| entry).filter(|e| e.path.ends_with(ENDING))
    }

    /// Reads a collection report.
    pub(crate) fn read(source: &dyn Source, entry: &Entry) -> Result<Self, Reason> {
        let mut report: Self = serde_json::from_str(&source.text(entry)?)?;
        let tables = std::mem::take(&mut report.tables).into_iter();
        report.tables = tables.map(|(name, table)| (stem(&name).to_owned(), table)).collect();
        Ok(report)
    }

    /// Returns the backend and version that a report's file name states, such as `vllm-0.24.0`.
    pub(crate) fn named(entry: &Entry) -> &str {
        entry.name().strip_suffix(ENDING).unwrap_or(entry.name())
    }

    /// Returns the name of the folder that contains a report. The folder is named like the report's system.
    pub(crate) fn system_of(entry: &Entry) -> &str {
        entry.folder().rsplit('/').next().unwrap_or_default()
    }

    /// Returns the catalog's table that the report describes under `name`; `None` if the report or the catalog lacks
    /// the table.
    pub(crate) fn table<'a>(&self, name: &str, catalog: &'a Catalog) -> Option<&'a TableFile> {
        let path = self.tables.get(name)?.path.as_ref();
        let path = path.map(|path| format!("/{}/{path}", self.system));
        catalog.tables.iter().find(|file| match &path {
            Some(path) => file.entry.path.ends_with(path.as_str()),
            None => {
                let own = (self.system.as_str(), self.backend.as_str(), &*self.version, name);
                file.identity() == own
            }
        })
    }
}

/// Returns a table's name without the ending of its file.
fn stem(name: &str) -> &str {
    let stem = [".parquet", ".txt", ".csv"].iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or(name)
}
