//! Differences between matched rows of two tables: in their columns, measurements and attributes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::cells::{ColumnPair, SharedColumns, either_has_value};
use crate::base::stats::quantile;
use crate::database::table::{Column, Table};
use crate::specs::{IDENTITY, TableSpec, measured_unit};

/// The maximum length of each of the lists [`AttributeChange::before`] and [`AttributeChange::after`].
const SHOWN_VALUES: usize = 5;

/// A change to an attribute, such as `device: NVIDIA GB300 → NVIDIA B300 SXM6 AC`. An attribute is a column outside of
/// the key that states the origin of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeChange {
    /// The name of the attribute's column.
    pub column: String,
    /// The values in the base, most frequent first.
    pub before: Vec<String>,
    /// The values in the head, most frequent first.
    pub after: Vec<String>,
    /// The number of keys whose served rows in base and head differ in the attribute.
    pub keys: u64,
}

/// Statistics of a measured column before and after a change. The loader does not read this column; an example is
/// power.
#[derive(Debug, Clone, PartialEq)]
pub struct FilledColumn {
    /// The name of the column.
    pub column: String,
    /// The number of rows with a measurement before the change.
    pub before: u64,
    /// The number of rows with a measurement after the change.
    pub after: u64,
    /// The number of rows with an empty cell after the change. A cell with a 0 is not empty.
    pub empty: u64,
    /// The 5th percentile, the median and the 95th percentile of the measurements after the change; NaN without
    /// measurements.
    pub quantiles: [f64; 3],
}

/// Returns true if a row has a measurement in a column. A 0 means that nothing was measured.
fn is_measured(column: &Column, row: usize) -> bool {
    !column.is_null(row) && column.number(row) > 0.0
}

/// Returns the measured columns of a table that the loader does not read, such as power.
fn unloaded<'t>(spec: &TableSpec, table: &'t Table) -> impl Iterator<Item = (&'t str, &'t Column)> {
    let loaded = spec.loaded_columns();
    table.columns().filter(move |(name, _)| measured_unit(name).is_some() && !loaded.contains(name))
}

/// Counts the measurements before and after a change in each measured column that the loader does not read, such as
/// power. Only columns of the head are included.
pub(super) fn filled(spec: &TableSpec, base: &Table, head: &Table) -> Vec<FilledColumn> {
    let of_column = |(name, column): (&str, &Column)| {
        let rows = (0..head.rows).filter(|row| is_measured(column, *row));
        let mut values: Vec<f64> = rows.map(|row| column.number(row)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let before = base.column(name);
        let had = |row: &usize| before.is_some_and(|before| is_measured(before, *row));
        FilledColumn {
            column: name.to_owned(),
            before: (0..base.rows).filter(had).count() as u64,
            after: values.len() as u64,
            empty: (0..head.rows).filter(|row| column.is_null(*row)).count() as u64,
            quantiles: [0.05, 0.5, 0.95].map(|share| quantile(&values, share)),
        }
    };
    unloaded(spec, head).map(of_column).collect()
}

/// Returns how key columns were corrected: each old value with its new value and the number of rows. `pairs` are the
/// corrected rows, each as a row of the base and a row of the head. The most frequent correction comes first.
pub(super) fn rekeyed_values(
    shared: &SharedColumns<'_>,
    (base, head): (&Table, &Table),
    pairs: &[(u32, u32)],
) -> Vec<AttributeChange> {
    let text = |column: &Column, row: u32| {
        column
            .text(row as usize)
            .map_or_else(|| column.json(row as usize).to_string(), str::to_owned)
    };
    let mut counts: BTreeMap<(&str, String, String), u64> = BTreeMap::new();
    for column in &shared.keys {
        let (Some(was), Some(is)) = (base.column(&column.name), head.column(&column.name)) else {
            continue;
        };
        for (b, h) in pairs.iter().filter(|pair| column.differs(**pair)) {
            *counts.entry((&column.name, text(was, *b), text(is, *h))).or_default() += 1;
        }
    }
    let change = |((column, was, is), keys): ((&str, String, String), u64)| AttributeChange {
        column: column.to_owned(),
        before: vec![was],
        after: vec![is],
        keys,
    };
    let mut changes: Vec<AttributeChange> = counts.into_iter().map(change).collect();
    changes.sort_by_key(|change| Reverse(change.keys));
    changes
}

/// Returns the columns that only one of the tables has, and the columns whose cells differ in at least one of `pairs`.
/// Each pair consists of a base row and a head row.
pub(super) fn columns_changed<'t>(
    shared: &SharedColumns,
    base: &'t Table,
    head: &'t Table,
    pairs: impl Iterator<Item = (u32, u32)> + Clone,
) -> Vec<&'t str> {
    // Comparing whole columns is faster than comparing cells of pairs in arbitrary order.
    let are_in_place = pairs.clone().all(|(b, h)| b == h);
    let changes = |column: &ColumnPair<'_>| {
        let is_same = are_in_place && column.base == column.head;
        !is_same && pairs.clone().any(|pair| column.differs(pair))
    };
    let mut changed = Vec::new();
    for (name, before) in base.columns() {
        let differs = match head.column(name) {
            None => true,
            // If one side has names and the other has numbers, only nulls are equal.
            Some(after) if shared.one_sided.iter().any(|one| one == name) => {
                pairs.clone().any(|pair| either_has_value((Some(before), Some(after)), pair))
            }
            Some(_) => shared.all().filter(|column| column.name == name).any(changes),
        };
        if differs {
            changed.push(name);
        }
    }
    changed.extend(head.columns().map(|(name, _)| name).filter(|n| base.column(n).is_none()));
    changed
}

