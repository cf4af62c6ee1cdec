//! Options of `impact`.

use std::path::PathBuf;

/// Selects the states, versions and models to predict.
#[derive(Debug, Default, Clone)]
pub struct ImpactOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch that is merged into; without it one state is predicted.
    pub base: Option<String>,
    /// The commit to predict; the files on disk without one.
    pub head: Option<String>,
    /// Systems, as globs; all when empty.
    pub systems: Vec<String>,
    /// Backends, as globs; all when empty.
    pub backends: Vec<String>,
    /// Versions by name; when empty those that changed and each backend's current one.
    pub versions: Vec<String>,
    /// Models, as globs over their names; all when empty.
    pub models: Vec<String>,
    /// A folder that overlays the rules.
    pub rules: Option<PathBuf>,
}
