//! The order in which tables are read: name by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::job::Job;
use crate::database::catalog::TableFile;

/// A table to be read, by its index into the catalog.
pub(super) struct ToRead {
    pub index: usize,
    /// Whether it is judged by itself, too.
    pub judge: bool,
}

/// The tables of a name, with those of them that must be read.
#[derive(Default)]
pub(super) struct NamedTables<'a> {
    pub tables: Vec<&'a TableFile>,
    pub read: Vec<ToRead>,
    /// Whether any of them is held against the others.
    pub are_compared: bool,
}

impl Job<'_> {
    /// The tables of each name that is judged, with those of them that must be read: names and tables in
    /// the order of their bytes, the most first.
    pub(super) fn by_name(
        &self,
        alone: &[usize],
        neighbours: &[usize],
        against: &[usize],
    ) -> Vec<NamedTables<'_>> {
        let mut names: BTreeMap<&str, NamedTables<'_>> = BTreeMap::new();
        let name = |index: usize| self.catalog.tables[index].table.as_str();
        for index in alone {
            names.entry(name(*index)).or_default();
        }
        for index in against {
            names.entry(name(*index)).or_default().are_compared = true;
        }
        for file in &self.catalog.tables {
            if let Some(of_name) = names.get_mut(file.table.as_str()) {
                of_name.tables.push(file);
            }
        }
        let alone = alone.iter().map(|index| ToRead { index: *index, judge: true });
        let neighbours = neighbours.iter().map(|index| ToRead { index: *index, judge: false });
        for item in alone.chain(neighbours) {
            if let Some(of_name) = names.get_mut(name(item.index)) {
                of_name.read.push(item);
            }
        }
        let size = |item: &ToRead| self.catalog.tables[item.index].entry.size;
        let mut names: Vec<NamedTables<'_>> = names.into_values().collect();
        for of_name in &mut names {
            of_name.read.sort_by_key(|item| (Reverse(size(item)), item.index));
        }
        names.sort_by_key(|of_name| Reverse(of_name.read.iter().map(size).sum::<u64>()));
        names
    }
}
