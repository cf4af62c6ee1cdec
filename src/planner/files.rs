//! The files that a planner reads, each decoded and grouped once for every state, version and donor that shares it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::keys::FileKeys;
use super::names::NameCodes;
use super::slices::FileSlices;
use super::tables::TableName;
use crate::base::expr::{Expr, Lookup};
use crate::base::reason::Reason;
use crate::database::catalog::TableFile;
use crate::database::source::Source;
use crate::database::table::TableScope;
use crate::specs::{Specs, TableSpec};

/// Bytes of rows that are taken in before somebody asks for them.
const AHEAD: usize = 96 << 20;

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Content {
    Blob(git2::Oid),
    /// The path of a file that has no id.
    Path(String),
}

/// A file as a table, with all that its slices follow from: formulas read its content, its system's name and figures
/// that are pinned in the loader's code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileOfTable {
    table: TableName,
    content: Content,
    system: String,
    pins: Arc<str>,
}

impl FileOfTable {
    /// A file of a table for which a state pins `pins`.
    pub(super) fn new(
        source: &dyn Source,
        file: &TableFile,
        table: TableName,
        pins: Arc<str>,
    ) -> Self {
        let content = match source.id(&file.entry) {
            Some(id) => Content::Blob(id),
            None => Content::Path(file.entry.path.clone()),
        };
        Self { table, content, system: file.place.system.clone(), pins }
    }
}

/// The figures, as one text, that the formulas of a table read from the loader's code.
pub(super) fn pins(specs: &Specs, table: TableName) -> Arc<str> {
    let formulas = specs.tables.get(table.stem()).into_iter().flat_map(|spec| spec.loaded());
    let lists = formulas.flat_map(Expr::lookups).filter_map(|(lookup, _)| match lookup {
        Lookup::Pin(list) => specs.lookups.pins.get(&**list),
        Lookup::Bytes | Lookup::Flops => None,
    });
    lists.map(|pins| format!("{pins:?}")).collect::<String>().into()
}

/// A file's slices, or why it cannot be read.
pub(super) type SharedSlices = Result<Arc<FileSlices>, Reason>;

/// Files by slices.
#[derive(Default)]
pub(crate) struct PlannerFiles {
    /// The numbers of texts in slices.
    pub names: Arc<NameCodes>,
    /// Each is read by the first thread that asks for it.
    slices: Mutex<HashMap<FileOfTable, Arc<OnceLock<SharedSlices>>>>,
    /// Files that will be asked for: if another stage decodes one of them, its rows are taken in.
    awaited: HashSet<FileOfTable>,
    /// Bytes of rows that were taken in so.
    ahead: AtomicUsize,
}

impl PlannerFiles {
    /// No files yet; some are `awaited`.
    pub(crate) fn awaiting(awaited: HashSet<FileOfTable>) -> Self {
        Self { awaited, ..Self::default() }
    }

    /// The columns of a table that its rows are made of.
    pub(crate) fn columns(spec: &TableSpec) -> BTreeSet<&str> {
        FileSlices::columns(spec)
    }

    fn slot(&self, file: &FileOfTable) -> Arc<OnceLock<SharedSlices>> {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        slices.entry(file.clone()).or_default().clone()
    }

    /// The slices of a file, grouped by the first caller.
    pub(super) fn slices(
        &self,
        file: &FileOfTable,
        group: impl FnOnce(&NameCodes) -> Result<FileSlices, Reason>,
    ) -> SharedSlices {
        self.slot(file).get_or_init(|| group(&self.names).map(Arc::new)).clone()
    }

    /// A file that is awaited, while there is room for its rows.
    pub(crate) fn awaits(
        &self,
        source: &dyn Source,
        specs: &Specs,
        file: &TableFile,
    ) -> Option<FileOfTable> {
        // Asked first: a file on disk may have to be hashed for its content.
        let has_room = self.ahead.load(Ordering::Relaxed) < AHEAD;
        let table = TableName::of(&file.table).filter(|_| has_room && !self.awaited.is_empty())?;
        let file = FileOfTable::new(source, file, table, pins(specs, table));
        self.awaited.contains(&file).then_some(file)
    }

    /// Takes in the rows of a decoded file. Returns the keys of its slices, unless its loader refuses the file or its
    /// rows are known already.
    pub(crate) fn take(&self, file: &FileOfTable, scope: &TableScope<'_>) -> Option<FileKeys> {
        let mut keys = None;
        self.slot(file).get_or_init(|| {
            let slices = FileSlices::group(scope, &self.names)?;
            self.ahead.fetch_add(slices.bytes(), Ordering::Relaxed);
            keys = FileKeys::of_slices(&slices);
            Ok(Arc::new(slices))
        });
        keys
    }

    /// Forgets the rows of some files, which nobody asks for again.
    pub(crate) fn forget(&self, files: &HashSet<FileOfTable>) {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        slices.retain(|file, _| !files.contains(file));
    }
}
