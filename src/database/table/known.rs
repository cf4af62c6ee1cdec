//! What is known of a table's columns.

use std::sync::Arc;

use super::{Column, Table, TableFault, Wanted};
use crate::database::catalog::TableFile;
use crate::specs::{ColumnKind, Specs, TableSpec};

impl TableFile {
    /// What is known of the table; from its own columns where no spec is written for it.
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

    /// Decodes the table's `bytes`. In a text table the spec says which columns are names even where
    /// every cell looks like a number.
    ///
    /// # Errors
    ///
    /// Those of [`Table::decode`].
    pub fn decode(&self, specs: &Specs, bytes: &[u8]) -> Result<Table, TableFault> {
        self.decode_of(specs, bytes, Wanted::All)
    }

    /// As [`decode`](Self::decode), without columns that are not `wanted`: of a Parquet file they are not even
    /// decompressed, and damage in them is not seen. A text table has all of its columns.
    ///
    /// # Errors
    ///
    /// Those of [`Table::decode`].
    pub fn decode_of(
        &self,
        specs: &Specs,
        bytes: &[u8],
        wanted: Wanted<'_>,
    ) -> Result<Table, TableFault> {
        let known = specs.tables.get(&self.table);
        let is_text = |name: &str| {
            crate::specs::IDENTITY.contains(&name)
                || known.and_then(|s| s.kind(name)) == Some(ColumnKind::Text)
        };
        Table::decode_of(bytes, self.format, &is_text, wanted)
    }
}

/// Whether a column holds what the spec says, or the spec says nothing of it.
pub(super) fn fits(spec: &TableSpec, name: &str, found: &Column) -> bool {
    match spec.kind(name) {
        None => true,
        Some(ColumnKind::Text) => matches!(found, Column::Text { .. }),
        Some(ColumnKind::Bool) => matches!(found, Column::Bool { .. }),
        // A fractional size is key-out-of-range's to report, and its type header-mismatch's.
        Some(ColumnKind::Int | ColumnKind::Number | ColumnKind::Measure(_)) => {
            matches!(found, Column::Int { .. } | Column::Float { .. })
        }
    }
}
