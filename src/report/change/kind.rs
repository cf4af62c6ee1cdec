//! The kinds of changes to tables, by which a report groups them.

use std::collections::BTreeMap;

use crate::base::group::grouped;
use crate::database::diff::{Class, Diff, TableDiff};

/// The kind of a table's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::report) enum Kind {
    /// Latencies of existing keys changed.
    Remeasured,
    /// Keys were corrected; the measurements are the same.
    Rekeyed,
    /// The table is new.
    Added,
    /// The table gained rows.
    Appended,
    /// The table lost rows or was deleted.
    Pruned,
    /// Columns other than the latency were added, or empty cells in such columns were filled.
    Overlay,
    /// The path or the bytes of the table changed, but no cell did.
    Moved,
    /// The table cannot be read before or after the change.
    Unread,
}

/// The changed tables by kind of change.
pub(in crate::report) type ByKind<'a> = BTreeMap<Kind, Vec<&'a TableDiff>>;

/// Groups the changed tables by kind of change.
pub(in crate::report) fn by_kind(diff: &Diff) -> ByKind<'_> {
    grouped(diff.tables.iter().map(|table| (kind(table), table)))
}

fn kind(table: &TableDiff) -> Kind {
    let is_rekeyed = || table.served.as_ref().is_some_and(|served| served.rekeyed > 0);
    match table.class {
        // The rows of a table with one damaged side are not compared.
        None => Kind::Unread,
        _ if table.fault.is_some() => Kind::Unread,
        Some(Class::None | Class::ReEncode | Class::Move) => Kind::Moved,
        Some(Class::AppendOnly) if table.base_rows == Some(0) => Kind::Added,
        Some(Class::AppendOnly) => Kind::Appended,
        Some(Class::ColumnOverlay) => Kind::Overlay,
        Some(Class::Prune) => Kind::Pruned,
        Some(Class::Rekey) => Kind::Rekeyed,
        Some(Class::Mixed) if is_rekeyed() => Kind::Rekeyed,
        Some(Class::Values | Class::Replacement | Class::Mixed) => Kind::Remeasured,
    }
}
