//! An entry of the status per table, present or missing.

use serde::Serialize;

/// A table, there or missing.
#[derive(Debug, Serialize)]
pub(super) struct TableStatus {
    pub backend: String,
    pub version: String,
    pub operation: String,
    pub table: String,
    /// None where it is missing.
    pub path: Option<String>,
    /// None where it is missing or cannot be read.
    pub rows: Option<usize>,
    pub nearest: Option<Nearest>,
    /// Rows that repeat a key which an earlier row has.
    pub duplicates: u64,
    pub errors: usize,
    pub warnings: usize,
    pub infos: usize,
    /// The version of it before this one.
    pub last_version: Option<String>,
    pub provenance: SidecarProvenance,
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Nearest {
    pub system: String,
    pub version: String,
    /// None where it cannot be read.
    pub rows: Option<usize>,
}

/// What sidecars say, as they say it.
#[derive(Debug, Default, Serialize)]
pub(super) struct SidecarProvenance {
    pub kind: Option<String>,
    pub status: Option<String>,
    pub collected_at: Option<String>,
    pub collector_ref: Option<String>,
    /// Versions that `reuse.yaml` names for it.
    pub reuse: Vec<String>,
}

/// Cases that were not measured, and why.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Skipped {
    pub backend: String,
    pub version: String,
    pub table: String,
    pub cases: u64,
    /// The failure's classification; `limit` where it is a limit of `rules/limits.yaml`.
    pub class: String,
    pub reason: String,
}
