//! What speaks against taking in the rows of a run: keys that the table has under another identity, measured
//! columns that it would lose, and rows without a time.

use std::collections::{BTreeMap, BTreeSet};

use super::choose::{MeasurementGroup, MergeEffect, identity};
use super::stack::Stack;
use crate::database::table::{Column, Table};
use crate::specs::{Serves, TableSpec, measured_unit};

/// Rows of the run that are new by identity and have a key which the table has.
pub(super) fn conflicts(
    groups: &[(MeasurementGroup, MergeEffect)],
    by_key: &[(u64, u32)],
    own: usize,
) -> Vec<(usize, usize)> {
    let new: BTreeSet<usize> =
        groups.iter().filter(|(g, _)| g.is_new()).map(|(g, _)| g.winner).collect();
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    for rows in by_key.chunk_by(|a, b| a.0 == b.0) {
        let Some(of_table) = rows.iter().map(|(_, row)| *row as usize).find(|row| *row < own)
        else {
            continue;
        };
        let run = rows.iter().map(|(_, row)| *row as usize).filter(|row| new.contains(row));
        found.extend(run.map(|row| (row, of_table)));
    }
    found.into_iter().collect()
}

/// Measured columns that a row which is replaced has and the one that replaces it lacks.
pub(super) fn loses(
    table: &Table,
    groups: &[(MeasurementGroup, MergeEffect)],
    serves: Serves,
) -> Vec<(String, usize, usize)> {
    let replaced = || groups.iter().filter(|(_, effect)| *effect == MergeEffect::Replaced);
    let measured = table.columns().filter(|(name, _)| measured_unit(name).is_some());
    let mut lost = Vec::new();
    for (name, column) in measured {
        let has = |row: usize| !column.is_null(row);
        let losers = replaced()
            .filter(|(group, _)| !has(group.winner) && group.place(serves).is_some_and(has));
        let losers: Vec<usize> = losers.map(|(group, _)| group.winner).collect();
        lost.extend(losers.first().map(|first| (name.to_owned(), *first, losers.len())));
    }
    lost
}

/// Columns of which rows that compete for a key hold different cells.
pub(super) fn differing(table: &Table, pairs: &[(usize, usize)], ignore: &[String]) -> Vec<String> {
    let differs = |column: &Column| pairs.iter().any(|(a, b)| !column.equal(*a, *b));
    let columns = identity(table, ignore).into_iter().filter(|(_, column)| differs(column));
    columns.map(|(name, _)| name.to_owned()).collect()
}

/// Rows of the run without a time: by file its number, the first row and how many.
pub(super) fn untimed(
    stack: &Stack,
    spec: &TableSpec,
    latency: &[f64],
    left_out: &BTreeSet<usize>,
) -> Vec<(usize, usize, usize)> {
    if spec.latency.is_empty() {
        return Vec::new();
    }
    let is_timed =
        |time: f64| time.is_finite() && (time > 0.0 || time == 0.0 && !spec.zero.is_empty());
    let is_wrong = |row: &usize| !left_out.contains(row) && !is_timed(latency[*row]);
    let mut untimed = Vec::new();
    for (number, rows) in &stack.files {
        let wrong: Vec<usize> = rows.clone().filter(is_wrong).collect();
        untimed.extend(wrong.first().map(|first| (*number, first - rows.start, wrong.len())));
    }
    untimed
}
