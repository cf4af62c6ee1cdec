//! Checks that refuse a merge: rows without a time, keys that must not change, and measurements
//! that would be lost.

use std::collections::BTreeSet;

use super::groups::{MeasurementGroup, MergeEffect, StackRows};
use super::options::{MergeFailure, MergeOptions, refuse};
use crate::base::words::{names, plural, plural_verb};
use crate::database::table::Column;
use crate::jobs::repair::measurements::compared_columns;
use crate::specs::{Unit, measured_unit};

/// Refuses the merge if a row of the collector's run has no valid latency. Rows for which `counts` returns false are
/// not checked. A latency of zero is valid only if `zero` is true.
pub(super) fn check_times(
    rows: &StackRows<'_>,
    zero: bool,
    counts: impl Fn(usize) -> bool,
) -> Result<(), MergeFailure> {
    let is_timed = |time: f64| time.is_finite() && (time > 0.0 || time == 0.0 && zero);
    for (file, range) in &rows.stack.files {
        let is_wrong = |row: &usize| counts(*row) && !is_timed(rows.loaded.latency[*row]);
        let wrong: Vec<usize> = range.clone().filter(is_wrong).collect();
        if let Some(first) = wrong.first() {
            let has = plural_verb(wrong.len(), "row", ["has", "have"]);
            let first = first - range.start;
            return refuse(format!("{file}: {has} no time above zero, for example row {first}"));
        }
    }
    Ok(())
}

/// Refuses the merge if a measured value, such as power, would be lost: a row of the table has it, but the row that
/// replaces this row does not.
pub(super) fn check_losses(rows: &StackRows<'_>) -> Result<(), MergeFailure> {
    let measured = rows.stack.table.columns().filter(|(name, _)| measured_unit(name).is_some());
    for (name, column) in measured {
        // A power of zero was not measured.
        let is_power = measured_unit(name) == Some(Unit::W);
        let lacks = |row: usize| column.is_null(row) || is_power && column.number(row) == 0.0;
        let loses = |group: &&MeasurementGroup| {
            let before = rows.loaded.served(&group.own);
            lacks(group.winner) && before.is_some_and(|row| !lacks(row))
        };
        let losing: Vec<_> = rows.of(MergeEffect::Replaced).filter(loses).collect();
        if let Some(first) = losing.first() {
            return refuse(format!(
                "{} would lose their {name}, for example {}; measure this column, too",
                plural(losing.len(), "key"),
                rows.key_text(first.winner)
            ));
        }
    }
    Ok(())
}

/// Refuses keys that the table has already, if the option `--append` is given.
pub(super) fn check_new(rows: &StackRows<'_>, options: &MergeOptions) -> Result<(), MergeFailure> {
    let old: Vec<_> = rows.groups.iter().filter(|g| !g.own.is_empty()).collect();
    match old.first().filter(|_| options.append) {
        None => Ok(()),
        Some(first) => refuse(format!(
            "{} in the table already, for example {}; --append only adds keys",
            plural_verb(old.len(), "key", ["is", "are"]),
            rows.key_text(first.run[0])
        )),
    }
}

/// Refuses the merge if the table already has the key of a new row, but with another value in a column outside the key,
/// such as another kernel.
pub(super) fn check_conflicts(rows: &StackRows<'_>, ignore: &[String]) -> Result<(), MergeFailure> {
    let added: BTreeSet<usize> = rows.of(MergeEffect::Added).map(|g| g.winner).collect();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for copies in rows.loaded.rows_by_key() {
        if let Some(own) = copies.iter().find(|row| **row < rows.stack.own) {
            let new = copies.iter().filter(|row| added.contains(row));
            pairs.extend(new.map(|row| (*row, *own)));
        }
    }
    let Some((first, _)) = pairs.iter().min() else { return Ok(()) };
    let differs = |column: &Column| pairs.iter().any(|(a, b)| !column.equal(*a, *b));
    let columns = compared_columns(&rows.stack.table, ignore);
    let columns = columns.iter().filter(|(_, column)| differs(column)).map(|(name, _)| *name);
    refuse(format!(
        "{} in the table with another {}, for example {}; pass --ignore COLUMN if the column does not \
         change the measurement",
        plural_verb(pairs.len(), "key", ["is", "are"]),
        names(columns),
        rows.key_text(*first)
    ))
}
