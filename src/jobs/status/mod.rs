//! Reports the tables of a system: rows, the same table on a similar system, provenance, findings
//! and skipped cases.
//!
//! All counts are those of `validate`: rows come from its sketches, everything else from its
//! findings, sidecars and order of versions.

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
use crate::jobs::validate::{self, JudgedData, ValidateOptions};

pub use map::{DatabaseMap, map};
pub use render::render;

/// The status of a system, schema `perfdb-gate/status/v1`.
#[derive(Debug, Serialize)]
pub struct SystemStatus {
    schema: &'static str,
    system: String,
    /// Sums over `tables`, by backend and version.
    versions: Vec<VersionStatus>,
    tables: Vec<TableStatus>,
    skipped: Vec<Skipped>,
    /// Findings that are not on a listed table, such as findings on a system's YAML or a whole
    /// sidecar.
    beside: Vec<FindingBeside>,
    /// Commands to run before the data is merged.
    commands: Vec<String>,
}

/// The sums over the tables of a version.
#[derive(Debug, Default, Serialize)]
struct VersionStatus {
    backend: String,
    version: String,
    tables: usize,
    rows: usize,
    /// Number of tables that similar systems have and this one lacks.
    missing: usize,
    duplicates: u64,
    errors: usize,
    warnings: usize,
}

/// A finding that is not on a listed table.
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
/// Returns an error if there is no database, if the options name something unknown, or if the
/// system's name matches several systems.
pub fn run(options: &StatusOptions, progress: &dyn Progress) -> Result<SystemStatus> {
    let judged = ValidateOptions {
        root: options.root.clone(),
        reference: options.reference.clone(),
        selection: Selection {
            systems: vec![options.system.clone()],
            backends: options.backends.clone(),
            versions: options.versions.clone(),
            tables: Vec::new(),
            layout: options.layout.clone(),
        },
        rules: options.rules.clone(),
        ledger: options.ledger.clone(),
        ..ValidateOptions::default()
    };
    validate::judged(&judged, progress, |data| gather(options, data)).map(|(_, status)| status)
}

impl SystemStatus {
    /// Returns the exit code: clean if there is a table, otherwise inconclusive.
    pub fn exit(&self) -> Exit {
        if self.tables.iter().any(|t| t.path.is_some()) { Exit::Clean } else { Exit::Inconclusive }
    }
}

fn gather(options: &StatusOptions, data: &JudgedData<'_>) -> Result<SystemStatus> {
    let catalog = data.state.catalog;
    let names = catalog.systems.keys().filter(|s| data.selected.has_system(s));
    let [system] = names.collect::<Vec<_>>()[..] else {
        return Err(Error::new(
            format!("--system {} matches several systems", options.system),
            "status shows one system: write its whole name",
        ));
    };
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let is_selected = |place: &&Place| place.system == *system && data.selected.place(place);
    for place in catalog.dirs.values().map(|d| &d.place).filter(is_selected) {
        versions.entry(&place.backend).or_default().insert(&place.version);
    }
    let recipes = Recipes::read(&data.state.specs.library)?;
    let gatherer = Gatherer::new(data, system);
    let mut tables = Vec::new();
    for (backend, versions) in versions {
        // A version that cannot be parsed is older than all others.
        let mut versions: Vec<&str> = versions.into_iter().collect();
        versions.sort_by_cached_key(|v| (Version::from_str(v).ok(), *v));
        let is_current = options.versions.is_empty();
        if is_current {
            versions.drain(..versions.len() - 1);
        }
        tables.extend(versions.iter().flat_map(|v| gatherer.tables(backend, v, is_current)));
    }
    // The order by which people look for tables: backend, operation, table.
    let order = |t: &TableStatus| (t.backend.clone(), t.operation.clone(), t.table.clone());
    tables.sort_by_cached_key(order);
    let mut skipped: Vec<Skipped> = tables.iter().flat_map(|t| gatherer.skipped(t)).collect();
    skipped.sort();
    let listed = |f: &&Finding| tables.iter().any(|t| gatherer.concerns(f, t));
    let beside = data.findings.iter().filter(|f| f.counts() && f.severity != Severity::Info);
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

/// Sums up tables by backend and version.
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
