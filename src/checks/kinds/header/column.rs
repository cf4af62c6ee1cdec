//! The columns that the loader reads, and the types that specs ask for.

use crate::database::table::Column;
use crate::specs::{ColumnKind, TableSpec};

/// Returns true for a column that the loader reads: one of its key, its filters, its latency or another measurement.
pub(super) fn is_read(spec: &TableSpec, name: &str) -> bool {
    spec.reads(name) || matches!(spec.kind(name), Some(ColumnKind::Measure(_)))
}

/// Returns true if the cells of a column have the type that a spec asks for.
pub(super) fn holds(kind: ColumnKind, found: &Column) -> bool {
    match kind {
        ColumnKind::Int => matches!(found, Column::Int { .. }),
        ColumnKind::Bool => matches!(found, Column::Bool { .. }),
        ColumnKind::Text => matches!(found, Column::Text { .. }),
        ColumnKind::Number | ColumnKind::Measure(_) => {
            matches!(found, Column::Int { .. } | Column::Float { .. })
        }
    }
}
