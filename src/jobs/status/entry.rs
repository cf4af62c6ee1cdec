//! The entries of a status: tables, present or missing, and skipped cases.

use serde::Serialize;

/// The status of a table, present or missing.
#[derive(Debug, Default, Serialize)]
pub(super) struct TableStatus {
    pub backend: String,
    pub version: String,
    pub operation: String,
    pub table: String,
    /// `None` if the table is missing.
    pub path: Option<String>,
    /// `None` if the table is missing or cannot be read.
    pub rows: Option<usize>,
    pub nearest: Option<Nearest>,
    /// Number of rows that repeat the key of an earlier row.
    pub duplicates: u64,
    pub errors: usize,
    pub warnings: usize,
    pub infos: usize,
    /// The previous version of the table.
    pub last_version: Option<String>,
    pub provenance: SidecarProvenance,
    pub notes: Vec<String>,
}

/// The same table on the most similar system.
#[derive(Debug, Serialize)]
pub(super) struct Nearest {
    pub system: String,
    pub version: String,
    /// `None` if the table cannot be read.
    pub rows: Option<usize>,
}

/// The provenance that sidecars state, as written.
#[derive(Debug, Default, Serialize)]
pub(super) struct SidecarProvenance {
    pub kind: Option<String>,
    pub status: Option<String>,
    pub collected_at: Option<String>,
    pub collector_ref: Option<String>,
    /// Versions that `reuse.yaml` names for the table.
    pub reuse: Vec<String>,
}

/// Cases of a table that were not measured, with the reason.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Skipped {
    pub backend: String,
    pub version: String,
    pub table: String,
    pub cases: u64,
    /// The class of the failure; `limit` for a limit of `rules/limits.yaml`.
    pub class: String,
    pub reason: String,
}
