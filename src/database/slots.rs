//! The versions of a database that a query can reach.

use std::collections::{BTreeMap, BTreeSet};

use crate::database::catalog::{Catalog, Place, TableFile};
use crate::specs::facts::{QueryVersions, Slots};

/// Returns the versions that a query can reach, by system and backend, for all backends with tables on the
/// system. Directories that the loader skips as incomplete do not count.
pub fn slots<'a>(
    catalog: &'a Catalog,
    versions: &'a QueryVersions,
) -> BTreeMap<&'a str, BTreeMap<&'a str, Slots<'a>>> {
    let mut fleet: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut there = BTreeSet::new();
    let is_read = |table: &&TableFile| catalog.dir_of(table).is_none_or(|dir| !dir.is_vetoed());
    let tables = catalog.tables.iter().filter(is_read);
    for Place { system, backend, version, .. } in tables.map(|t| &t.place) {
        there.insert((system.as_str(), backend.as_str()));
        if !versions.is_frozen(system, backend) {
            fleet.entry(backend).or_default().insert(version);
        }
    }
    let mut slots: BTreeMap<&str, BTreeMap<&str, Slots<'_>>> = BTreeMap::new();
    for (system, backend) in there {
        let fleet = fleet.get(backend).into_iter().flatten().copied();
        let own = versions.slots(system, backend, fleet).map(|slots| (backend, slots));
        slots.entry(system).or_default().extend(own);
    }
    slots
}
