//! The rows behind a predicted time, with their weights. Times are computed without collecting rows; the
//! rows are collected only for the predictions that changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::index::{RowOrigin, TableRows};
use super::interpolate::{How, RowRef, Weights};
use super::refusal::Refusal;

/// A row of a table with its share of a looked-up time.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// The row's file, and the way by which the loader finds the file.
    pub origin: Arc<RowOrigin>,
    /// Index of the row in its file, from 0.
    pub row: u32,
    /// The row's share of the looked-up time; the weights of a lookup sum to 1.
    pub weight: f64,
}

/// One lookup of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableLookup {
    /// Name of the operation in the model's list.
    pub op: Arc<str>,
    /// File stem of the table.
    pub table: &'static str,
    /// Names and values of the key, as text for people.
    pub key: String,
    /// The way in which rows gave the time.
    pub how: How,
    /// True if the time was scaled by link bandwidths, because fewer GPUs were measured than are used.
    pub bandwidth_scaled: bool,
    /// The looked-up time in ms, before it is multiplied by layers.
    pub ms: f64,
    /// The rows that the time is computed from.
    pub rows: Vec<Weighed>,
}

/// Collects evidence while operations are evaluated. It collects the lookups with their rows, the time
/// whose power was measured, or nothing.
#[derive(Debug, Default)]
pub struct Provenance {
    lookups_on: bool,
    power_on: bool,
    op: Arc<str>,
    lookups: Vec<TableLookup>,
    /// Time of the current operation's lookups.
    looked_up: PoweredTime,
    /// Time of the last lookup.
    last: PoweredTime,
    /// Time of finished operations from rows with measured power, in ms over all layers.
    powered_ms: f64,
    /// The rows read from certain files; `None` if rows are not collected.
    rows: Option<RowsRead>,
}

/// The rows that lookups read, by the path of their file. Only requested files are included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowsRead(BTreeMap<String, BTreeSet<u32>>);

impl RowsRead {
    /// Creates an empty collection that accepts rows of the files with these paths.
    pub(crate) fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        Self(paths.into_iter().map(|path| (path.to_owned(), BTreeSet::new())).collect())
    }

    /// The rows read from a file; `None` if the file was not requested.
    pub(crate) fn of_file(&self, path: &str) -> Option<&BTreeSet<u32>> {
        self.0.get(path)
    }

    /// Adds the rows of another collection.
    pub(crate) fn merge(&mut self, others: Self) {
        for (path, rows) in others.0 {
            self.0.entry(path).or_default().extend(rows);
        }
    }
}

/// A time, and its part from rows whose power was measured.
#[derive(Debug, Default, Clone, Copy)]
struct PoweredTime {
    ms: f64,
    powered_ms: f64,
}

/// A state of a collection, to return to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    lookups: usize,
    powered_ms: f64,
}

impl Provenance {
    /// Creates a collection of lookups with their rows.
    pub fn on() -> Self {
        Self { lookups_on: true, ..Self::default() }
    }

    /// Creates a collection of the time from rows with measured power.
    pub(crate) fn power() -> Self {
        Self { power_on: true, ..Self::default() }
    }

    /// Creates a collection of the time from rows with measured power, and of the rows read from some
    /// files.
    pub(crate) fn power_and_rows(rows: RowsRead) -> Self {
        Self { rows: Some(rows), ..Self::power() }
    }

    /// Creates a collection that ignores everything.
    pub fn off() -> Self {
        Self::default()
    }

    /// Starts an operation; the following lookups belong to it.
    pub(super) fn enter(&mut self, op: &str) {
        if self.lookups_on {
            self.op = op.into();
        }
        self.looked_up = PoweredTime::default();
    }

    /// Ends an operation that took `ms` over all layers. Its share of measured power is the share of its
    /// lookups.
    pub(super) fn leave(&mut self, ms: f64) {
        let PoweredTime { ms: looked_up, powered_ms } = std::mem::take(&mut self.looked_up);
        if looked_up > 0.0 {
            self.powered_ms += ms * (powered_ms / looked_up);
        }
    }

    /// Computes the time of a lookup in ms: the interpolator's answer times `factor`. `key` describes
    /// the lookup for people; it is called only if lookups are collected.
    ///
    /// # Errors
    ///
    /// The interpolator's refusal.
    pub(super) fn look_up(
        &mut self,
        table: &TableRows,
        factor: f64,
        key: impl FnOnce() -> String,
        answer: impl FnOnce(&mut Weights) -> Result<(f64, How), Refusal>,
    ) -> Result<f64, Refusal> {
        let mut weights = Weights::new(self.lookups_on || self.power_on);
        let (ms, how) = answer(&mut weights)?;
        let ms = ms * factor;
        if self.power_on {
            let powered = weights.rows().iter().filter(|(row, _)| row.powered);
            let share: f64 = powered.map(|(_, weight)| weight).sum();
            self.last = PoweredTime { ms, powered_ms: ms * share };
            self.looked_up.ms += ms;
            self.looked_up.powered_ms += self.last.powered_ms;
        }
        if let Some(rows) = &mut self.rows {
            for (row, _) in weights.rows() {
                let known = rows.0.get_mut(&table.origin(*row).path);
                known.map(|known| known.insert(row.row));
            }
        }
        if self.lookups_on {
            let weighed = |(row, weight): &(RowRef, f64)| Weighed {
                origin: table.origin(*row).clone(),
                row: row.row,
                weight: *weight,
            };
            self.lookups.push(TableLookup {
                op: self.op.clone(),
                table: table.table.stem(),
                key: key(),
                how,
                bandwidth_scaled: false,
                ms,
                rows: weights.rows().iter().map(weighed).collect(),
            });
        }
        Ok(ms)
    }

    /// Records that the last lookup's time was scaled to `ms` by link bandwidths.
    pub(super) fn bandwidth_scaled(&mut self, ms: f64) {
        if self.last.ms > 0.0 {
            let more = ms / self.last.ms - 1.0;
            self.looked_up.ms += self.last.ms * more;
            self.looked_up.powered_ms += self.last.powered_ms * more;
        }
        if let Some(last) = self.lookups.last_mut() {
            (last.bandwidth_scaled, last.ms) = (true, ms);
        }
    }

    /// The current state, for [`Self::back_to`].
    pub(super) fn moment(&self) -> Moment {
        Moment { lookups: self.lookups.len(), powered_ms: self.powered_ms }
    }

    /// Returns to an earlier state, because an alternative failed.
    pub(super) fn back_to(&mut self, moment: Moment) {
        self.lookups.truncate(moment.lookups);
        self.powered_ms = moment.powered_ms;
    }

    /// Keeps the measured power of one of two groups of operations that overlap. The first group was
    /// evaluated between the two moments, the second after the later moment.
    pub(super) fn keep_one(&mut self, [before, between]: [Moment; 2], first: bool) {
        self.powered_ms = if first {
            between.powered_ms
        } else {
            before.powered_ms + (self.powered_ms - between.powered_ms)
        };
    }

    /// Time from rows whose power was measured, in ms over all layers.
    pub(crate) fn powered_ms(&self) -> f64 {
        self.powered_ms
    }

    /// The collected rows; empty if none were requested.
    pub(crate) fn into_rows(self) -> RowsRead {
        self.rows.unwrap_or_default()
    }

    /// The collected lookups.
    pub fn into_lookups(self) -> Vec<TableLookup> {
        self.lookups
    }
}