/// Counts the keys that have a measurement such as power in the base but not in the head, by the column of the
/// measurement. Latencies are not counted, and a 0 is not a measurement. `common` are pairs of a base row and a head
/// row that serve the same key.
pub(super) fn unmeasured(
    spec: &TableSpec,
    base: &Table,
    head: &Table,
    common: &[(u32, u32)],
) -> BTreeMap<String, u64> {
    let holds = |column: &Column, row: u32| is_measured(column, row as usize);
    let mut lost = BTreeMap::new();
    for (name, before) in unloaded(spec, base) {
        let after = head.column(name);
        let is_lost = |(b, h): &&(u32, u32)| {
            holds(before, *b) && !after.is_some_and(|after| holds(after, *h))
        };
        let keys = common.iter().filter(is_lost).count() as u64;
        if keys > 0 {
            lost.insert(name.to_owned(), keys);
        }
    }
    lost
}

/// Counts the keys with at least one changed measurement. `common` are pairs of a base row and a head row that serve
/// the same key.
pub(super) fn changed_keys(shared: &SharedColumns, common: &[(u32, u32)]) -> u64 {
    let differs = |pair: &&(u32, u32)| shared.measures.iter().any(|column| column.differs(**pair));
    common.iter().filter(differs).count() as u64
}

/// Finds the attributes that changed, such as `device`. `common` are pairs of a base row and a head row that serve the
/// same key.
pub(super) fn attributes(
    spec: &TableSpec,
    base: &Table,
    head: &Table,
    common: &[(u32, u32)],
) -> Vec<AttributeChange> {
    let keyed: BTreeSet<&str> = spec.key.iter().flat_map(|p| p.value.columns()).collect();
    let mut changes = Vec::new();
    for name in IDENTITY.into_iter().filter(|name| !keyed.contains(name)) {
        let (Some(before), Some(after)) = (base.column(name), head.column(name)) else { continue };
        // Fast path: most tables have one text in all rows of such a column, and it is the same in both states.
        if only_text(before).is_some() && only_text(before) == only_text(after) {
            continue;
        }
        let mut counts: [BTreeMap<&str, u64>; 2] = Default::default();
        let mut keys = 0;
        for (b, h) in common {
            let (was, is) = (before.text(*b as usize), after.text(*h as usize));
            if was != is {
                keys += 1;
                *counts[0].entry(was.unwrap_or("")).or_default() += 1;
                *counts[1].entry(is.unwrap_or("")).or_default() += 1;
            }
        }
        if keys > 0 {
            let [was, is] = counts.map(most_frequent);
            changes.push(AttributeChange { column: name.to_owned(), before: was, after: is, keys });
        }
    }
    changes
}

/// Returns the text of a column that has the same text in all rows; `None` for any other column.
fn only_text(column: &Column) -> Option<&str> {
    match column {
        Column::Text { dict, nulls: 0, .. } if dict.len() == 1 => Some(&dict[0]),
        _ => None,
    }
}

fn most_frequent(counts: BTreeMap<&str, u64>) -> Vec<String> {
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts.into_iter().take(SHOWN_VALUES).map(|(value, _)| value.to_owned()).collect()
}
