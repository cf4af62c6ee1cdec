//! The files that a planner reads, each decoded and grouped once for every state, version and donor that shares it.

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
}

impl PlannerFiles {
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

    /// Takes in the rows of a decoded file, unless they are known already.
    pub(super) fn take(&self, file: &FileOfTable, scope: &TableScope<'_>) {
        let group = || FileSlices::group(scope, &self.names).map(Arc::new);
        self.slot(file).get_or_init(group);
    }
}
