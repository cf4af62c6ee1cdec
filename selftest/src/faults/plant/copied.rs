//! Plants copies: the rows of another table replace a table's rows.

use std::collections::BTreeSet;

use super::changed;
use crate::faults::clean::CleanState;
use crate::faults::draft::Draft;
use crate::faults::fault::{Copied, CopiedFrom};
use crate::faults::injection::Planted;
use crate::faults::overlay::FileChange;
use crate::faults::target::Target;
use perfdb_gate::base::expr::ExprError;
use perfdb_gate::base::random::Random;
use perfdb_gate::database::catalog::TableFile;
use perfdb_gate::database::table::Keys;

/// The number of common points that the rule on copied tables needs.
const SHARED: usize = 20;

impl CleanState<'_> {
    /// Replaces a table by another table with enough common keys.
    pub(super) fn copy(
        &self,
        copied: &Copied,
        file: &TableFile,
        random: &mut Random,
    ) -> Result<Option<Planted>, ExprError> {
        let tables = self.state.catalog.tables.iter();
        let mut others: Vec<&TableFile> =
            tables.filter(|t| self.can_copy(t, copied, file)).collect();
        random.shuffle(&mut others);
        let own = self.timed_keys(file)?;
        let mut source = None;
        for other in others.into_iter().filter(|_| !self.reuses(file)) {
            if self.timed_keys(other)?.intersection(&own).count() >= SHARED {
                source = self.table(other);
                break;
            }
        }
        let Some((table, spec)) = source else { return Ok(None) };
        let rows: Vec<usize> = (0..table.rows).collect();
        let mut draft = Draft::of(&table, &rows);
        let scope = self.scope(file, &table, &spec);
        let target = Target { table: &table, spec: &spec, scope: &scope };
        for set in &copied.set {
            target.set(set, None, &rows, &mut draft)?;
        }
        let Ok(bytes) = draft.parquet() else { return Ok(None) };
        Ok(Some(Planted { rows: table.rows, ..changed(file, FileChange::Bytes(bytes)) }))
    }

    /// Returns true if the rows of `other` in the place of `file` are a detectable fault: they
    /// differ in the wanted part of the place only, are not alike already, and are not declared as
    /// reuse.
    fn can_copy(&self, other: &TableFile, copied: &Copied, file: &TableFile) -> bool {
        differs_as(copied.other, other, file)
            && other.table == file.table
            && other.format == file.format
            && !self.reuses(other)
            && self.state.source.id(&other.entry) != self.state.source.id(&file.entry)
            && !self.alike.contains(&other.entry.path, &file.entry.path)
    }

    /// Returns hashes of the keys with a positive latency; empty if the table cannot be read.
    fn timed_keys(&self, file: &TableFile) -> Result<BTreeSet<u64>, ExprError> {
        let Some((table, spec)) = self.table(file) else { return Ok(BTreeSet::new()) };
        let scope = self.scope(file, &table, &spec);
        let Some(latency) = spec.latency.first() else { return Ok(BTreeSet::new()) };
        let (keys, latency) = (Keys::new(&spec.key, &scope)?, latency.value.numbers(&scope)?);
        let keys = keys.hashes().iter().enumerate().filter(|(row, _)| latency.get(*row) > 0.0);
        Ok(keys.map(|(_, key)| *key).collect())
    }

    /// Returns true if the table's directory declares reuse.
    fn reuses(&self, file: &TableFile) -> bool {
        self.state.catalog.dir_of(file).is_some_and(|dir| dir.reuse.is_some())
    }
}

/// Returns true if two tables differ in this part of their place and in no other.
fn differs_as(part: CopiedFrom, table: &TableFile, file: &TableFile) -> bool {
    let (a, b) = (&table.place, &file.place);
    let differs = (a.system != b.system, a.backend != b.backend, a.version != b.version);
    differs
        == match part {
            CopiedFrom::System => (true, false, false),
            CopiedFrom::Version => (false, false, true),
        }
}
