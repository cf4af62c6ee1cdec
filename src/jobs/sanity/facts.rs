//! The facts that a pull request changes: about systems, and about tables.

use std::collections::BTreeSet;

use crate::database::catalog::{Role, TableFile};
use crate::database::diff::{Diff, FileDiff};
use crate::database::state::State;

/// The facts that two states state differently.
pub(super) struct ChangedFacts<'a> {
    /// The systems of the head whose YAML states something else than before. A comment, or the order of lines,
    /// changes nothing.
    systems: BTreeSet<&'a str>,
    /// The names of tables about which other things are stated, for example their family.
    tables: BTreeSet<&'a str>,
}

impl<'a> ChangedFacts<'a> {
    /// Compares the facts of two states whose files differ as `diff` says.
    pub fn between(base: State<'a>, head: State<'a>, diff: &Diff) -> Self {
        let yaml = |f: &&FileDiff| f.role == Role::System;
        let changed: BTreeSet<&str> = diff.files.iter().filter(yaml).map(|f| &*f.path).collect();
        let systems = head.catalog.systems.iter();
        let systems = systems.filter(|(_, system)| changed.contains(&*system.yaml));
        let systems = systems.filter(|(name, after)| {
            let before =
                base.catalog.systems.get(*name).and_then(|before| before.system.as_ref().ok());
            before.is_none() || before != after.system.as_ref().ok()
        });
        let tables = base.catalog.tables.iter().chain(&head.catalog.tables);
        let tables: BTreeSet<&str> = tables.map(|file| &*file.table).collect();
        let is_known_otherwise = |table: &&str| !base.specs.know_alike(head.specs, table);
        Self {
            systems: systems.map(|(name, _)| name.as_str()).collect(),
            tables: tables.into_iter().filter(is_known_otherwise).collect(),
        }
    }

    /// Whether the YAML of a system states something else than before.
    pub fn are_of_system(&self, name: &str) -> bool {
        self.systems.contains(name)
    }

    /// Whether the states say different things about a table, so that all of it is judged anew.
    pub fn are_of_table(&self, file: &TableFile) -> bool {
        self.tables.contains(file.table.as_str())
    }
}
