//! Which rows an answer stands on, and with which weights.
//!
//! Totals are computed without it; it is collected for the values that moved.

use std::sync::Arc;

use super::index::{RowOrigin, RowRef, TableIndex};

/// How rows became an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The row of that very key.
    Exact,
    /// Interpolated between rows.
    Between,
    /// Beyond the rows: the nearest ones' utilisation is held.
    Beyond,
    /// The shape was not measured: taken over from the nearest shapes.
    Transfer,
}

impl How {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Between => "between rows",
            Self::Beyond => "beyond the grid",
            Self::Transfer => "from near shapes",
        }
    }
}

/// Rows with their weights, collected while an interpolator works; collects nothing when off.
#[derive(Debug, Default)]
pub struct Weights {
    on: bool,
    rows: Vec<(RowRef, f64)>,
}

impl Weights {
    /// An empty collection.
    pub fn new(on: bool) -> Self {
        Self { on, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: RowRef, weight: f64) {
        if self.on {
            self.rows.push((row, weight));
        }
    }

    /// The rows with their weights.
    #[cfg(test)]
    pub fn rows(&self) -> impl Iterator<Item = (RowRef, f64)> {
        self.rows.iter().copied()
    }

    /// The number of rows so far, for [`Self::scale`] and [`Self::drop_since`].
    pub fn mark(&self) -> usize {
        self.rows.len()
    }

    /// Multiplies the weights of the rows in a range of marks.
    pub fn scale(&mut self, range: std::ops::Range<usize>, factor: f64) {
        for (_, weight) in self.rows.get_mut(range).into_iter().flatten() {
            *weight *= factor;
        }
    }

    /// Forgets the rows since a mark.
    pub fn drop_since(&mut self, mark: usize) {
        self.rows.truncate(mark);
    }
}

/// A row of a table with its share of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed {
    /// The file it lies in, and how the loader came to it.
    pub origin: Arc<RowOrigin>,
    /// Index of the row in its file, from 0.
    pub row: u32,
    /// Its share; the weights of a lookup sum to 1.
    pub weight: f64,
}

/// One lookup of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableLookup {
    /// Name of the operation in its list.
    pub op: Arc<str>,
    /// Stem of the table.
    pub table: &'static str,
    /// What was looked up, for people: names and values of the key.
    pub key: String,
    /// How it was answered.
    pub how: How,
    /// Whether the answer was then scaled by link bandwidths, to more GPUs than were measured.
    pub bandwidth_scaled: bool,
    /// Its time, ms, before it is multiplied by layers.
    pub ms: f64,
    /// The rows that answered.
    pub rows: Vec<Weighed>,
}

/// Lookups of an operation; collects nothing when off.
#[derive(Debug, Default)]
pub struct Provenance {
    on: bool,
    op: Arc<str>,
    lookups: Vec<TableLookup>,
}

impl Provenance {
    /// Collects lookups.
    pub fn on() -> Self {
        Self { on: true, ..Self::default() }
    }

    /// Collects nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// The lookups that follow are those of an operation.
    pub(super) fn enter(&mut self, op: &str) {
        if self.on {
            self.op = op.into();
        }
    }

    /// Weights for an interpolator, on when this is.
    pub(super) fn weights(&self) -> Weights {
        Weights::new(self.on)
    }

    /// Adds a lookup of `index`; `key` is only called when this is on.
    pub(super) fn add(
        &mut self,
        index: &TableIndex,
        how: How,
        ms: f64,
        weights: Weights,
        key: impl FnOnce() -> String,
    ) {
        if !self.on {
            return;
        }
        let weighed = |(row, weight): (RowRef, f64)| {
            let origin = index.origin(row.source)?;
            Some(Weighed { origin, row: row.row, weight })
        };
        self.lookups.push(TableLookup {
            op: self.op.clone(),
            table: index.table().stem(),
            key: key(),
            how,
            bandwidth_scaled: false,
            ms,
            rows: weights.rows.into_iter().filter_map(weighed).collect(),
        });
    }

    /// Notes that the last lookup's answer was scaled to `ms` by link bandwidths.
    pub(super) fn bandwidth_scaled(&mut self, ms: f64) {
        if let Some(last) = self.lookups.last_mut() {
            (last.bandwidth_scaled, last.ms) = (true, ms);
        }
    }

    /// The number of lookups so far.
    pub(super) fn mark(&self) -> usize {
        self.lookups.len()
    }

    /// Forgets the lookups since a mark, of an alternative that failed.
    pub(super) fn drop_since(&mut self, mark: usize) {
        self.lookups.truncate(mark);
    }

    /// The lookups.
    pub fn into_lookups(self) -> Vec<TableLookup> {
        self.lookups
    }
}
