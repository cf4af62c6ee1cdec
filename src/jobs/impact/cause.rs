//! Why the time of an operation moved.

use std::collections::BTreeMap;

use super::OpMove;
use super::summary::most_moved;
use crate::database::diff::{Class, Diff};
use crate::planner::{How, TableLookup};
use crate::report::below_data;

/// The cause of a moved time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MoveCause {
    /// Rows that answer have other latencies.
    ChangedRows,
    /// Rows that are new answer, because they are nearer to the key.
    NearerRows,
    /// Another table answers, because a directory was added or removed, or a donor declared.
    OtherTable {
        /// The table that answered before.
        before: String,
        /// The table that answers after the change.
        after: String,
    },
    /// No row explains it: the YAML of the system has other figures, or another key is asked for.
    OtherFigures,
}

impl MoveCause {
    /// Names the cause.
    pub fn words(&self) -> String {
        match self {
            Self::ChangedRows => "changed rows".to_owned(),
            Self::NearerRows => "nearer rows".to_owned(),
            Self::OtherTable { before, after } => {
                format!("{} answers instead of {}", below_data(after), below_data(before))
            }
            Self::OtherFigures => "figures of the system's YAML".to_owned(),
        }
    }
}

/// The class of change and the earlier path of each compared table, by its path after the change.
pub(super) struct ComparedTables(BTreeMap<String, (Class, Option<String>)>);

impl ComparedTables {
    /// Takes the tables that were compared.
    pub fn of(diff: &Diff) -> Self {
        let tables = diff.tables.iter();
        let classes = tables.filter_map(|t| Some((t.path.clone(), (t.class?, t.old_path.clone()))));
        Self(classes.collect())
    }

    /// Returns the cause of an operation's move.
    pub fn cause(&self, op: &OpMove) -> MoveCause {
        let path = |lookup: &TableLookup| lookup.rows.first().map(|row| row.origin.path.clone());
        let Some((before, after)) = most_moved(op) else { return MoveCause::OtherFigures };
        let Some(now) = path(after) else { return MoveCause::OtherFigures };
        let change = self.0.get(&now);
        let moved_from = change.and_then(|(_, old)| old.as_ref()).unwrap_or(&now);
        let earlier = op.lookups_before.iter().find(|old| old.table == after.table);
        match (before.or(earlier).and_then(path), change) {
            (Some(then), _) if then != now && then != *moved_from => {
                MoveCause::OtherTable { before: then, after: now }
            }
            (Some(_), Some((class, _))) if before.is_some() => {
                let is_nearer = keeps_latencies(*class) && after.how != How::Exact;
                if is_nearer { MoveCause::NearerRows } else { MoveCause::ChangedRows }
            }
            (None, Some(_)) => MoveCause::NearerRows,
            _ => MoveCause::OtherFigures,
        }
    }
}

/// Returns true if a change of this class keeps the latency of every key.
pub(super) fn keeps_latencies(class: Class) -> bool {
    matches!(class, Class::ReEncode | Class::Move | Class::AppendOnly | Class::ColumnOverlay)
}
