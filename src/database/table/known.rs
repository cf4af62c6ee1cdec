//! Decodes tables with the help of their specs.

use std::sync::Arc;

use super::{Column, Table, TableFault, Wanted};
use crate::database::catalog::TableFile;
use crate::specs::{ColumnKind, IDENTITY, Specs, TableSpec, measured_unit};

impl TableFile {
    /// Returns the spec of the table. Without a written spec, it is inferred from the columns of `table`.
    pub fn spec(&self, specs: &Specs, table: Option<&Table>) -> Arc<TableSpec> {
        if let Some(spec) = specs.tables.get(&self.table) {
            return spec.clone();
        }
        let family = self.place.family.as_deref().unwrap_or_default();
        let kind = |c: &Column| c.kind().unwrap_or(ColumnKind::Text);
        let columns: Vec<_> =
            table.iter().flat_map(|t| t.columns()).map(|(n, c)| (n.to_owned(), kind(c))).collect();
        Arc::new(TableSpec::inferred(&self.table, family, &columns))
    }

    /// Decodes the table's `bytes`. In a text table, a column that the spec declares as text stays text, even if every
    /// cell looks like a number. A row with a text in a numeric column counts as damaged.
    ///
    /// # Errors
    ///
    /// The errors of [`Table::decode`].
    pub fn decode(&self, specs: &Specs, bytes: &[u8]) -> Result<Table, TableFault> {
        self.decode_of(specs, bytes, Wanted::All)
    }

    /// Decodes only the `wanted` columns of a Parquet file. Damage in other columns is not noticed. A text table is
    /// decoded completely.
    ///
    /// # Errors
    ///
    /// The errors of [`Table::decode`].
    pub(crate) fn decode_of(
        &self,
        specs: &Specs,
        bytes: &[u8],
        wanted: Wanted<'_>,
    ) -> Result<Table, TableFault> {
        let known = specs.tables.get(&self.table);
        let kind = |name: &str| match known {
            _ if IDENTITY.contains(&name) => Some(ColumnKind::Text),
            Some(spec) => spec.kind(name),
            None => measured_unit(name).map(ColumnKind::Measure),
        };
        Table::decode_of(bytes, self.format, &kind, wanted)
    }
}

/// Returns true if a column has the type that the spec states, or the spec does not mention it.
pub(super) fn fits(spec: &TableSpec, name: &str, found: &Column) -> bool {
    match spec.kind(name) {
        None => true,
        Some(ColumnKind::Text) => matches!(found, Column::Text { .. }),
        Some(ColumnKind::Bool) => matches!(found, Column::Bool { .. }),
        // Fractional sizes are reported by key-out-of-range, and their type by header-mismatch.
        Some(ColumnKind::Int | ColumnKind::Number | ColumnKind::Measure(_)) => {
            matches!(found, Column::Int { .. } | Column::Float { .. })
        }
    }
}
