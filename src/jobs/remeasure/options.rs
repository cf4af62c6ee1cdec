//! The options of `remeasure`.

use std::path::PathBuf;

use crate::database::selection::Selection;

/// The options of `remeasure`.
#[derive(Debug, Default, Clone)]
pub struct RemeasureOptions {
    /// The repository or folder that contains the database.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// The systems, backends, versions and tables to measure.
    pub selection: Selection,
    /// A formula in SQL syntax; only rows for which it is true are measured.
    pub filter: Option<String>,
    /// A rerun list to measure instead of a random sample.
    pub points: Option<PathBuf>,
    /// Number of points per table.
    pub sample: usize,
    /// Seed of the random draw.
    pub seed: u64,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
    /// True to measure power at rows that have a power.
    pub power: bool,
    /// The table in which measurements are recorded.
    pub record: Option<PathBuf>,
}
