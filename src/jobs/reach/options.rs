//! Options of `reach`.

use crate::jobs::impact::ImpactOptions;

/// Selects the states and the tables to look at.
#[derive(Debug, Default, Clone)]
pub struct ReachOptions {
    /// States, systems, backends, versions and models. Without versions, rows of all of them, and the
    /// lookups of those that [`impact`](crate::jobs::impact) predicts.
    pub select: ImpactOptions,
    /// Tables, as globs over their names; all when empty.
    pub tables: Vec<String>,
}
