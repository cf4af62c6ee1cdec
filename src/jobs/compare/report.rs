//! Options of `compare` and its report.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::table::TableComparison;
use super::tendency::Tendency;
use crate::database::selection::Selection;

/// Selects the two collections.
#[derive(Debug, Default, Clone)]
pub struct CompareOptions {
    /// The first: a table, a folder or a commit.
    pub a: String,
    /// The second.
    pub b: String,
    /// The repository whose commits are named.
    pub root: PathBuf,
    /// Which part of them.
    pub selection: Selection,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
}

/// Two collections compared, schema `perfdb-gate/compare/v1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompareReport {
    /// `perfdb-gate/compare/v1`.
    pub schema: &'static str,
    /// The first, as it was named.
    pub a: String,
    /// The second.
    pub b: String,
    /// What all tables together say.
    pub verdict: Tendency,
    /// Tables of both that differ, by path.
    pub tables: Vec<TableComparison>,
    /// How many tables are the same to the byte.
    pub identical: usize,
    /// Paths of tables that the first has alone.
    pub only_a: Vec<String>,
    /// Paths of tables that the second has alone.
    pub only_b: Vec<String>,
    /// Tables that cannot be compared, and why.
    pub unread: Vec<UnreadTable>,
}

/// A table that cannot be compared.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadTable {
    /// Its path.
    pub path: String,
    /// Why.
    pub why: String,
}
