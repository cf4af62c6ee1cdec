//! Options of `remeasure`.

use std::path::PathBuf;

use crate::database::selection::Selection;

/// Selects the rows to measure again.
#[derive(Debug, Default, Clone)]
pub struct RemeasureOptions {
    /// The folder or repository.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// Which tables.
    pub selection: Selection,
    /// Which rows, as an expression in SQL's syntax.
    pub filter: Option<String>,
    /// A rerun list: its points instead of a draw.
    pub points: Option<PathBuf>,
    /// Points of each table.
    pub sample: usize,
    /// Seed of the draw.
    pub seed: u64,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// Whether power is measured where a row has it.
    pub power: bool,
    /// A table to keep what is measured in.
    pub record: Option<PathBuf>,
}
