//! The options of `status`.

use std::path::PathBuf;

/// The options of `status`.
#[derive(Debug, Default, Clone)]
pub struct StatusOptions {
    /// The repository or folder that contains the database.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// The system's name; empty for a map of all systems.
    pub system: String,
    /// Backends, as globs; empty selects all.
    pub backends: Vec<String>,
    /// Versions; empty selects the current version of each table.
    pub versions: Vec<String>,
    /// A collector's log directory.
    pub ledger: Option<PathBuf>,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
    /// The layout of the database; `None` to find it out from the files.
    pub layout: Option<String>,
}
