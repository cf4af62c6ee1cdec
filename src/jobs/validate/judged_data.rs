//! The data from which a report was made.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::database::ledger::Ledger;
use crate::database::selection::Selected;
use crate::database::served::Shelf;
use crate::database::state::State;
use crate::findings::Finding;

/// The data from which a report was made.
pub(crate) struct JudgedData<'a> {
    /// The database.
    pub state: State<'a>,
    /// The part of the database that was judged.
    pub selected: &'a Selected,
    /// The rules of the run.
    pub rules: &'a [Arc<Rule>],
    /// The failures that a collector logged, if a log was given.
    pub ledger: Option<&'a Ledger>,
    /// Row counts of the judged tables and of the tables compared with, by path.
    pub table_rows: &'a BTreeMap<String, usize>,
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
    pub fn shelf(&self) -> Shelf<'a> {
        let State { catalog, facts, specs, .. } = self.state;
        Shelf::new(catalog, &facts.sidecars.reuse, specs)
    }
}
