//! The table that a collection run keeps by hand: what is there of each table of a system, beside what
//! the nearest system has, where it comes from, what is wrong with it and what was skipped.
//!
//! Nothing is counted here that `validate` does not count: rows come from its sketches, the rest from
//! its findings, its sidecars and its order of versions.

mod commands;
mod entry;
mod map;
mod options;
mod render;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::Version;
use serde::Serialize;

use self::commands::commands;
use self::entry::{Skipped, TableStatus};
pub use self::options::StatusOptions;
use self::table::Gatherer;
use crate::base::error::{Error, Result};
use crate::base::exit::Exit;
use crate::base::progress::Progress;
use crate::database::catalog::Place;
use crate::database::selection::Selection;
use crate::findings::{Finding, Severity};
use crate::gpu::recipe::Recipes;
use crate::jobs::validate::{self, Looked};

pub use map::{DatabaseMap, map};
pub use render::render;

/// What there is of a system, schema `perfdb-gate/status/v1`.
#[derive(Debug, Serialize)]
pub struct SystemStatus {
    schema: &'static str,
    system: String,
    /// Sums over the tables below, by backend and version.
    versions: Vec<VersionStatus>,
    tables: Vec<TableStatus>,
    skipped: Vec<Skipped>,
    /// Findings on nothing that is listed here: system YAML, a sidecar as a whole.
    beside: Vec<FindingBeside>,
    /// What to run before the data is merged.
    commands: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct VersionStatus {
    backend: String,
    version: String,
    tables: usize,
    rows: usize,
    /// Gatherer that the nearest systems have and this one lacks.
    missing: usize,
    duplicates: u64,
    errors: usize,
    warnings: usize,
}

#[derive(Debug, Serialize)]
struct FindingBeside {
    severity: &'static str,
    rule: String,
    path: String,
    message: String,
}

/// Gathers the status of a system.
///
/// # Errors
///
/// When there is no database, or nothing that the options name; when the system's name fits several.
pub fn run(options: &StatusOptions, progress: &dyn Progress) -> Result<SystemStatus> {
    let judged = validate::ValidateOptions {
        root: options.root.clone(),
        reference: options.reference.clone(),
        selection: Selection {
            systems: vec![options.system.clone()],
            backends: options.backends.clone(),
            versions: options.versions.clone(),
            tables: Vec::new(),
        },
        rules: options.rules.clone(),
        ledger: options.ledger.clone(),
        ..validate::ValidateOptions::default()
    };
    validate::judged(&judged, progress, |looked| gather(options, looked)).map(|(_, status)| status)
}

impl SystemStatus {
    /// How the run ends: a status judges nothing, so it is clean wherever there is a table.
    pub fn exit(&self) -> Exit {
        if self.tables.iter().any(|t| t.path.is_some()) { Exit::Clean } else { Exit::Inconclusive }
    }
}

fn gather(options: &StatusOptions, looked: &Looked<'_>) -> Result<SystemStatus> {
    let catalog = looked.state.catalog;
    let names = catalog.systems.keys().filter(|s| looked.selected.has_system(s));
    let [system] = names.collect::<Vec<_>>()[..] else {
        return Err(Error::new(
            format!("--system {} matches several systems", options.system),
            "status shows one system: write its whole name",
        ));
    };
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let is_selected = |place: &&Place| place.system == *system && looked.selected.place(place);
    for place in catalog.dirs.values().map(|d| &d.place).filter(is_selected) {
        versions.entry(&place.backend).or_default().insert(&place.version);
    }
    let recipes = Recipes::read(&looked.state.specs.library)?;
    let gatherer = Gatherer::new(looked, system);
    let mut tables = Vec::new();
    for (backend, versions) in &versions {
        if options.versions.is_empty() {
            tables.extend(gatherer.current(backend, &newest(versions)));
        } else {
            let mut versions: Vec<&str> = versions.iter().copied().collect();
            versions.sort_by_cached_key(|v| (Version::from_str(v).ok(), *v));
            tables.extend(versions.iter().flat_map(|v| gatherer.of_version(backend, v)));
        }
    }
    // As people look for them: by what was run, then by table.
    tables.sort_by(|a, b| {
        let order = |t: &'_ TableStatus| (t.backend.clone(), t.operation.clone(), t.table.clone());
        order(a).cmp(&order(b))
    });
    let mut skipped: Vec<Skipped> = tables.iter().flat_map(|t| gatherer.skipped(t)).collect();
    skipped.sort();
    let listed = |f: &&Finding| tables.iter().any(|t| gatherer.concerns(f, t));
    let beside = looked.findings.iter().filter(|f| f.counts() && f.severity != Severity::Info);
    let beside = beside.filter(|f| f.table.is_none() && !listed(f)).map(|f| FindingBeside {
        severity: f.severity.name(),
        rule: f.rule.clone(),
        path: f.path.clone(),
        message: f.message.clone(),
    });
    Ok(SystemStatus {
        schema: "perfdb-gate/status/v1",
        system: system.clone(),
        versions: sums(&tables),
        skipped,
        beside: beside.collect(),
        commands: commands(options, system, &tables, &recipes),
        tables,
    })
}

/// The newest of some versions; one that cannot be ordered is older than all that can.
fn newest(versions: &BTreeSet<&str>) -> String {
    let newest = versions.iter().max_by_key(|v| (Version::from_str(v).ok(), **v));
    newest.map_or_else(String::new, |v| (*v).to_owned())
}

/// Sums over tables by backend and version.
fn sums(tables: &[TableStatus]) -> Vec<VersionStatus> {
    let mut sums: BTreeMap<(&str, Option<Version>, &str), VersionStatus> = BTreeMap::new();
    for table in tables {
        let (backend, version) = (table.backend.as_str(), table.version.as_str());
        let key = (backend, Version::from_str(version).ok(), version);
        let sum = sums.entry(key).or_insert_with(|| VersionStatus {
            backend: backend.to_owned(),
            version: version.to_owned(),
            ..VersionStatus::default()
        });
        match table.path {
            Some(_) => sum.tables += 1,
            None => sum.missing += 1,
        }
        sum.rows += table.rows.unwrap_or(0);
        sum.duplicates += table.duplicates;
        sum.errors += table.errors;
        sum.warnings += table.warnings;
    }
    sums.into_values().collect()
}
