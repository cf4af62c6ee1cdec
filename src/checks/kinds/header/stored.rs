//! Finds tables that are stored in a way that the planner's loader cannot open (`rules/loader.yaml`), and columns of a
//! wrong type.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::checks::context::RowContext;
use crate::database::table::{Column, StoredAs};
use crate::specs::{ColumnKind, StoredType, TableSpec};

/// Returns one clause for each reason why the loader cannot open a table or reads wrong columns: nested columns,
/// unknown codecs and unknown types.
pub(super) fn unopened(rows: &RowContext<'_>) -> Vec<String> {
    let Some(stored) = &rows.whole().stored else { return Vec::new() };
    // Tables of other layouts have other loaders.
    if rows.specs.layouts.declared().is_some() {
        return Vec::new();
    }
    let loader = &rows.specs.loader;
    let mut faults = nested(stored);
    let unknown = stored.codecs.iter().filter(|codec| !loader.codecs.contains(codec));
    faults.extend(unknown.map(|codec| {
        format!("it is compressed with {codec} (the loader opens {})", listed(&loader.codecs))
    }));
    faults.extend(types(rows, stored));
    faults
}

/// Returns a clause for each nested column. The loader counts the parts of nested columns as columns, and then reads
/// wrong columns.
fn nested(stored: &StoredAs) -> Vec<String> {
    let nested = stored.types.iter().filter(|(_, stored)| stored.is_nested());
    let shown = |(name, stored): &(String, StoredType)| {
        if *stored == StoredType::Repeated {
            format!("{name} has several values per row")
        } else {
            format!("{name} is a nested column of type {stored}")
        }
    };
    let why = " (the loader counts its parts as columns, and reads wrong columns)";
    nested.map(|column| shown(column) + why).collect()
}

/// Returns a clause for each key column and measurement that is stored in a type that the loader does not read.
fn types(rows: &RowContext<'_>, stored: &StoredAs) -> Vec<String> {
    let (spec, loader) = (rows.spec, &rows.specs.loader);
    let identity = spec.identity.iter().map(|name| (name.as_str(), ColumnKind::Text));
    let columns = spec.columns.iter().map(|column| (column.name.as_str(), column.kind));
    let mut faults: BTreeMap<(StoredType, &[StoredType]), Vec<&str>> = BTreeMap::new();
    for (name, kind) in columns.chain(identity).filter(|(name, _)| is_read(spec, name)) {
        // A column of the wrong kind is reported by the header check.
        let fits = rows.column(name).is_some_and(|found| holds(kind, found));
        let types = loader.types(kind);
        let found = stored.stored_type(name).filter(|found| fits && !types.contains(found));
        if let Some(found) = found {
            faults.entry((found, types)).or_default().push(name);
        }
    }
    let said = |((found, types), names): ((StoredType, &[StoredType]), Vec<&str>)| {
        let verb = if names.len() == 1 { "is" } else { "are" };
        format!("{} {verb} {found} (the loader reads {})", listed(&names), listed(types))
    };
    faults.into_iter().map(said).collect()
}

/// Joins texts as a list: `a`, `a and b` or `a, b and c`.
fn listed(all: &[impl Display]) -> String {
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => texts.concat(),
    }
}

/// Returns true for a column that the loader reads: a column of the key, of the filters, or a measurement.
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
