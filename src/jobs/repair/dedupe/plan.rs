//! The policy of `dedupe`, and the plan of the rows of a table to remove as copies of a measurement.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::base::expr::Vals;
use crate::checks::kinds::duplicates::CopySpread;
use crate::database::catalog::{Format, TableFile};
use crate::database::served::rows::{KeyRows, copies};
use crate::database::table::{Column, Keys, Table, TableScope, encode, keep_lines};
use crate::jobs::repair::measurements::{cells, compared_columns, equal, groups};
use crate::jobs::repair::{RepairError, disk, read};
use crate::jobs::site::Site;
use crate::specs::{Serves, TableSpec, measured_unit};

/// The policy for removing repeated measurements.
#[derive(Debug, Clone, clap::Args)]
pub struct Policy {
    /// Which copy of a measurement is kept.
    #[arg(long, value_enum, default_value_t = KeptCopy::Last, help_heading = "How to change it")]
    pub keep: KeptCopy,
    /// Also remove copies that differ by more than reruns do.
    #[arg(long, help_heading = "How to change it")]
    pub disagreeing: bool,
    /// A column to ignore when measurements are compared, such as `model`; may be repeated.
    #[arg(long, value_name = "COLUMN", help_heading = "How to change it")]
    pub ignore: Vec<String>,
}

/// The copy of a measurement that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum KeptCopy {
    /// The first in the file.
    First,
    /// The last in the file.
    ///
    /// The collection guide recommends it.
    Last,
    /// The median by latency.
    ///
    /// If the number of copies is even, the faster of the two in the middle is kept.
    Median,
}

