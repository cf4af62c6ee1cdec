//! One decoded table in one state, with the context that rules read.

use std::sync::Arc;

use crate::base::digest::sha256;
use crate::base::expr::ExprError;
use crate::checks::context::{RowCache, Serving, TableContext};
use crate::database::catalog::TableFile;
use crate::database::seal::SealFile;
use crate::database::state::State;
use crate::database::table::{Keys, Table, TableFault, TableScope, Wanted};
use crate::specs::TableSpec;

/// A decoded table in one state.
pub(super) struct DecodedTable<'a> {
    state: State<'a>,
    pub file: &'a TableFile,
    pub table: Arc<Result<Table, TableFault>>,
    /// The SHA-256 of the table's file in hex; `None` unless a sidecar or seal states a digest to compare with.
    pub digest: Option<String>,
    pub spec: Arc<TableSpec>,
    pub serving: Serving,
    seal: Option<SealFile>,
}

impl<'a> DecodedTable<'a> {
    /// Decodes the `wanted` columns of a table. If `takes_digest` is true, the result also has the SHA-256 of the file.
    pub(crate) fn read(
        state: State<'a>,
        file: &'a TableFile,
        takes_digest: bool,
        wanted: Wanted<'_>,
    ) -> Self {
        let bytes = state.source.read(&file.entry);
        let digest = bytes.as_ref().ok().filter(|_| takes_digest).map(|bytes| sha256(bytes));
        let table = match bytes {
            Err(why) => Err(why.into()),
            Ok(bytes) => file.decode_of(state.specs, &bytes, wanted),
        };
        let is_pointer = matches!(table, Err(TableFault::LfsPointer(_)));
        let table = if is_pointer && state.source.is_in_lfs(&file.entry.path) {
            Err(TableFault::InLfs)
        } else {
            table
        };
        Self::of(state, file, Arc::new(table), digest)
    }

    /// Creates the decoded table of a state from rows that were decoded before.
    pub(crate) fn of(
        state: State<'a>,
        file: &'a TableFile,
        table: Arc<Result<Table, TableFault>>,
        digest: Option<String>,
    ) -> Self {
        let spec = file.spec(state.specs, table.as_ref().as_ref().ok());
        let seal = state.specs.tables.get(&file.table).and_then(|spec| spec.seal.as_ref());
        let seal = seal.map(|seal| SealFile::read(state.source, state.catalog, file, seal));
        Self { state, file, table, digest, spec, serving: Serving::default(), seal }
    }

    /// The decoded table, or the reason why it cannot be read.
    pub(crate) fn table(&self) -> Result<&Table, &TableFault> {
        self.table.as_ref().as_ref()
    }

    fn scope(&self) -> Option<TableScope<'_>> {
        let (place, specs) = (&self.file.place, self.state.specs);
        let system = self.state.catalog.system(&place.system, specs);
        let table = self.table().ok()?;
        let mut scope = TableScope::new(table, &self.spec, place, system, &specs.lookups);
        scope.sidecar = self.state.meta(self.file);
        Some(scope)
    }

    /// Returns the keys by which the loader finds the rows; `None` if the table cannot be read or the spec has no key.
    fn keys<'k>(
        &'k self,
        scope: Option<&'k TableScope<'_>>,
    ) -> Result<Option<Keys<'k>>, ExprError> {
        let scope = scope.filter(|_| !self.spec.key.is_empty());
        scope.map(|scope| Keys::new(&self.spec.key, scope)).transpose()
    }
}

/// Creates one context per decoded table, and calls `work` with all contexts. Returns the result of `work`.
pub(super) fn in_context<R>(
    sides: &[DecodedTable<'_>],
    work: impl FnOnce(&[TableContext<'_>]) -> Result<R, ExprError>,
) -> Result<R, ExprError> {
    let scopes: Vec<Option<TableScope<'_>>> = sides.iter().map(DecodedTable::scope).collect();
    let keys = sides.iter().zip(&scopes).map(|(side, scope)| side.keys(scope.as_ref()));
    let keys: Vec<Option<Keys<'_>>> = keys.collect::<Result<_, _>>()?;
    let mut contexts = Vec::with_capacity(sides.len());
    for ((side, scope), keys) in sides.iter().zip(&scopes).zip(&keys) {
        contexts.push(TableContext {
            file: side.file,
            spec: &side.spec,
            table: side.table(),
            system: side.state.catalog.system(&side.file.place.system, side.state.specs),
            scope: scope.as_ref(),
            keys: keys.as_ref(),
            state: side.state,
            digest: side.digest.as_deref(),
            meta: side.state.meta(side.file),
            seal: side.seal.as_ref(),
            serving: side.serving,
            derived: RowCache::default(),
        });
    }
    work(&contexts)
}
