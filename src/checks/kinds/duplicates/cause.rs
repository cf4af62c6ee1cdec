//! The reasons why keys repeat.

use std::collections::BTreeSet;

use super::key_copies::{KeyCopies, LOOKED_AT};
use crate::base::words::names;
use crate::checks::context::RowContext;

/// The reason why keys of a table repeat, derived from the columns in which the copies differ.
pub(super) enum RepeatCause {
    /// The copies differ in none of the columns: the rows of a run were written twice.
    Rerun,
    /// The copies belong to sweeps that overlap by design.
    Design,
    /// The copies belong to models of the same geometry, each with a sweep of its own. Holds the models' names.
    Aliases(Vec<String>),
    /// The copies differ in the kernel, which the key does not contain.
    Kernels,
    /// The copies differ in this column, which the table's spec does not have and which may be a part of the key.
    Unknown(String),
    /// The copies differ in other columns.
    Other,
}

impl RepeatCause {
    pub(super) fn of(rows: &RowContext<'_>, groups: &[KeyCopies], differs: &[String]) -> Self {
        let has = |name: &str| differs.iter().any(|d| d == name);
        let unknown = differs.iter().find(|name| rows.spec.kind(name).is_none());
        if groups.iter().all(|g| g.by_design) {
            Self::Design
        } else if differs.is_empty() {
            Self::Rerun
        } else if let Some(unknown) = unknown {
            Self::Unknown(unknown.clone())
        } else if has("kernel_source") {
            Self::Kernels
        } else if has("model") {
            Self::Aliases(models(rows, groups))
        } else {
            Self::Other
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Rerun => "rerun",
            Self::Design => "by-design",
            Self::Aliases(_) => "model-aliases",
            Self::Kernels => "kernels",
            Self::Unknown(_) => "unknown-column",
            Self::Other => "other",
        }
    }

    /// The clause of the finding's message; `not_known` ends a sentence on an unknown column.
    pub(super) fn say(&self, differs: &[String], not_known: &str) -> String {
        let columns = differs.join(", ");
        match self {
            Self::Rerun => String::new(),
            Self::Design => {
                format!("; the copies differ in {columns}, and sweeps overlap there by design")
            }
            Self::Aliases(models) => {
                format!(
                    "; the copies differ in {columns}, which is not part of the key: {}",
                    names(models.iter().map(String::as_str))
                )
            }
            Self::Unknown(column) => {
                format!(
                    "; the copies differ in {columns}, and {column}, which may be a part of the key, is {not_known}"
                )
            }
            Self::Kernels | Self::Other => format!("; the copies differ in {columns}"),
        }
    }
}

/// The models whose rows share keys, sorted.
fn models(rows: &RowContext<'_>, groups: &[KeyCopies]) -> Vec<String> {
    let Some(column) = rows.column("model") else { return Vec::new() };
    let named = groups.iter().take(LOOKED_AT).flat_map(|g| &g.rows).filter_map(|r| column.text(*r));
    named.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}
