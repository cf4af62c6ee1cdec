//! The order in which tables are read: name by name, small names together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::job::Job;
use crate::database::catalog::TableFile;

/// Bytes of tables that are read at once, about: a name that has more is read by itself. Its tables keep all
/// threads busy, those of a small name do not.
const BATCH: u64 = 8 << 20;

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
    /// The tables of each name that is judged, with those of them that must be read, in batches: names and
    /// tables in the order of their bytes, the most first.
    pub(super) fn batches(
        &self,
        alone: &[usize],
        neighbours: &[usize],
        against: &[usize],
    ) -> Vec<Vec<NamedTables<'_>>> {
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
        let sized = names.into_values().map(|mut of_name| {
            of_name.read.sort_by_key(|item| (Reverse(size(item)), item.index));
            (of_name.read.iter().map(size).sum::<u64>(), of_name)
        });
        let mut sized: Vec<(u64, NamedTables<'_>)> = sized.collect();
        sized.sort_by_key(|(bytes, _)| Reverse(*bytes));
        let mut batches: Vec<Vec<NamedTables<'_>>> = Vec::new();
        let mut room = 0;
        for (bytes, of_name) in sized {
            match batches.last_mut().filter(|_| bytes <= room) {
                Some(batch) => {
                    room -= bytes;
                    batch.push(of_name);
                }
                None => {
                    room = BATCH.saturating_sub(bytes);
                    batches.push(vec![of_name]);
                }
            }
        }
        batches
    }
}
