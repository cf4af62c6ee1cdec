//! Chooses the columns for a chart's x axis, and the columns that are constant along a line.

use std::collections::BTreeSet;

use super::series::{POINTS, is_served};
use super::spec::ChartSpec;
use crate::database::table::{Column, Table, TableScope};
use crate::specs::{Bucket, ColumnKind, KeyPart, measured_unit};

/// Returns the columns that can be a chart's x axis, the best column first: the column of the chart's spec, then the
/// columns of the sweep. For a table without a sweep, returns the integer column with most distinct values. Columns
/// with fewer than [`POINTS`] distinct values are left out.
pub(in crate::report) fn axes(chart: &ChartSpec, scope: &TableScope<'_>) -> Vec<String> {
    let others = scope.spec.sweep.iter().filter(|name| chart.x.as_ref() != Some(name));
    let mut axes: Vec<String> = chart.x.iter().chain(others).cloned().collect();
    axes.retain(|name| distinct(scope.table, name).is_some_and(|n| n >= POINTS));
    if axes.is_empty() && scope.spec.sweep.is_empty() {
        let numbers = scope.spec.columns.iter().filter(|c| c.kind == ColumnKind::Int);
        let numbers = numbers.filter_map(|c| Some((distinct(scope.table, &c.name)?, &c.name)));
        let best = numbers.filter(|(n, _)| *n >= POINTS).max_by_key(|(n, _)| *n);
        axes.extend(best.map(|(_, name)| name.clone()));
    }
    axes
}

/// Counts the distinct values of an integer column; `None` if the column does not have integers.
fn distinct(table: &Table, column: &str) -> Option<usize> {
    let Column::Int { values, .. } = table.column(column)? else { return None };
    Some(values.iter().collect::<BTreeSet<_>>().len())
}

/// Returns the key parts that are constant along a line: all parts of the loader's key except the x axis. If the loader
/// stores rows in several maps, the condition of each map is also a key part. If the key is unknown, returns all
/// columns except the x axis and the measured columns. In a comparison, columns that only one state has are left out.
pub(in crate::report) fn fixed_parts(
    scope: &TableScope<'_>,
    x: &str,
    base: Option<&Table>,
) -> Vec<KeyPart> {
    let tables = || std::iter::once(scope.table).chain(base);
    if !tables().all(|table| is_served(scope, table)) {
        return fixed_columns(scope.table, x, base);
    }
    let mut parts: Vec<KeyPart> = Vec::new();
    // The columns that a key part reads in addition to the axis.
    let mut beside: Vec<&str> = Vec::new();
    for part in &scope.spec.key {
        let reads = part.value.columns();
        if reads.contains(&x) {
            beside.extend(reads.into_iter().filter(|column| *column != x));
        } else {
            parts.push(part.clone());
        }
    }
    let beside = beside.into_iter().filter(|c| tables().all(|table| table.column(c).is_some()));
    for column in beside.collect::<Vec<_>>() {
        if !parts.iter().any(|part| part.value.as_column() == Some(column)) {
            parts.extend(KeyPart::column(column));
        }
    }
    let has = |column: &str| tables().all(|table| table.column(column).is_some());
    let is_told = |bucket: &&Bucket| bucket.rows.columns().into_iter().all(has);
    let buckets = scope.spec.buckets.iter().filter(is_told);
    parts.extend(buckets.map(|b| KeyPart { name: b.name.clone(), value: b.rows.clone() }));
    parts
}

fn fixed_columns(table: &Table, x: &str, base: Option<&Table>) -> Vec<KeyPart> {
    const PLACE: [&str; 3] = ["framework", "version", "device"];
    let names = table.columns().map(|(name, _)| name);
    names
        .filter(|name| *name != x && measured_unit(name).is_none() && !PLACE.contains(name))
        .filter(|name| base.is_none_or(|base| base.column(name).is_some()))
        .filter_map(KeyPart::column)
        .collect()
}

/// Returns the key parts that define a slice: the columns that the chart's spec lists, or else all key parts with names
/// or flags, such as the dtype. A chart shows one slice.
pub(in crate::report) fn slice_parts(
    chart: &ChartSpec,
    scope: &TableScope<'_>,
    fixed: &[KeyPart],
) -> Vec<KeyPart> {
    let Some(columns) = &chart.panel else {
        let is_name = |part: &&KeyPart| match part.value.as_column() {
            Some(column) => matches!(scope.table.column(column), Some(Column::Text { .. })),
            None => scope.spec.is_name(part),
        };
        return fixed.iter().filter(is_name).cloned().collect();
    };
    let part = |column: &String| {
        let named = fixed.iter().find(|part| part.name == *column);
        named.cloned().or_else(|| KeyPart::column(column))
    };
    columns.iter().filter_map(part).collect()
}
