//! The rows behind an answer with their weights. Totals are computed without them; they are collected for the values that
//! moved.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::index::{RowOrigin, TableRows};
use super::interpolate::{How, RowRef, Weights};
use super::refusal::Refusal;

/// A row of a table with its share of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// The file, and the way by which the loader comes to it.
    pub origin: Arc<RowOrigin>,
    /// Index of the row in its file, from 0.
    pub row: u32,
    /// The share of the answer; the weights of a lookup sum to 1.
    pub weight: f64,
}

/// One lookup of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableLookup {
    /// Name of the operation in its list.
    pub op: Arc<str>,
    /// Stem of the table.
    pub table: &'static str,
    /// Names and values of the key, for people.
    pub key: String,
    /// The way in which rows became the answer.
    pub how: How,
    /// Set if the answer was then scaled by link bandwidths, to more GPUs than were measured.
    pub bandwidth_scaled: bool,
    /// The time, ms, before it is multiplied by layers.
    pub ms: f64,
    /// The rows that answered.
    pub rows: Vec<Weighed>,
}

/// Collects lookups while operations are evaluated: their rows, the time that stands on rows whose power was measured, or
/// nothing.
#[derive(Debug, Default)]
pub struct Provenance {
    lookups_on: bool,
    power_on: bool,
    op: Arc<str>,
    lookups: Vec<TableLookup>,
    /// The lookups of the current operation.
    looked_up: PoweredTime,
    /// The last lookup.
    last: PoweredTime,
    /// Time of finished operations that stands on rows with power, ms over all layers.
    powered_ms: f64,
    /// Rows of these files that answered.
    rows: Option<RowsRead>,
}

/// Rows that lookups read, by the path of their file; only of files that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowsRead(BTreeMap<String, BTreeSet<u32>>);

impl RowsRead {
    /// No rows yet; rows of files with these paths will be noted.
    pub(crate) fn of<'p>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        Self(paths.into_iter().map(|path| (path.to_owned(), BTreeSet::new())).collect())
    }

    /// The rows of a file; `None` if the file was not asked for.
    pub(crate) fn of_file(&self, path: &str) -> Option<&BTreeSet<u32>> {
        self.0.get(path)
    }

    /// Adds other rows.
    pub(crate) fn merge(&mut self, others: Self) {
        for (path, rows) in others.0 {
            self.0.entry(path).or_default().extend(rows);
        }
    }
}

/// A time, and the part of it that stands on rows whose power was measured.
#[derive(Debug, Default, Clone, Copy)]
struct PoweredTime {
    ms: f64,
    powered_ms: f64,
}

/// A moment of a collection, to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    lookups: usize,
    powered_ms: f64,
}

impl Provenance {
    /// Collects lookups with their rows.
    pub fn on() -> Self {
        Self { lookups_on: true, ..Self::default() }
    }

    /// Collects how much of the time stands on rows with power.
    pub(crate) fn power() -> Self {
        Self { power_on: true, ..Self::default() }
    }

    /// Collects power, and the rows of some files that answer.
    pub(crate) fn power_and_rows(rows: RowsRead) -> Self {
        Self { rows: Some(rows), ..Self::power() }
    }

    /// Collects nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Starts an operation: the lookups that follow are its own.
    pub(super) fn enter(&mut self, op: &str) {
        if self.lookups_on {
            self.op = op.into();
        }
        self.looked_up = PoweredTime::default();
    }

    /// Ends an operation that took `ms` over all layers. The share that stands on rows with power is that of its lookups.
    pub(super) fn leave(&mut self, ms: f64) {
        let PoweredTime { ms: looked_up, powered_ms } = std::mem::take(&mut self.looked_up);
        if looked_up > 0.0 {
            self.powered_ms += ms * (powered_ms / looked_up);
        }
    }

    /// The time of a lookup, ms: the answer of an interpolator times `factor`. `key` says for people what was looked up;
    /// it is only called when lookups are collected.
    ///
    /// # Errors
    ///
    /// The refusal of the interpolator.
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
                table: table.table().stem(),
                key: key(),
                how,
                bandwidth_scaled: false,
                ms,
                rows: weights.rows().iter().map(weighed).collect(),
            });
        }
        Ok(ms)
    }

    /// Notes that the last lookup's answer was scaled to `ms` by link bandwidths.
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

    /// The current moment, for [`Self::back_to`].
    pub(super) fn moment(&self) -> Moment {
        Moment { lookups: self.lookups.len(), powered_ms: self.powered_ms }
    }

    /// Forgets everything since a moment, since an alternative failed.
    pub(super) fn back_to(&mut self, moment: Moment) {
        self.lookups.truncate(moment.lookups);
        self.powered_ms = moment.powered_ms;
    }

    /// Keeps the power of one of two groups that overlap: the first lies between the moments, the second after the later
    /// one.
    pub(super) fn keep_one(&mut self, [before, between]: [Moment; 2], first: bool) {
        self.powered_ms = if first {
            between.powered_ms
        } else {
            before.powered_ms + (self.powered_ms - between.powered_ms)
        };
    }

    /// Time that stands on rows whose power was measured, ms over all layers.
    pub(crate) fn powered_ms(&self) -> f64 {
        self.powered_ms
    }

    /// The rows that answered, if they were asked for.
    pub(crate) fn into_rows(self) -> RowsRead {
        self.rows.unwrap_or_default()
    }

    /// The lookups.
    pub fn into_lookups(self) -> Vec<TableLookup> {
        self.lookups
    }
}
