//! Compares each table that a change adds with a reference: the previous version of the table, or the same table of a
//! similar system.

use rayon::prelude::*;

use super::{Diff, PairedTables, ServedDiff, Status, TableDiff};
use crate::base::expr::ExprError;
use crate::database::catalog::{Place, TableFile};
use crate::database::served::TableIndex;
use crate::database::state::State;

/// An added table, compared with its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct AddedTable {
    /// The path of the added table.
    pub path: String,
    /// The path of the reference.
    pub reference: String,
    /// The system, family, backend and version of the reference.
    pub place: Place,
    /// The served keys of the reference, compared with those of the added table. A lost key is served only by the
    /// reference, and a gained key only by the added table.
    pub served: ServedDiff,
}

impl Diff {
    /// Compares each added table with its reference: the previous version of the table, or the same table of the
    /// nearest system. If two added tables are each other's reference, only the later one by path is compared.
    ///
    /// # Errors
    ///
    /// If a formula of a table's spec does not fit a table's columns.
    pub(crate) fn find_references(&self, head: State<'_>) -> Result<Vec<AddedTable>, ExprError> {
        let is_new =
            |table: &&TableDiff| table.status == Status::Added && table.base_rows == Some(0);
        let added: Vec<&TableDiff> = self.tables.iter().filter(is_new).collect();
        let shelf = TableIndex::new(head.catalog, &head.facts.sidecars.reuse, head.specs);
        let found = added.par_iter().map(|table| {
            let Some(file) = head.catalog.table(&table.path) else { return Ok(None) };
            // Two added tables that are each other's reference are compared once.
            let is_first = |other: &&TableFile| {
                other.entry.path < table.path || added.iter().all(|t| t.path != other.entry.path)
            };
            let other = nearest(&shelf, file).filter(is_first);
            other.map_or(Ok(None), |other| AddedTable::new(head, file, other))
        });
        found.filter_map(Result::transpose).collect()
    }
}

/// Returns the previous version of a table on the same system. If there is none, returns the same version on another
/// system. If that is missing, too, returns the table of the nearest system.
fn nearest<'a>(shelf: &TableIndex<'a>, file: &TableFile) -> Option<&'a TableFile> {
    let before = shelf.editions(file).and_then(|all| all.last_before(&file.place.version));
    let near = || {
        let near = shelf.peers_of(file).1;
        let same = near.iter().find_map(|(_, editions, _)| editions.get(&file.place.version));
        same.or_else(|| near.first().map(|(.., edition)| *edition))
    };
    before.or_else(near)?.files.first().copied()
}

impl AddedTable {
    /// Compares an added table with its reference; `None` if a table cannot be read or their keys cannot be compared.
    fn new(head: State<'_>, file: &TableFile, near: &TableFile) -> Result<Option<Self>, ExprError> {
        let Some(spec) = head.specs.tables.get(&file.table) else { return Ok(None) };
        let read = |file| head.columns(file, &spec.loaded_columns());
        let (Ok(base), Ok(table)) = (read(near), read(file)) else { return Ok(None) };
        let sides = PairedTables {
            files: (near, file),
            tables: (Some(&base), Some(&table)),
            spec,
            lookups: &head.specs.lookups,
            base_spec: spec,
            base_lookups: &head.specs.lookups,
        };
        let noise = head.specs.noise.bands(&file.table, &file.place.backend);
        let served = sides.served(None, &[], noise)?;
        let Some(mut served) = served else { return Ok(None) };
        (served.rows.common, served.rows.keys) = Default::default();
        let (path, reference) = (file.entry.path.clone(), near.entry.path.clone());
        Ok(Some(Self { path, reference, place: near.place.clone(), served }))
    }
}
