//! What a table is drawn beside: the versions next to it, other backends, and systems nearby.

use std::collections::BTreeSet;

use crate::database::catalog::{Catalog, TableFile};
use crate::database::served::{Edition, Shelf};

/// Peers of a table.
pub(super) struct ChosenPeers<'a> {
    /// Those that are drawn, each by what it differs in.
    pub files: Vec<(String, &'a TableFile)>,
    /// Names of those that are not.
    pub left_out: Vec<String>,
}

/// Chooses at most `most` peers: in turn one of each kind, the version before it first.
pub(super) fn peers<'a>(
    shelf: &Shelf<'a>,
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

/// Other versions of its backend: those before it, nearest first, then those after it.
fn versions<'a>(shelf: &Shelf<'a>, file: &TableFile) -> Vec<PeerTable<'a>> {
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

/// The version that counts of each other backend on its system.
fn backends<'a>(shelf: &Shelf<'a>, catalog: &'a Catalog, file: &TableFile) -> Vec<PeerTable<'a>> {
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

/// Its table on the systems that it is compared with.
fn systems<'a>(shelf: &Shelf<'a>, file: &TableFile) -> Vec<PeerTable<'a>> {
    let near = shelf.near(file).1.into_iter();
    let named = |system: &str, edition: &Edition<'a>| {
        let name = format!("{system} {} {}", file.place.backend, edition.version);
        Some((name, first(edition)?))
    };
    near.filter_map(|(system, editions, counts)| {
        // Its own version where it is there: then the machine alone differs.
        named(system, editions.get(&file.place.version).unwrap_or(counts))
    })
    .collect()
}
