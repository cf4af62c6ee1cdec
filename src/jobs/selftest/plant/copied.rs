//! Faults that copy: the rows of another table in a table's place.

use super::{CleanState, FileChange, Planted, changed};
use crate::base::expr::ExprError;
use crate::base::random::Random;
use crate::checks::compare::sketch::Sketch;
use crate::database::catalog::TableFile;
use crate::database::table::{Column, TableScope};
use crate::findings::RowChange;
use crate::jobs::selftest::draft::Draft;
use crate::jobs::selftest::fault::{Copied, CopiedFrom};
use crate::jobs::selftest::target::Target;

/// Points that two tables must share for one to pass for a copy of the other; the rule's own.
const SHARED: usize = 20;

impl<'a> CleanState<'a> {
    /// Another table's rows in a table's place, where the two share enough keys to decide.
    pub(super) fn copy(
        &self,
        copied: &Copied,
        file: &TableFile,
        random: &mut Random,
    ) -> Result<Option<Planted>, ExprError> {
        let Some(sketch) = self.sketch(file) else { return Ok(None) };
        let tables = self.catalog.tables.iter();
        let mut others: Vec<&TableFile> =
            tables.filter(|t| self.can_copy(t, copied, file, sketch)).collect();
        random.shuffle(&mut others);
        let Some(other) = others.first().filter(|_| !self.reuses(file)) else { return Ok(None) };
        let Some((table, spec)) = self.table(other) else { return Ok(None) };
        let rows: Vec<usize> = (0..table.rows).collect();
        let mut draft = Draft::of(&table, &rows);
        let scope = TableScope::new(
            &table,
            &spec,
            &file.place,
            self.system(file),
            &self.terms.specs.lookups,
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
        Ok(Some(Planted {
            rows: table.rows,
            rows_changed: RowChange::All,
            ..changed(file, FileChange::Bytes(bytes))
        }))
    }

    /// Whether another table's rows in a table's place are a fault that can be decided: they differ in
    /// what is asked for alone, are not alike already, and neither is reuse that is declared.
    fn can_copy(&self, other: &TableFile, copied: &Copied, file: &TableFile, own: &Sketch) -> bool {
        differs_as(copied.other, other, file)
            && other.table == file.table
            && other.format == file.format
            && !self.reuses(other)
            && self.source.id(&other.entry) != self.source.id(&file.entry)
            && !self.alike.holds(&other.entry.path, &file.entry.path)
            && self.sketch(other).is_some_and(|sketch| shared(sketch, own) >= SHARED)
    }

    fn sketch(&self, file: &TableFile) -> Option<&'a Sketch> {
        self.sketches.by_path.get(&file.entry.path)
    }

    /// Whether its directory declares reuse.
    fn reuses(&self, file: &TableFile) -> bool {
        self.catalog.dir_of(file).is_some_and(|dir| dir.reuse.is_some())
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

/// Points that two tables share and that took time in both.
fn shared(a: &Sketch, b: &Sketch) -> usize {
    a.common(b).filter(|(a, b)| a.latency > 0.0 && b.latency > 0.0).count()
}
