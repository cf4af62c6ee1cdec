//! Groups the measurements of a run with the table's rows of the same kind and chooses the row that
//! stays.

use std::collections::BTreeSet;

use super::options::MergePolicy;
use super::stack::{ORIGIN, Stack};
use crate::jobs::repair::measurements::{self, compared_columns, equal};
use crate::jobs::rows::{LoadedRows, key_text};

/// What a merge does with a measurement of the collector's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeEffect {
    /// The run's row replaces the table's row.
    Replaced,
    /// The run's row is added, because the table does not have the measurement yet.
    Added,
    /// The table's row stays, because the policy selects it or because the run's row has the same cells.
    Kept,
}

/// A group of rows that measure the same point. The rows agree in every column except measured columns, ignored
/// columns, and the columns framework, version and device.
#[derive(Debug)]
pub(super) struct MeasurementGroup {
    /// Row indices of the group's rows that come from the table. They are indices in the stack, which contains the
    /// table's rows, then the run's rows.
    pub(super) own: Vec<usize>,
    /// Row indices of the group's rows that come from the run; at least one. They are indices in the stack, which
    /// contains the table's rows, then the run's rows.
    pub(super) run: Vec<usize>,
    /// Index in the stack of the row that stays after the merge. The policy selects this row of the group.
    pub(super) winner: usize,
    pub(super) effect: MergeEffect,
}

/// The rows of a stack (the table's rows, then the run's), with keys and latencies as the table's loader reads them.
pub(super) struct StackRows<'a> {
    pub(super) stack: &'a Stack,
    pub(super) loaded: LoadedRows<'a>,
    /// The groups that contain at least one row of the run, in the order of the run's rows.
    pub(super) groups: Vec<MeasurementGroup>,
}

impl StackRows<'_> {
    /// Returns the number of distinct keys among some rows. If the table's spec declares no key, each row counts as a
    /// key.
    pub(super) fn count_keys(&self, rows: impl Iterator<Item = usize>) -> usize {
        let has_key = self.loaded.keys.names().next().is_some();
        let ids = rows.map(|row| if has_key { self.loaded.keys.hashes()[row] } else { row as u64 });
        ids.collect::<BTreeSet<u64>>().len()
    }

    /// Renders the key of a row for people.
    pub(super) fn key_text(&self, row: usize) -> String {
        key_text(self.loaded.keys.show(row))
    }

    /// Groups the rows of the table and the run that measure the same point, and selects the row that stays in each
    /// group. Rows for which `counts` returns false are ignored.
    pub(super) fn group(
        &mut self,
        ignore: &[String],
        policy: MergePolicy,
        counts: impl Fn(usize) -> bool,
    ) {
        let Stack { table, own, .. } = self.stack;
        let ignore: Vec<&str> = ignore.iter().map(String::as_str).chain(ORIGIN).collect();
        let columns = compared_columns(table, &ignore);
        let group = |rows: Vec<usize>| {
            let winner = policy.choose(&rows, &self.loaded.latency);
            let (own, run): (Vec<usize>, Vec<usize>) = rows.into_iter().partition(|row| row < own);
            let effect = match own[..] {
                [] => MergeEffect::Added,
                _ if own.contains(&winner) => MergeEffect::Kept,
                [only] if equal(table, only, winner) => MergeEffect::Kept,
                _ => MergeEffect::Replaced,
            };
            MeasurementGroup { own, run, winner, effect }
        };
        let mut groups = measurements::groups(table, &columns, counts);
        groups.retain(|rows| rows.last().is_some_and(|last| last >= own));
        let mut groups: Vec<MeasurementGroup> = groups.into_iter().map(group).collect();
        groups.sort_by_key(|g| g.run.first().copied());
        self.groups = groups;
    }

    /// Iterates over the groups on which the merge has the given effect.
    pub(super) fn of(&self, effect: MergeEffect) -> impl Iterator<Item = &MeasurementGroup> {
        self.groups.iter().filter(move |group| group.effect == effect)
    }
}
