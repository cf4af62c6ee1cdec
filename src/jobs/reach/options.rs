//! The options of `reach`.

use crate::jobs::impact::ImpactOptions;

/// The options of `reach`.
#[derive(Debug, Default, Clone)]
pub struct ReachOptions {
    /// States, systems, backends, versions and models. Without versions, rows of all versions are
    /// shown, and lookups of the versions that [`impact`](crate::jobs::impact) predicts.
    pub select: ImpactOptions,
    /// Tables, as globs over their names; empty selects all.
    pub tables: Vec<String>,
}
