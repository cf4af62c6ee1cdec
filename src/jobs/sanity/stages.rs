//! Determines which changed tables queries read, for the stages of a change's report.

use std::collections::BTreeMap;

use crate::base::error::Result;
use crate::base::words::{plural, plural_verb};
use crate::checks::settings::Settings;
use crate::database::catalog::{Format, Role, TableFile, VersionDir};
use crate::database::diff::{Diff, DiffSide, FileDiff, TableDiff};
use crate::database::served::{ReuseManifest, TableIndex};
use crate::database::source::Source;
use crate::database::state::State;
use crate::jobs::pull_request::Root;
use crate::report::below_data;
use crate::report::stages::{ChangedReach, StageInput, StageSpecs};

/// Collects the data for a report by stages: the rules of each stage, and the changed rows that queries can read. A
/// stage is a group of rules.
///
/// # Errors
///
/// If `rules/stages.yaml` is malformed.
pub(super) fn input(
    settings: &Settings,
    (roots, diffs): (&[Root], &[Diff]),
    (base, head): (&dyn Source, &dyn Source),
) -> Result<StageInput> {
    let specs = StageSpecs::read(&settings.specs.library)?;
    let mut reach = ChangedReach::default();
    if let Some(((root, diff), others)) = roots.iter().zip(diffs).next().zip(diffs.get(1..)) {
        reach = changed(root.states(base, head).1, diff);
        // Queries read the main root.
        let others = others.iter().map(|diff| diff.tables.len()).sum();
        if others > 0 {
            let tables = plural_verb(others, "changed table", ["is", "are"]);
            reach.gaps.push(format!("{tables} in another root, where no reach is determined"));
        }
    }
    Ok(StageInput { specs, reach })
}

/// Determines which changed tables queries can read, and counts the served keys. If no table changed, but a sidecar or
/// a system's YAML did, examines all tables.
fn changed(head: State<'_>, diff: &Diff) -> ChangedReach {
    let decides = |f: &FileDiff| matches!(f.role, Role::System | Role::Facts | Role::Sidecar);
    let mut reach = ChangedReach::default();
    if diff.tables.is_empty() && !diff.files.iter().any(decides) {
        return reach;
    }
    if let Some((path, why)) = head.facts.unread_answers() {
        reach.gaps.push(format!("the reach cannot be determined: {path} cannot be read: {why}"));
    }
    let diffs: BTreeMap<&str, &TableDiff> =
        diff.tables.iter().map(|table| (table.path.as_str(), table)).collect();
    let shelf = TableIndex::new(head.catalog, &head.facts.sidecars.reuse, head.specs);
    let (mut files, mut rows, mut served, mut unread) = (0, 0, 0, Vec::new());
    for file in &head.catalog.tables {
        let path = file.entry.path.as_str();
        let diff = diffs.get(path).copied();
        if diff.is_none() && !diffs.is_empty() {
            continue;
        }
        files += 1;
        let fault = diff.and_then(|diff| diff.fault.as_ref());
        unread.extend(fault.filter(|fault| fault.side != DiffSide::Base).map(|why| (path, why)));
        let head_rows = diff.and_then(|diff| diff.head_rows);
        rows += head_rows.unwrap_or(0);
        if head_rows == Some(0) {
            continue;
        }
        reach.tables += 1;
        match unserved(&shelf, head, file) {
            Some(why) => reach.unserved.push(format!("{}: {why}", below_data(path))),
            None => {
                let keys = diff.and_then(|diff| diff.served.as_ref());
                served += keys.map_or(0, |keys| keys.common + keys.gained + keys.rekeyed);
            }
        }
    }
    if let Some((path, why)) = unread.first() {
        let tables = plural(unread.len(), "changed table");
        let path = below_data(path);
        reach.gaps.push(format!("{tables} cannot be read, for example {path}: {why}"));
    }
    reach.checked = vec![("tables", files), ("rows", rows), ("served", served)];
    reach
}

/// Returns the reason why no query reads a table; `None` if queries of some version read it.
fn unserved(shelf: &TableIndex<'_>, head: State<'_>, file: &TableFile) -> Option<String> {
    let (place, path) = (&file.place, &file.entry.path);
    if file.format == Format::Csv && !head.specs.loader.text_tables {
        return Some("the loader reads only Parquet files".to_owned());
    }
    let (loader, filling) = (shelf.loader(&place.system)?, head.specs.filling(&file.table));
    let nothing_lent = ReuseManifest::default();
    let lent = head.facts.sharing.as_ref().unwrap_or(&nothing_lent);
    let reads = |backend: &str, version: &str| {
        let is_reached = shelf.is_reached(&place.system, backend, version);
        let sources = || loader.sources(backend, version, &file.table, filling, lent);
        is_reached && sources().iter().any(|source| source.file.entry.path == *path)
    };
    if loader.versions().any(|(backend, names)| names.iter().any(|name| reads(backend, name))) {
        return None;
    }
    let own = loader.own(&place.backend, &place.version, &file.table);
    Some(match own.map(|own| &own.entry.path) {
        Some(own) if own != path => format!("the loader reads {own} instead"),
        _ if head.catalog.dir_of(file).is_some_and(VersionDir::is_vetoed) => {
            "its directory is marked incomplete and has no collection_meta.yaml".to_owned()
        }
        _ => "no version that a query can name reads it".to_owned(),
    })
}
