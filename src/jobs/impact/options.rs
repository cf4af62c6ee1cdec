//! The options of `impact`.

use std::path::PathBuf;

/// The options of `impact`.
#[derive(Debug, Default, Clone)]
pub struct ImpactOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch to merge into; `None` predicts one state only.
    pub base: Option<String>,
    /// The commit to predict; `None` predicts the files on disk.
    pub head: Option<String>,
    /// Systems, as globs; empty selects all.
    pub systems: Vec<String>,
    /// Backends, as globs; empty selects all.
    pub backends: Vec<String>,
    /// Names of versions; empty selects changed versions and each backend's current version.
    pub versions: Vec<String>,
    /// Models, as globs over their names; empty selects all.
    pub models: Vec<String>,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
}
