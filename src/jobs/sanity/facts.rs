//! What a pull request changes of what is known: of systems, and of tables.

use std::collections::{BTreeMap, BTreeSet};

use super::systems::SystemChange;
use crate::database::catalog::{Role, TableFile};
use crate::database::diff::{Diff, FileDiff};
use crate::database::state::State;

/// What two states say otherwise, asked of every table.
pub(super) struct ChangedFacts<'a> {
    /// What the systems of the head say otherwise than before, by name; none of those that say the same.
    systems: BTreeMap<&'a str, SystemChange>,
    /// The names of tables of which other things are said, their family for example.
    tables: BTreeSet<&'a str>,
}

impl<'a> ChangedFacts<'a> {
    /// What `head` says otherwise than `base`, whose files differ as `diff` says.
    pub fn between(base: State<'a>, head: State<'a>, diff: &Diff) -> Self {
        let yaml = |f: &&FileDiff| f.role == Role::System;
        let changed: BTreeSet<&str> = diff.files.iter().filter(yaml).map(|f| &*f.path).collect();
        let systems = head.catalog.systems.iter();
        let systems = systems.filter(|(_, system)| changed.contains(&*system.yaml));
        let systems = systems.map(|(name, after)| {
            let before = base.catalog.systems.get(name).map(|system| &system.system);
            let change = match (before, &after.system) {
                (Some(Ok(before)), Ok(after)) => {
                    SystemChange::between(before, after, &head.specs.lookups)
                }
                _ => SystemChange::All,
            };
            (name.as_str(), change)
        });
        let tables = base.catalog.tables.iter().chain(&head.catalog.tables);
        let tables: BTreeSet<&str> = tables.map(|file| &*file.table).collect();
        let is_known_otherwise = |table: &&str| !base.specs.know_alike(head.specs, table);
        Self {
            systems: systems.collect(),
            tables: tables.into_iter().filter(is_known_otherwise).collect(),
        }
    }

    /// What another YAML of a system says otherwise of it.
    pub fn of_system(&self, name: &str) -> &SystemChange {
        self.systems.get(name).unwrap_or(&SystemChange::None)
    }

    /// Whether the states say different things of a table, so that all of it is judged anew.
    pub fn are_of_table(&self, file: &TableFile) -> bool {
        self.tables.contains(file.table.as_str())
    }

    /// Whether they are of any table.
    pub fn are_of_tables(&self) -> bool {
        !self.tables.is_empty()
    }
}
