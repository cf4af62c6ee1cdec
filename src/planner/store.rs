//! Keeps everything built from files, so that states and versions that share files also share the
//! results.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::files::{FileOfTable, PlannerFiles};
use super::index::{RowOrigin, TableIndex};
use super::machine::MachineFigures;
use super::tables::TableName;

/// Everything read so far, shared by threads.
#[derive(Default)]
pub struct Store {
    pub(super) files: PlannerFiles,
    indexes: Mutex<HashMap<IndexKey, Arc<TableIndex>>>,
    machines: Mutex<Vec<Arc<MachineFigures>>>,
}

/// The identity of a table's index: its files with their origins, and the machine.
#[derive(PartialEq, Eq, Hash)]
struct IndexKey {
    table: TableName,
    sources: Vec<(FileOfTable, RowOrigin)>,
    /// Address of the machine, whose figures are lower bounds of latencies; the store keeps the machine
    /// alive.
    machine: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Returns the kept machine with equal figures or keeps this one, so that states share results that
    /// depend on the machine.
    pub(super) fn machine(&self, machine: MachineFigures) -> Arc<MachineFigures> {
        let mut known = lock(&self.machines);
        if let Some(same) = known.iter().find(|m| ***m == machine) {
            return same.clone();
        }
        known.push(Arc::new(machine));
        known[known.len() - 1].clone()
    }

    /// Returns the index of a table over its files; equal files give the same index.
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
