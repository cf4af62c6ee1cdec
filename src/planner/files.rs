//! The files that a planner reads, each decoded and grouped once: for every state, version and donor that shares it,
//! and by whichever stage of a job reads it first.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::asked::AskedSlices;
use super::keys::FileKeys;
use super::names::NameCodes;
use super::operations::TableName;
use super::slices::FileSlices;
use super::{Reason, Source, Table, TableFault, TableFile};

/// Bytes of rows that are taken in before somebody asks for them: those of four million rows.
const AHEAD: usize = 96 << 20;

/// The content of a file: its blob, or its path where there is no id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content {
    /// By its id.
    Blob(git2::Oid),
    /// By where it lies, of a file that has no id.
    Path(String),
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

/// A file as a table.
pub type FileOfTable = (TableName, Content);

/// A file's slices, or why it cannot be read.
pub(super) type SharedSlices = Arc<Result<FileSlices, Reason>>;

/// A file's slices, read by the first thread that asks for them.
type SlicesOnce = Arc<OnceLock<SharedSlices>>;

/// Files by slices.
#[derive(Default)]
pub struct PlannerFiles {
    /// The numbers of texts in slices.
    pub names: Arc<NameCodes>,
    slices: Mutex<HashMap<FileOfTable, SlicesOnce>>,
    /// Files that will be asked for: what another stage decodes of them is taken in.
    awaited: HashSet<FileOfTable>,
    /// Slices that will be.
    asked: AskedSlices,
    /// Bytes of rows that were taken in so.
    ahead: AtomicUsize,
}

impl PlannerFiles {
    /// None yet; some are `awaited`, of which no lookup reads other slices than those `asked` for.
    pub fn awaiting(awaited: HashSet<FileOfTable>, asked: AskedSlices) -> Self {
        Self { awaited, asked, ..Self::default() }
    }

    /// The columns of a table that its rows are made of.
    pub fn columns(table: TableName) -> BTreeSet<&'static str> {
        FileSlices::columns(table)
    }

    fn slot(&self, file: &FileOfTable) -> SlicesOnce {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        slices.entry(file.clone()).or_default().clone()
    }

    /// The rows of a file, read where nobody did yet.
    pub(super) fn file(
        &self,
        file: &FileOfTable,
        read: impl FnOnce() -> Result<Arc<Table>, TableFault>,
    ) -> SharedSlices {
        let group = || match read() {
            Ok(decoded) => FileSlices::group(&decoded, file.0, &self.names, &self.asked),
            // A file without rows serves none, and fails nothing.
            Err(TableFault::Empty) => Ok(FileSlices::default()),
            Err(fault) => Err(fault.to_string().into()),
        };
        self.slot(file).get_or_init(|| Arc::new(group())).clone()
    }

    /// A file that is awaited, while there is room for its rows.
    pub fn awaits(&self, source: &dyn Source, file: &TableFile) -> Option<FileOfTable> {
        // Asked first: a file on disk may have to be hashed for its content.
        let has_room = self.ahead.load(Ordering::Relaxed) < AHEAD;
        let table = TableName::of(&file.table).filter(|_| has_room && !self.awaited.is_empty())?;
        let file = (table, Content::of(source, file));
        self.awaited.contains(&file).then_some(file)
    }

    /// Takes in the rows of a file that somebody decoded, with all columns that they are made of. Gives the keys of its
    /// slices, unless its loader refuses the file or its rows are known already.
    pub fn take(&self, file: &FileOfTable, decoded: &Table) -> Option<FileKeys> {
        let mut keys = None;
        self.slot(file).get_or_init(|| {
            let grouped = FileSlices::group(decoded, file.0, &self.names, &self.asked);
            if let Ok(slices) = &grouped {
                self.ahead.fetch_add(slices.bytes(), Ordering::Relaxed);
                keys = slices.keys_of_all_rows().cloned();
            }
            Arc::new(grouped)
        });
        keys
    }

    /// Forgets the rows of some files, which nobody asks for again.
    pub fn forget(&self, files: &HashSet<FileOfTable>) {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        slices.retain(|file, _| !files.contains(file));
    }
}
