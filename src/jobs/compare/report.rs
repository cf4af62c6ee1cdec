//! The options and the report of `compare`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::table::TableComparison;
use super::tendency::Tendency;
use crate::database::selection::Selection;

/// The options of `compare`.
#[derive(Debug, Default, Clone)]
pub struct CompareOptions {
    /// The first collection: a path of a table or folder, or the name of a commit.
    pub a: String,
    /// The second collection: a path of a table or folder, or the name of a commit.
    pub b: String,
    /// The repository in which commits are looked up.
    pub root: PathBuf,
    /// The systems, backends, versions and tables to compare.
    pub selection: Selection,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
}

/// The comparison of two collections, schema `perfdb-gate/compare/v1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompareReport {
    /// Always `perfdb-gate/compare/v1`.
    pub schema: &'static str,
    /// The first collection, as named on the command line.
    pub a: String,
    /// The second collection, as named on the command line.
    pub b: String,
    /// The verdict over all tables.
    pub verdict: Tendency,
    /// Tables that both collections have with different bytes, sorted by path.
    pub tables: Vec<TableComparison>,
    /// Number of tables whose bytes are the same in both collections.
    pub identical: usize,
    /// Paths of tables that only the first collection has.
    pub only_a: Vec<String>,
    /// Paths of tables that only the second collection has.
    pub only_b: Vec<String>,
    /// Tables that could not be compared, each with a reason.
    pub unread: Vec<UnreadTable>,
}

/// A table that could not be compared.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnreadTable {
    /// The table's path.
    pub path: String,
    /// The reason why the table could not be compared.
    pub why: String,
}
