//! Differences between two states of a database outside of its tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::{FileDiff, Status};
use crate::database::catalog::{Role, TableFile};
use crate::database::state::State;
use crate::database::table::Column;
use crate::specs::facts::{KERNEL_COLUMN, KernelChoices};
use crate::specs::system::System;

/// Lists the files other than tables that differ between two states.
pub(crate) fn files(base_state: State<'_>, head_state: State<'_>) -> Vec<FileDiff> {
    let by_path = |state: State<'_>| -> BTreeMap<String, (Option<git2::Oid>, Role)> {
        let facts = state.facts.files().map(|file| &file.entry);
        let facts = facts.chain(state.catalog.support.values()).map(|e| (e, Role::Facts));
        let beside = state.catalog.other_files.iter().map(|(e, role)| (e, *role)).chain(facts);
        beside.map(|(e, role)| (e.path.clone(), (state.source.id(e), role))).collect()
    };
    let (base, head) = (by_path(base_state), by_path(head_state));
    let file = |(path, status): (&String, Status)| {
        let (_, role) = head.get(path).or_else(|| base.get(path))?;
        let is_system = *role == Role::System;
        let changes = if is_system { figures(base_state, head_state, path) } else { Vec::new() };
        Some(FileDiff { path: path.clone(), status, role: *role, changes })
    };
    changed_paths(&base, &head, |a, b| a.0 == b.0).filter_map(file).collect()
}

/// Returns the paths that were added, deleted or modified between two states, sorted, each with the kind of change.
/// `same` compares the contents of a path.
pub(crate) fn changed_paths<'a, T>(
    base: &'a BTreeMap<String, T>,
    head: &'a BTreeMap<String, T>,
    same: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = (&'a String, Status)> {
    let paths: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
    paths.into_iter().filter_map(move |path| match (base.get(path), head.get(path)) {
        (Some(before), Some(after)) => (!same(before, after)).then_some((path, Status::Modified)),
        (None, _) => Some((path, Status::Added)),
        (_, None) => Some((path, Status::Deleted)),
    })
}

/// Describes the fields of a system's YAML that differ; empty if a state lacks the system.
fn figures(base: State<'_>, head: State<'_>, yaml: &str) -> Vec<String> {
    let sides = system_of(base, yaml).zip(system_of(head, yaml));
    sides.map_or_else(Vec::new, |(base, head)| base.changes(head))
}

/// Returns the system that a YAML file describes.
fn system_of<'a>(state: State<'a>, yaml: &str) -> Option<&'a System> {
    let file = state.catalog.systems.values().find(|system| system.yaml == yaml)?;
    file.system.as_ref().ok()
}

/// The facts that differ between two states.
pub(crate) struct ChangedFacts<'a> {
    /// The systems of the head whose parsed YAML differs from the base. Comments and the order of lines do
    /// not matter.
    systems: BTreeSet<&'a str>,
    /// The names of tables whose facts differ, such as their family.
    tables: BTreeSet<&'a str>,
    /// The paths of tables that have rows of a kernel whose backend differs between base and head.
    kernels: BTreeSet<&'a str>,
}

impl<'a> ChangedFacts<'a> {
    /// Compares the facts of two states. `files` are the differing files.
    pub(crate) fn between(base: State<'a>, head: State<'a>, files: &[FileDiff]) -> Self {
        let yaml = |f: &&FileDiff| f.role == Role::System;
        let changed: BTreeSet<&str> = files.iter().filter(yaml).map(|f| &*f.path).collect();
        let systems = head.catalog.systems.iter();
        let systems = systems.filter(|(_, system)| changed.contains(&*system.yaml));
        let systems = systems.filter(|(name, after)| {
            let before =
                base.catalog.systems.get(*name).and_then(|before| before.system.as_ref().ok());
            before.is_none() || before != after.system.as_ref().ok()
        });
        let tables = base.catalog.tables.iter().chain(&head.catalog.tables);
        let tables: BTreeSet<&str> = tables.map(|file| &*file.table).collect();
        // Tables whose path or bytes changed are judged anyway.
        let kernels = head.catalog.tables.par_iter();
        let kernels = kernels.filter(|file| names_changed_kernel(base, head, file));
        let is_known_otherwise = |table: &&str| !base.specs.know_alike(head.specs, table);
        Self {
            systems: systems.map(|(name, _)| name.as_str()).collect(),
            tables: tables.into_iter().filter(is_known_otherwise).collect(),
            kernels: kernels.map(|file| &*file.entry.path).collect(),
        }
    }

    /// Returns true if any fact differs.
    pub(crate) fn are_any(&self) -> bool {
        !self.systems.is_empty() || !self.tables.is_empty() || !self.kernels.is_empty()
    }

    /// Returns true if the facts in a system's YAML differ between the states.
    pub(crate) fn are_of_system(&self, name: &str) -> bool {
        self.systems.contains(name)
    }

    /// Returns true if the facts about a table differ, so that all its rows are judged again.
    pub(crate) fn are_of_table(&self, file: &TableFile) -> bool {
        self.tables.contains(&*file.table) || self.kernels.contains(&*file.entry.path)
    }
}

/// Returns true if a table has rows of a kernel whose facts differ between the states.
fn names_changed_kernel<'a>(base: State<'a>, head: State<'a>, file: &TableFile) -> bool {
    let choices = [base, head].map(|state| state.specs.tables.get(&file.table)?.kernels.as_deref());
    if choices[0] == choices[1] {
        return false;
    }
    let is_changed = |kernel: &Arc<str>| {
        let of = |choices: Option<&'a KernelChoices>| {
            choices?.of(&file.place.backend, &file.table, kernel)
        };
        of(choices[0]) != of(choices[1])
    };
    let columns = head.columns(file, &BTreeSet::from([KERNEL_COLUMN]));
    let kernels = columns.as_ref().ok().and_then(|table| table.column(KERNEL_COLUMN));
    matches!(kernels, Some(Column::Text { dict, .. }) if dict.iter().any(is_changed))
}
