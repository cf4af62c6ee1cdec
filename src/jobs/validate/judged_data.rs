//! The data from which a report was made.

use crate::database::catalog::TableFile;
use crate::database::selection::Selected;
use crate::database::served::TableIndex;
use crate::database::state::State;
use crate::findings::Finding;

/// The data from which a report was made.
pub(crate) struct JudgedData<'a> {
    /// The database.
    pub state: State<'a>,
    /// The part of the database that was judged.
    pub selected: &'a Selected,
    /// The findings in the order of the report.
    pub findings: &'a [Finding],
}

impl<'a> JudgedData<'a> {
    /// Iterates over the selected tables of the catalog.
    pub fn tables(&self) -> impl Iterator<Item = &'a TableFile> {
        let tables = self.state.catalog.tables.iter();
        tables.filter(|file| self.selected.table(&file.place, &file.table))
    }

    /// Returns the tables by backend, system and version.
    pub fn shelf(&self) -> TableIndex<'a> {
        let State { catalog, facts, specs, .. } = self.state;
        TableIndex::new(catalog, &facts.sidecars.reuse, specs)
    }
}
