//! The versions that the loader lists only before or only after a change.

use std::collections::BTreeMap;

use crate::database::catalog::{Catalog, VersionDir};

/// The versions that a change makes selectable or hides, as `system backend version`, sorted. A directory without
/// tables counts: its version takes all rows from donors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionChanges {
    /// The versions that the loader lists only after the change.
    pub selectable: Vec<String>,
    /// The versions whose directories stay but are skipped after the change, because a marker file says that they are
    /// incomplete.
    pub hidden: Vec<String>,
}

impl VersionChanges {
    /// Compares the version directories of two states.
    pub(crate) fn between(base: &Catalog, head: &Catalog) -> Self {
        let (before, after) = (listed(base), listed(head));
        let was_listed = |name: &String| before.get(name) == Some(&true);
        let changed = after.into_iter().filter(|(name, is)| *is != was_listed(name));
        let (new, hidden): (Vec<_>, Vec<_>) = changed.partition(|(_, is_listed)| *is_listed);
        let names = |of: Vec<(String, bool)>| of.into_iter().map(|(name, _)| name).collect();
        Self { selectable: names(new), hidden: names(hidden) }
    }

    /// Adds the changes of another root.
    pub(super) fn extend(&mut self, other: Self) {
        self.selectable.extend(other.selectable);
        self.hidden.extend(other.hidden);
    }
}

/// Returns every version that has a directory, with true if the loader reads one of its directories.
fn listed(catalog: &Catalog) -> BTreeMap<String, bool> {
    let mut versions = BTreeMap::new();
    for dir in catalog.dirs.values() {
        let VersionDir { place, .. } = dir;
        let name = format!("{} {} {}", place.system, place.backend, place.version);
        *versions.entry(name).or_default() |= !dir.is_vetoed();
    }
    versions
}
