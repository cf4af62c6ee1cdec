//! Chooses the peers of a table: other versions, other backends and similar systems.

use std::collections::BTreeSet;

use crate::database::catalog::{Catalog, TableFile};
use crate::database::served::{Edition, TableIndex};

/// The peers of a table: those drawn on its page, and those left out.
pub(super) struct ChosenPeers<'a> {
    /// The peers to draw, each with a label.
    pub files: Vec<(String, &'a TableFile)>,
    /// Labels of the peers that are left out.
    pub left_out: Vec<String>,
}

/// Chooses at most `most` peers to draw. Takes peers of three kinds in turn: another version, another backend, another
/// system. The first peer is the version before the table's own.
pub(super) fn peers<'a>(
    shelf: &TableIndex<'a>,
    catalog: &'a Catalog,
    file: &TableFile,
    most: usize,
) -> ChosenPeers<'a> {
    let mut kinds = [versions(shelf, file), backends(shelf, catalog, file), systems(shelf, file)];
    let mut all: Vec<(String, &TableFile)> = Vec::new();
    while kinds.iter().any(|kind| !kind.is_empty()) {
        for kind in &mut kinds {
            if !kind.is_empty() {
                all.push(kind.remove(0));
            }
        }
    }
    let left_out = all.split_off(all.len().min(most));
    ChosenPeers { files: all, left_out: left_out.into_iter().map(|(name, _)| name).collect() }
}

type PeerTable<'a> = (String, &'a TableFile);

fn first<'a>(edition: &Edition<'a>) -> Option<&'a TableFile> {
    edition.files.first().copied()
}

/// Returns the table's other versions of the same backend: earlier versions from new to old, then later versions.
fn versions<'a>(shelf: &TableIndex<'a>, file: &TableFile) -> Vec<PeerTable<'a>> {
    let Some(editions) = shelf.editions(file) else { return Vec::new() };
    let all: Vec<&Edition<'a>> = editions.iter().collect();
    let own = all.iter().position(|e| e.version == file.place.version).unwrap_or(all.len());
    let after = all.iter().skip(own + 1);
    let others = all[..own].iter().rev().chain(after);
    let named = |edition: &&Edition<'a>| {
        Some((format!("{} {}", file.place.backend, edition.version), first(edition)?))
    };
    others.filter_map(named).collect()
}

/// Returns the same table of every other backend on the same system. Each backend is represented by its current
/// version.
fn backends<'a>(
    shelf: &TableIndex<'a>,
    catalog: &'a Catalog,
    file: &TableFile,
) -> Vec<PeerTable<'a>> {
    let system = &file.place.system;
    let others = catalog.tables.iter().filter(|other| {
        other.table == file.table
            && other.place.system == *system
            && other.place.backend != file.place.backend
    });
    let backends: BTreeSet<&str> = others.map(|other| other.place.backend.as_str()).collect();
    let named = |backend: &str| {
        let editions = shelf.editions_of(&file.table, backend, system)?;
        let current = shelf.current(system, editions)?;
        Some((format!("{backend} {}", current.version), first(current)?))
    };
    backends.into_iter().filter_map(named).collect()
}

/// Returns the same table on similar systems.
fn systems<'a>(shelf: &TableIndex<'a>, file: &TableFile) -> Vec<PeerTable<'a>> {
    let near = shelf.peers_of(file).1.into_iter();
    let named = |system: &str, edition: &Edition<'a>| {
        let name = format!("{system} {} {}", file.place.backend, edition.version);
        Some((name, first(edition)?))
    };
    near.filter_map(|(system, editions, counts)| {
        // With the same version, only the machine differs.
        named(system, editions.get(&file.place.version).unwrap_or(counts))
    })
    .collect()
}
