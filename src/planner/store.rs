//! What was read, kept for whoever asks next: a file that two states or ten versions share is
//! decoded once.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::index::{RowOrigin, TableIndex};
use super::names::NameCodes;
use super::operations::TableName;
use super::slices::FileSlices;
use super::{MachineFigures, Reason, Source, Table, TableFault, TableFile};

/// The content of a file: its blob, or its path where there is no id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content {
    /// By its id.
    Blob(git2::Oid),
    /// By where it lies, of a file that has no id.
    Path(String),
}

/// A file's slices, or why it cannot be read.
pub(super) type SharedSlices = Arc<Result<FileSlices, Reason>>;

/// A file's slices, read by the first thread that asks for them.
type SlicesOnce = Arc<OnceLock<SharedSlices>>;

/// Everything that was read, shared by threads.
#[derive(Default)]
pub struct Store {
    pub(super) names: NameCodes,
    files: Mutex<HashMap<(TableName, Content), SlicesOnce>>,
    indexes: Mutex<HashMap<IndexKey, Arc<TableIndex>>>,
    machines: Mutex<Vec<Arc<MachineFigures>>>,
}

/// What makes two indexes the same: their files with how they are used, and the machine's figures.
#[derive(PartialEq, Eq, Hash)]
struct IndexKey {
    table: TableName,
    sources: Vec<(Content, RowOrigin)>,
    /// Address of the machine, whose figures clamp rows; the store keeps it.
    machine: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// A machine; one for equal figures, so that states share what depends on them.
    pub(super) fn machine(&self, machine: MachineFigures) -> Arc<MachineFigures> {
        let mut known = lock(&self.machines);
        if let Some(same) = known.iter().find(|m| ***m == machine) {
            return same.clone();
        }
        known.push(Arc::new(machine));
        known[known.len() - 1].clone()
    }

    /// The index of a table over its sources; one for equal content.
    pub(super) fn index(
        &self,
        table: TableName,
        sources: Vec<(Content, RowOrigin)>,
        machine: &Arc<MachineFigures>,
    ) -> Arc<TableIndex> {
        let key = IndexKey { table, sources, machine: Arc::as_ptr(machine) as usize };
        match lock(&self.indexes).entry(key) {
            Slot::Occupied(known) => known.get().clone(),
            Slot::Vacant(slot) => {
                let origins = slot.key().sources.iter().cloned();
                let index = Arc::new(TableIndex::new(table, origins));
                slot.insert(index).clone()
            }
        }
    }

    /// The rows of a file, read where nobody did yet.
    pub(super) fn file(
        &self,
        table: TableName,
        content: &Content,
        read: impl FnOnce() -> Result<Arc<Table>, TableFault>,
    ) -> SharedSlices {
        let cell = lock(&self.files).entry((table, content.clone())).or_default().clone();
        cell.get_or_init(|| Arc::new(self.group(table, read))).clone()
    }

    /// The rows of a file that somebody decoded already.
    pub(super) fn offer(&self, table: TableName, content: &Content, decoded: &Table) {
        let cell = lock(&self.files).entry((table, content.clone())).or_default().clone();
        cell.get_or_init(|| Arc::new(FileSlices::group(decoded, table, &self.names)));
    }

    fn group(
        &self,
        table: TableName,
        read: impl FnOnce() -> Result<Arc<Table>, TableFault>,
    ) -> Result<FileSlices, Reason> {
        match read() {
            Ok(decoded) => FileSlices::group(&decoded, table, &self.names),
            // A file without rows serves none, and fails nothing.
            Err(TableFault::Empty) => Ok(FileSlices::default()),
            Err(fault) => Err(fault.to_string().into()),
        }
    }
}

impl Content {
    /// The content of a file of a source.
    pub(super) fn of(source: &dyn Source, file: &TableFile) -> Self {
        match source.id(&file.entry) {
            Some(id) => Self::Blob(id),
            None => Self::Path(file.entry.path.clone()),
        }
    }
}
