//! Everything made of files, kept so that two states or ten versions that share files share it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::files::{FileOfTable, PlannerFiles};
use super::index::{RowOrigin, TableIndex};
use super::machine::MachineFigures;
use super::tables::TableName;

/// Everything that was read, shared by threads.
#[derive(Default)]
pub struct Store {
    pub(super) files: PlannerFiles,
    indexes: Mutex<HashMap<IndexKey, Arc<TableIndex>>>,
    machines: Mutex<Vec<Arc<MachineFigures>>>,
}

/// The identity of an index: its files with their origins, and the machine's figures.
#[derive(PartialEq, Eq, Hash)]
struct IndexKey {
    table: TableName,
    sources: Vec<(FileOfTable, RowOrigin)>,
    /// Address of the machine, whose figures clamp rows; the store keeps it.
    machine: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// A machine; the same one for equal figures, so that states share what depends on them.
    pub(super) fn machine(&self, machine: MachineFigures) -> Arc<MachineFigures> {
        let mut known = lock(&self.machines);
        if let Some(same) = known.iter().find(|m| ***m == machine) {
            return same.clone();
        }
        known.push(Arc::new(machine));
        known[known.len() - 1].clone()
    }

    /// The index of a table over its sources; the same one for equal content.
    pub(super) fn index(
        &self,
        table: TableName,
        sources: Vec<(FileOfTable, RowOrigin)>,
        machine: &Arc<MachineFigures>,
    ) -> Arc<TableIndex> {
        let key = IndexKey { table, sources, machine: Arc::as_ptr(machine) as usize };
        let mut indexes = lock(&self.indexes);
        if let Some(known) = indexes.get(&key) {
            return known.clone();
        }
        let index = Arc::new(TableIndex::new(table, key.sources.iter().cloned()));
        indexes.insert(key, index.clone());
        index
    }
}
