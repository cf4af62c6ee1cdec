//! Faults that copy: the rows of another table in a table's place.

use std::collections::BTreeSet;

use super::changed;
use crate::base::expr::ExprError;
use crate::base::random::Random;
use crate::database::catalog::TableFile;
use crate::database::table::{Column, Keys, TableScope};
use crate::jobs::selftest::clean::CleanState;
use crate::jobs::selftest::draft::Draft;
use crate::jobs::selftest::fault::{Copied, CopiedFrom};
use crate::jobs::selftest::injection::Planted;
use crate::jobs::selftest::overlay::FileChange;
use crate::jobs::selftest::target::Target;

/// Points that two tables must share for one to pass for a copy of the other; the rule's own.
const SHARED: usize = 20;

impl CleanState<'_> {
    /// Another table's rows in a table's place, where the two share enough keys to decide.
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
        let scope = TableScope::new(
            &table,
            &spec,
            &file.place,
            self.system(file),
            &self.state.specs.lookups,
        );
        let target = Target { table: &table, spec: &spec, scope: &scope };
        for set in &copied.set {
            target.set(set, None, &rows, &mut draft)?;
        }
        if copied.noise > 0.0 {
            for (name, _) in spec.measures() {
                let Some(Column::Float { values, .. }) = draft.column(name) else { continue };
                let noisy = |v: &mut f64| *v *= 1.0 + copied.noise * f64::from(random.normal());
                values.iter_mut().for_each(noisy);
            }
        }
        let Ok(bytes) = draft.parquet() else { return Ok(None) };
        Ok(Some(Planted { rows: table.rows, ..changed(file, FileChange::Bytes(bytes)) }))
    }

    /// Whether another table's rows in a table's place are a fault that can be decided: they differ in
    /// what is asked for alone, are not alike already, and neither is reuse that is declared.
    fn can_copy(&self, other: &TableFile, copied: &Copied, file: &TableFile) -> bool {
        differs_as(copied.other, other, file)
            && other.table == file.table
            && other.format == file.format
            && !self.reuses(other)
            && self.state.source.id(&other.entry) != self.state.source.id(&file.entry)
            && !self.alike.holds(&other.entry.path, &file.entry.path)
    }

    /// Hashes of the keys of a table that took time; empty if it cannot be read.
    fn timed_keys(&self, file: &TableFile) -> Result<BTreeSet<u64>, ExprError> {
        let Some((table, spec)) = self.table(file) else { return Ok(BTreeSet::new()) };
        let lookups = &self.state.specs.lookups;
        let scope = TableScope::new(&table, &spec, &file.place, self.system(file), lookups);
        let Some(latency) = spec.latency.first() else { return Ok(BTreeSet::new()) };
        let (keys, latency) = (Keys::new(&spec.key, &scope)?, latency.value.numbers(&scope)?);
        let keys = keys.hashes().iter().enumerate().filter(|(row, _)| latency.get(*row) > 0.0);
        Ok(keys.map(|(_, key)| *key).collect())
    }

    /// Whether its directory declares reuse.
    fn reuses(&self, file: &TableFile) -> bool {
        self.state.catalog.dir_of(file).is_some_and(|dir| dir.reuse.is_some())
    }
}

/// Whether a table's place differs from another's in that part, and in no other that matters.
fn differs_as(part: CopiedFrom, table: &TableFile, file: &TableFile) -> bool {
    let (a, b) = (&table.place, &file.place);
    let version = a.version != b.version;
    let differs = (a.system != b.system, a.backend != b.backend, version);
    differs
        == match part {
            CopiedFrom::System => (true, false, false),
            CopiedFrom::Backend => (false, true, version),
            CopiedFrom::Version => (false, false, true),
        }
}
