//! What is known of a table's columns, and what is asked of its rows.

use std::sync::Arc;

use super::{Column, Table, TableFault, TableScope};
use crate::base::expr::{ExprError, Scope};
use crate::database::catalog::TableFile;
use crate::specs::{ColumnKind, Specs, TableSpec, Workflows};

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
        let known = specs.tables.get(&self.table);
        let is_text = |name: &str| {
            crate::specs::IDENTITY.contains(&name)
                || known.and_then(|s| s.kind(name)) == Some(ColumnKind::Text)
        };
        Table::decode(bytes, self.format, &is_text)
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

/// Whether a table has rows of each kind that some model asks for, by predicate.
///
/// # Errors
///
/// When a predicate does not fit the table's columns.
pub fn rows_held(workflows: &Workflows, scope: &TableScope<'_>) -> Result<Vec<bool>, ExprError> {
    // Evenly spaced rows settle nearly all of it; the rest is looked for in every row.
    const SAMPLE: usize = 512;
    let predicates = workflows.predicates(scope.spec)?;
    let mut held = vec![false; predicates.len()];
    let parts = scope.parts().map(|(_, part)| part);
    for part in std::iter::once(scope.spaced(SAMPLE)).chain(parts) {
        for (predicate, held) in predicates.iter().zip(&mut held).filter(|(_, h)| !**h) {
            let mask = predicate.mask(&part)?;
            *held = (0..part.rows()).any(|row| mask.get(row));
        }
        if held.iter().all(|h| *h) {
            break;
        }
    }
    Ok(held)
}
