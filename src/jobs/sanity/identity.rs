//! Which table of one state is which of another.

use std::collections::{BTreeMap, BTreeSet};

use crate::database::catalog::{Catalog, Place, TableFile};
use crate::findings::Successor;

/// What a table is, in whatever layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableIdentity<'a> {
    pub system: &'a str,
    pub backend: &'a str,
    pub version: &'a str,
    pub table: &'a str,
}

impl<'a> TableIdentity<'a> {
    pub(super) fn new(place: &'a Place, table: &'a str) -> Self {
        let Place { system, backend, version, .. } = place;
        Self { system, backend, version, table }
    }

    pub(super) fn of(file: &'a TableFile) -> Self {
        Self::new(&file.place, &file.table)
    }

    /// The table in any version: what is served of one version comes from others, too.
    pub(super) fn in_any_version(self) -> (&'a str, &'a str, &'a str) {
        (self.system, self.backend, self.table)
    }
}

/// The base's table that each table of the head was, by the head's path.
pub(super) type Predecessors<'a> = BTreeMap<&'a str, &'a TableFile>;

/// Where tables of the base lie in the head.
pub(super) fn successors<'a>(
    head: &'a Catalog,
    predecessors: &Predecessors<'a>,
) -> impl Fn(&str) -> Option<Successor<'a>> + use<'a> {
    let head = by_path(head);
    let successors: BTreeMap<&str, &TableFile> = predecessors
        .iter()
        .filter_map(|(path, before)| Some((before.entry.path.as_str(), *head.get(path)?)))
        .collect();
    move |path| {
        successors.get(path).map(|file| Successor {
            path: &file.entry.path,
            place: &file.place,
            table: &file.table,
        })
    }
}

/// The tables of a state by path.
pub(super) fn by_path(catalog: &Catalog) -> BTreeMap<&str, &TableFile> {
    catalog.tables.iter().map(|t| (t.entry.path.as_str(), t)).collect()
}

/// Indices of the tables at some paths.
pub(super) fn indices(catalog: &Catalog, paths: &BTreeSet<&str>) -> Vec<usize> {
    let tables = catalog.tables.iter().enumerate();
    tables.filter(|(_, t)| paths.contains(t.entry.path.as_str())).map(|(index, _)| index).collect()
}
