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

/// Lists the files that differ between base and head, other than tables.
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

/// Returns the paths that differ between base and head, sorted, each with the kind of change. `same` returns true if a
/// path has the same contents in both.
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

/// Describes the fields of a system's YAML that differ between base and head. Returns nothing if base or head lacks the
/// system.
fn figures(base: State<'_>, head: State<'_>, yaml: &str) -> Vec<String> {
    let sides = system_of(base, yaml).zip(system_of(head, yaml));
    sides.map_or_else(Vec::new, |(base, head)| base.changes(head))
}

/// Returns the system that a YAML file describes; `None` if the file cannot be read or describes no system.
fn system_of<'a>(state: State<'a>, yaml: &str) -> Option<&'a System> {
    let file = state.catalog.systems.values().find(|system| system.yaml == yaml)?;
    file.system.as_ref().ok()
}

/// The facts that differ between base and head. Facts are data that decide how rows are checked, such as the YAML of a
/// system.
pub(crate) struct ChangedFacts<'a> {
    /// The names of systems whose YAML states other values in the head than in the base.
    systems: BTreeSet<&'a str>,
    /// The names of tables for which base and head state different facts, such as the table's family.
    tables: BTreeSet<&'a str>,
    /// The paths of tables that contain a kernel to which base and head assign different backends.
    kernels: BTreeSet<&'a str>,
}

impl<'a> ChangedFacts<'a> {
    /// Compares the facts of base and head. `files` are the files that differ between base and head.
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

    /// Returns true if any fact differs between base and head.
    pub(crate) fn are_any(&self) -> bool {
        !self.systems.is_empty() || !self.tables.is_empty() || !self.kernels.is_empty()
    }

    /// Returns true if the YAML of a system states other facts in the head than in the base.
    pub(crate) fn are_of_system(&self, name: &str) -> bool {
        self.systems.contains(name)
    }

    /// Returns true if a fact about a table differs between base and head. All rows of such a table are checked again.
    pub(crate) fn are_of_table(&self, file: &TableFile) -> bool {
        self.tables.contains(&*file.table) || self.kernels.contains(&*file.entry.path)
    }
}

/// Returns true if a table contains a kernel to which base and head assign different backends.
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
