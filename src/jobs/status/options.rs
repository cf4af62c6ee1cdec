//! Options of `status`.

use std::path::PathBuf;

/// Selects the tables of a system.
#[derive(Debug, Default, Clone)]
pub struct StatusOptions {
    /// The folder or repository.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// Name of the system.
    pub system: String,
    /// Backends; all when empty.
    pub backends: Vec<String>,
    /// Versions; the one that counts of each table when empty.
    pub versions: Vec<String>,
    /// A collector's log directory.
    pub ledger: Option<PathBuf>,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
}