impl KeptCopy {
    /// Returns the copy that stays among `rows`, which are in file order.
    fn choose(self, rows: &[usize], latencies: &[&Vals<'_, f64>]) -> usize {
        match self {
            Self::First => rows[0],
            Self::Last => rows[rows.len() - 1],
            Self::Median => {
                let mut order = rows.to_vec();
                order.sort_by(|a, b| by_latency(*a, *b, latencies));
                order[(order.len() - 1) / 2]
            }
        }
    }
}

/// Orders two rows by latency. The first latency column in which the rows differ decides. Rows with equal latencies
/// stay in file order.
fn by_latency(a: usize, b: usize, latencies: &[&Vals<'_, f64>]) -> Ordering {
    let orders = latencies.iter().map(|values| values.get(a).total_cmp(&values.get(b)));
    orders.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
}

/// A row to remove.
#[derive(Debug, Clone, PartialEq)]
pub struct RemovedRow {
    /// Index of the removed row in the old table, from 0.
    pub row: usize,
    /// Index in the old table, from 0, of the copy that stays.
    pub kept: usize,
    /// The ratio of the slowest to the fastest latency of all copies of the measurement.
    pub spread: f64,
    /// True if the latencies of the measurement's copies differ by more than rerun noise.
    pub disagrees: bool,
    /// The row's cells by column.
    pub cells: Map<String, Value>,
}

/// The rows to remove from one table, and the effect of their removal on the rows that the loader serves.
#[derive(Debug, Default)]
pub struct TablePlan {
    /// The table's path.
    pub path: String,
    /// The table's name.
    pub table: String,
    /// Number of rows in the old table.
    pub rows: usize,
    /// Rows to remove, in file order.
    pub dropped: Vec<RemovedRow>,
    /// Number of removed rows whose cells all equal those of the copy that stays.
    pub equal: usize,
    /// Number of measurements whose copies differ by more than rerun noise. Such copies are removed only if
    /// [`Policy::disagreeing`] is true.
    pub disagreeing: usize,
    /// Largest ratio of slowest to fastest latency among disagreeing copies.
    pub worst: f64,
    /// Keys for which the loader serves another latency after the change. Each entry has three fields: the index of the
    /// row that is served after the change, the latency before the change, and the latency after the change. Latencies
    /// are in ms.
    pub served: Vec<(usize, f64, f64)>,
    /// Number of keys that still have several rows after the change. The rows of such a key differ in a column outside
    /// the key.
    pub remaining: usize,
    /// Names of the columns, outside the key, in which rows with the same key still differ after the change.
    pub differs: Vec<String>,
    /// Which row the loader serves if several rows have the same key.
    pub loader: Serves,
}

impl TablePlan {
    /// Renders the record of the removed rows, one JSON object per line.
    pub(super) fn ledger(&self, policy: &Policy) -> String {
        let mut lines = String::new();
        for d in &self.dropped {
            let line = json!({
                "path": self.path, "row": d.row, "kept_row": d.kept, "keep": policy.keep.into_str(),
                "spread": d.spread, "disagrees": d.disagrees, "cells": d.cells,
            });
            lines += &format!("{line}\n");
        }
        lines
    }
}

/// The path and new bytes of a file.
pub(super) type Rewrite = (PathBuf, Vec<u8>);

/// Plans which repeated measurements to remove from a table. Also returns the new bytes of the file if rows are
/// removed. Returns `None` if no row is removed and there is nothing to report. Calls `seen` with the decoded table.
pub(super) fn plan(
    site: &Site,
    file: &TableFile,
    policy: &Policy,
    seen: &dyn Fn(&Table),
) -> Result<Option<(TablePlan, Option<Rewrite>)>, RepairError> {
    let (bytes, table) = read(site, file)?;
    seen(&table);
    let specs = site.specs();
    let spec = file.spec(specs, Some(&table));
    let system = site.catalog.system(&file.place.system, specs);
    let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
    let latencies = spec.latency.iter().map(|l| l.value.numbers(&scope));
    let latencies: Vec<Vals<'_, f64>> = latencies.collect::<Result<_, _>>()?;
    let latencies: Vec<&Vals<'_, f64>> = latencies.iter().collect();
    let groups = measurements(&table, &spec, &policy.ignore)?;
    let competing = if spec.key.is_empty() {
        Vec::new()
    } else {
        copies(&scope, &Keys::new(&spec.row_key(), &scope)?)?
    };
    if groups.is_empty() && competing.is_empty() {
        return Ok(None);
    }
    let noise = |latency| {
        let band = specs.noise.at(&file.table, &file.place.backend, latency);
        band.map_or(1.0, |b| b.p99)
    };
    let mut plan = TablePlan {
        path: file.entry.path.clone(),
        table: file.table.clone(),
        rows: table.rows,
        worst: 1.0,
        loader: spec.serves,
        ..TablePlan::default()
    };
    for rows in &groups {
        plan.drop_copies(&table, rows, &latencies, noise, policy);
    }
    plan.dropped.sort_by_key(|d| d.row);
    let mut keep = vec![true; table.rows];
    plan.dropped.iter().for_each(|d| keep[d.row] = false);
    let others = compared_columns(&table, &policy.ignore);
    plan.serve(&competing, &keep, &others, &latencies);
    let rewrite = if plan.dropped.is_empty() {
        None
    } else {
        Some((disk(file)?.to_owned(), without(site, file, &bytes, &table, &keep)?))
    };
    let reported = rewrite.is_some() || plan.remaining > 0 || plan.disagreeing > 0;
    Ok(reported.then_some((plan, rewrite)))
}

impl TablePlan {
    /// Marks the copies of one measurement (`rows`) for removal, except the copy that the policy keeps. If the copies
    /// differ by more than rerun noise, all of them stay, unless the policy removes disagreeing copies. For a latency
    /// in ms, `noise` returns the largest usual ratio of two repeated measurements.
    fn drop_copies(
        &mut self,
        table: &Table,
        rows: &[usize],
        latencies: &[&Vals<'_, f64>],
        noise: impl Fn(f64) -> f64,
        policy: &Policy,
    ) {
        let CopySpread { ratio: spread, beyond_noise } = CopySpread::of(rows, latencies, noise);
        // A copy without a latency disagrees with the others, unless all cells are equal.
        let is_timed =
            |values: &&Vals<'_, f64>| rows.iter().all(|row| values.get(*row).is_finite());
        let timed = !latencies.is_empty() && latencies.iter().all(is_timed);
        let disagrees =
            beyond_noise || !timed && !rows.iter().all(|row| equal(table, *row, rows[0]));
        if disagrees {
            self.disagreeing += 1;
            self.worst = self.worst.max(spread);
            if !policy.disagreeing {
                return;
            }
        }
        let kept = policy.keep.choose(rows, latencies);
        for row in rows.iter().copied().filter(|row| *row != kept) {
            self.equal += usize::from(equal(table, row, kept));
            self.dropped.push(RemovedRow {
                row,
                kept,
                spread,
                disagrees,
                cells: cells(table, row),
            });
        }
    }

    /// Records the keys for which the loader serves another latency after the removal. Also counts the keys that still
    /// have several rows, and records in which of the columns `others` these rows differ.
    fn serve(
        &mut self,
        competing: &[KeyRows],
        keep: &[bool],
        others: &[(&str, &Column)],
        latencies: &[&Vals<'_, f64>],
    ) {
        let mut differs: BTreeSet<&str> = BTreeSet::new();
        for rows in competing {
            let stay: Vec<usize> = rows.iter().copied().filter(|row| keep[*row]).collect();
            if let (Some(before), Some(after)) =
                (served(self.loader, rows), served(self.loader, &stay))
            {
                let mut times = latencies.iter().map(|v| (v.get(before), v.get(after)));
                let changed = times.find(|(before, after)| before != after);
                self.served.extend(changed.map(|(old, new)| (after, old, new)));
            }
            let varies = |c: &Column| stay.iter().any(|row| !c.equal(stay[0], *row));
            let varying: Vec<&str> =
                others.iter().filter(|(_, c)| varies(c)).map(|(name, _)| *name).collect();
            self.remaining += usize::from(!varying.is_empty());
            differs.extend(varying);
        }
        let change = |(_, before, after): &(usize, f64, f64)| (after / before).ln().abs();
        self.served.sort_by(|a, b| change(b).total_cmp(&change(a)).then(a.0.cmp(&b.0)));
        self.differs = differs.into_iter().map(str::to_owned).collect();
    }
}

/// Returns the row that the loader serves among the rows of one key; `None` if the loader refuses repeated keys. `rows`
/// is in file order.
fn served(loader: Serves, rows: &[usize]) -> Option<usize> {
    match loader {
        Serves::First => rows.first().copied(),
        Serves::Last => rows.last().copied(),
        Serves::Error => None,
    }
}

/// Groups the rows that agree in every column, except measured columns and the columns in `ignore`. Returns the groups
/// of at least two rows, in file order.
fn measurements(
    table: &Table,
    spec: &TableSpec,
    ignore: &[String],
) -> Result<Vec<Vec<usize>>, RepairError> {
    if let Some(name) = ignore.iter().find(|name| spec.reads(name)) {
        return Err(RepairError::Loaded(name.clone()));
    }
    if let Some((name, _)) = table.columns().find(|(_, c)| matches!(c, Column::Other(_))) {
        return Err(RepairError::ColumnType(name.to_owned()));
    }
    if table.columns().all(|(name, _)| measured_unit(name).is_none()) {
        return Err(RepairError::NothingMeasured);
    }
    let mut groups = groups(table, &compared_columns(table, ignore), |_| true);
    groups.retain(|rows| rows.len() > 1);
    Ok(groups)
}

/// Returns the table's bytes without the removed rows. These bytes are read back and compared with the remaining rows.
fn without(
    site: &Site,
    file: &TableFile,
    bytes: &[u8],
    table: &Table,
    keep: &[bool],
) -> Result<Vec<u8>, RepairError> {
    let rows: Vec<usize> = (0..table.rows).filter(|row| keep[*row]).collect();
    if file.format == Format::Parquet {
        return Ok(encode(&table.take(&rows))?);
    }
    let text = keep_lines(bytes, keep)?;
    let back = file.decode(site.specs(), &text)?;
    // A column can have another type without the removed rows, so that cells are compared by their
    // JSON.
    let same = back.rows == rows.len()
        && table.columns().zip(back.columns()).all(|((_, old), (_, new))| {
            rows.iter().enumerate().all(|(now, was)| old.json(*was) == new.json(now))
        });
    if same { Ok(text) } else { Err(RepairError::Lines) }
}
