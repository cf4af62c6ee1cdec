//! The files that a planner reads. Each file is decoded and grouped once for all states, versions and
//! donors that use it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::names::NameCodes;
use super::slices::FileSlices;
use super::tables::TableName;
use crate::base::expr::{Expr, Lookup};
use crate::base::reason::Reason;
use crate::database::catalog::TableFile;
use crate::database::source::Source;
use crate::database::table::TableScope;
use crate::specs::Specs;

/// The identity of a file's content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Content {
    Blob(git2::Oid),
    /// Path of a file that has no object id.
    Path(String),
}

/// The identity of a file's slices. Besides the content it includes the system's name and the figures
/// pinned in the loader's code, because formulas read them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileOfTable {
    table: TableName,
    content: Content,
    system: String,
    pins: Arc<str>,
}

impl FileOfTable {
    /// Identifies a file of a table. `pins` are the figures pinned for that table.
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

/// The figures that a table's formulas read from the loader's code, as one text.
pub(super) fn pins(specs: &Specs, table: TableName) -> Arc<str> {
    let formulas = specs.tables.get(table.stem()).into_iter().flat_map(|spec| spec.loaded());
    let lists = formulas.flat_map(Expr::lookups).filter_map(|(lookup, _)| match lookup {
        Lookup::Pin(list) => specs.lookups.pins.get(&**list),
        Lookup::Bytes | Lookup::Flops => None,
    });
    lists.map(|pins| format!("{pins:?}")).collect::<String>().into()
}

/// A file's slices, or the reason why the file cannot be read.
pub(super) type SharedSlices = Result<Arc<FileSlices>, Reason>;

/// The slices of all files read so far.
#[derive(Default)]
pub(crate) struct PlannerFiles {
    /// The numbers of texts in slice keys.
    pub names: Arc<NameCodes>,
    /// Slices by file; the first thread that requests a file reads it.
    slices: Mutex<HashMap<FileOfTable, Arc<OnceLock<SharedSlices>>>>,
}

impl PlannerFiles {
    fn slot(&self, file: &FileOfTable) -> Arc<OnceLock<SharedSlices>> {
        let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
        slices.entry(file.clone()).or_default().clone()
    }

    /// Returns the slices of a file. The first caller groups its rows.
    pub(super) fn slices(
        &self,
        file: &FileOfTable,
        group: impl FnOnce(&NameCodes) -> Result<FileSlices, Reason>,
    ) -> SharedSlices {
        self.slot(file).get_or_init(|| group(&self.names).map(Arc::new)).clone()
    }

    /// Groups the rows of a file that is already decoded, unless its slices are known.
    pub(super) fn take(&self, file: &FileOfTable, scope: &TableScope<'_>) {
        let group = || FileSlices::group(scope, &self.names).map(Arc::new);
        self.slot(file).get_or_init(group);
    }
}
