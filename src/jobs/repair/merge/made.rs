//! Makes a merge in memory and proves that no other row changes.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::{MeasurementGroup, MergeEffect, StackRows};
use super::options::{MergeFailure, refuse};
use crate::base::words::{count, plural, plural_verb};
use crate::database::diff::RowDiff;
use crate::database::table::{Table, encode};

/// The table that a merge produces, in memory. The table contains all rows that the run does not replace, unchanged.
#[derive(Debug)]
pub(super) struct MergedTable {
    /// The table's new bytes.
    pub(super) bytes: Vec<u8>,
    /// Number of rows of the new table.
    pub(super) rows: usize,
    /// Rows of the run that replace rows of the table.
    pub(super) replaced: Vec<MergedRow>,
    /// Rows of the run that are added.
    pub(super) added: Vec<MergedRow>,
    /// Number of measurements of the run that do not change the table.
    pub(super) kept: usize,
    /// A summary in words, such as `12 keys replaced, 3 added, 0 others touched`.
    pub(super) counts: String,
    /// Number of rows of the table whose points the run did not measure.
    pub(super) others: usize,
    /// Number of merged keys for which the loader serves a row that does not come from this merge.
    pub(super) unserved: usize,
    /// A sentence with the number of keys that occur in several files of the run; `None` if there are no such keys.
    pub(super) overlap: Option<String>,
}

/// A row that a merge takes from a collector's run into a table. `row` and `own` are row indices in the stack: the
/// table's rows, followed by the run's rows.
#[derive(Debug)]
pub(super) struct MergedRow {
    pub(super) row: usize,
    /// Index of the row in the new table.
    pub(super) at: usize,
    /// The indices of the table's former rows that the merged row replaces.
    pub(super) own: Vec<usize>,
    /// The latency in ms that the loader served for the replaced rows before the merge; `None` for an added row.
    pub(super) before: Option<f64>,
    /// The latency of the new row in ms.
    pub(super) after: f64,
}

impl MergedTable {
    /// Makes the new table. Checks that the rows that the run does not replace are unchanged.
    ///
    /// # Errors
    ///
    /// Refuses the merge if the new table cannot be encoded or fails the check.
    pub(super) fn make(rows: &StackRows<'_>) -> Result<Self, MergeFailure> {
        let order = order(rows);
        let columns = rows.stack.table.take(&order);
        let bytes = encode(&columns).map_err(MergeFailure::refused)?;
        check_untouched(rows, &order, &Table::of(order.len(), columns))?;
        let at: BTreeMap<usize, usize> =
            order.iter().enumerate().map(|(at, row)| (*row, at)).collect();
        let merged = |effect: MergeEffect| -> Vec<MergedRow> {
            let merged = rows.of(effect).map(|group| MergedRow {
                row: group.winner,
                at: at[&group.winner],
                own: group.own.clone(),
                before: rows.loaded.served(&group.own).map(|row| rows.loaded.latency[row]),
                after: rows.loaded.latency[group.winner],
            });
            merged.collect()
        };
        let keys = |effect| rows.count_keys(rows.of(effect).map(|g| g.winner));
        let kept = rows.of(MergeEffect::Kept).count();
        let kept_words = if kept > 0 { format!(", {} kept", count(kept)) } else { String::new() };
        Ok(Self {
            bytes,
            rows: order.len(),
            replaced: merged(MergeEffect::Replaced),
            added: merged(MergeEffect::Added),
            kept,
            counts: format!(
                "{} replaced, {} added{kept_words}, 0 others touched",
                plural(keys(MergeEffect::Replaced), "key"),
                count(keys(MergeEffect::Added))
            ),
            others: rows.stack.own - rows.groups.iter().map(|g| g.own.len()).sum::<usize>(),
            unserved: unserved(rows, &at),
            overlap: overlap(rows),
        })
    }

    /// Iterates over the rows of the run that the table takes.
    pub(super) fn taken(&self) -> impl Iterator<Item = &MergedRow> {
        self.replaced.iter().chain(&self.added)
    }
}

/// Returns the rows of the new table in order, as indices in the stack (the table's rows, then the run's rows). A row
/// of the run takes the place of the row that it replaces. Added rows come last.
fn order(rows: &StackRows<'_>) -> Vec<usize> {
    let mut instead: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    let mut added = Vec::new();
    for group in &rows.groups {
        match group.effect {
            MergeEffect::Kept => {}
            MergeEffect::Added => added.push(group.winner),
            MergeEffect::Replaced => {
                instead.extend(group.own.iter().map(|row| (*row, None)));
                instead.extend(rows.loaded.served(&group.own).map(|row| (row, Some(group.winner))));
            }
        }
    }
    let stays = |row: usize| instead.get(&row).copied().unwrap_or(Some(row));
    (0..rows.stack.own).filter_map(stays).chain(added).collect()
}

/// Compares the new table with the old one. Refuses the merge if the new table lacks or changes a row that the run does
/// not replace.
fn check_untouched(rows: &StackRows<'_>, order: &[usize], new: &Table) -> Result<(), MergeFailure> {
    let own = rows.stack.own;
    if own == 0 {
        return Ok(());
    }
    let base = Table::of(own, rows.stack.table.take(&(0..own).collect::<Vec<_>>()));
    let diff = RowDiff::between(&base, new);
    let replaced = rows.of(MergeEffect::Replaced).flat_map(|group| group.own.iter().copied());
    let replaced: BTreeSet<usize> = replaced.collect();
    let before = diff.removed.iter().chain(diff.changed.iter().map(|(row, _)| row));
    let after = diff.added.iter().chain(diff.changed.iter().map(|(_, row)| row));
    let lost = before.filter(|row| !replaced.contains(&(**row as usize))).count();
    let other = after.filter(|row| order[**row as usize] < own).count();
    match lost.max(other) {
        0 => Ok(()),
        touched => refuse(format!(
            "{} outside the merge would change; please report this bug with the table",
            plural(touched, "row")
        )),
    }
}

/// Counts the merged keys for which the loader serves a row that does not come from this merge. `at` maps row indices
/// of the stack to row indices of the new table.
fn unserved(rows: &StackRows<'_>, at: &BTreeMap<usize, usize>) -> usize {
    let merged = rows.of(MergeEffect::Replaced).chain(rows.of(MergeEffect::Added));
    let merged: BTreeSet<usize> = merged.map(|group| group.winner).collect();
    let is_unserved = |competing: &Vec<usize>| {
        let mut there: Vec<usize> =
            competing.iter().filter(|row| at.contains_key(row)).copied().collect();
        there.sort_by_key(|row| at[row]);
        there.iter().any(|row| merged.contains(row))
            && rows.loaded.served(&there).is_none_or(|row| !merged.contains(&row))
    };
    rows.loaded.rows_by_key().filter(is_unserved).count()
}

/// Returns a sentence with the number of keys that occur in several files of the run; `None` if there are no such keys.
fn overlap(rows: &StackRows<'_>) -> Option<String> {
    let files = |group: &MeasurementGroup| -> BTreeSet<&str> {
        group.run.iter().map(|row| rows.stack.origin(*row).0).collect()
    };
    let shared: Vec<BTreeSet<&str>> =
        rows.groups.iter().map(files).filter(|files| files.len() > 1).collect();
    let example: Vec<&str> = shared.first()?.iter().copied().collect();
    let keys = plural_verb(shared.len(), "key", ["is", "are"]);
    Some(format!("{keys} in several files of the run, for example in {}", example.join(" and ")))
}
