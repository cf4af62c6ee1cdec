//! The versions that the loader lists only before or only after a change.

use std::collections::{BTreeMap, BTreeSet};

use crate::database::catalog::{Catalog, VersionDir};
use crate::database::served::slots;
use crate::database::state::State;

/// The versions that a change makes available or hides, each as `system backend version`, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionChanges {
    /// The versions that can be queried after the change but not before.
    pub selectable: Vec<String>,
    /// The versions that the loader read before the change but skips after it, because a marker file now states that
    /// their directory is incomplete.
    pub hidden: Vec<String>,
}

impl VersionChanges {
    /// Compares the versions of base and head.
    pub(crate) fn between(base: State<'_>, head: State<'_>) -> Self {
        let (before, after) = (selectable(base), selectable(head));
        let was_read = listed(base.catalog);
        let was_read = |name: &String| was_read.get(name) == Some(&true);
        let hidden = listed(head.catalog).into_iter();
        let hidden = hidden.filter(|(name, is_read)| !*is_read && was_read(name));
        Self {
            selectable: after.difference(&before).cloned().collect(),
            hidden: hidden.map(|(name, _)| name).collect(),
        }
    }

    /// Adds the version changes of another database in the same source.
    pub(super) fn extend(&mut self, other: Self) {
        self.selectable.extend(other.selectable);
        self.hidden.extend(other.hidden);
    }
}

/// Returns the versions that can be queried, each as `system backend version`. These are the versions that the database
/// states; if it states none, all versions that the loader reads. A version needs no tables of its own, because other
/// versions can provide its rows. Versions of libraries such as NCCL are left out, because queries do not name them.
fn selectable(state: State<'_>) -> BTreeSet<String> {
    let State { catalog, specs, .. } = state;
    let slots = specs.query_versions.as_ref().map(|versions| slots(catalog, versions));
    let slots_of = |system: &str, backend: &str| slots.as_ref()?.get(system)?.get(backend);
    let is_library = |system: &str, backend: &str| {
        let field = format!("misc.{backend}_version");
        catalog.system(system, specs).is_some_and(|system| system.texts.contains_key(&field))
    };
    let mut names = BTreeSet::new();
    for VersionDir { place, .. } in catalog.dirs.values().filter(|dir| !dir.is_vetoed()) {
        let (system, backend) = (place.system.as_str(), place.backend.as_str());
        if is_library(system, backend) {
            continue;
        }
        let name = |version: &str| format!("{system} {backend} {version}");
        match slots_of(system, backend) {
            Some(slots) => names.extend(slots.versions().map(name)),
            None => drop(names.insert(name(&place.version))),
        }
    }
    names
}

/// Returns the versions that have a directory, each as `system backend version`. The value is true if the loader reads
/// at least one of the version's directories.
fn listed(catalog: &Catalog) -> BTreeMap<String, bool> {
    let mut versions = BTreeMap::new();
    for dir in catalog.dirs.values() {
        let VersionDir { place, .. } = dir;
        let name = format!("{} {} {}", place.system, place.backend, place.version);
        *versions.entry(name).or_default() |= !dir.is_vetoed();
    }
    versions
}
