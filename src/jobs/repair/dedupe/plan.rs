//! Which rows of a table repeat a measurement, and which of their copies stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::policy::Policy;
use crate::base::expr::Vals;
use crate::checks::kinds::duplicates::CopySpread;
use crate::database::catalog::{Format, TableFile};
use crate::database::served::rows::{KeyRows, copies};
use crate::database::table::{Column, Keys, Table, TableScope, encode, keep_lines};
use crate::jobs::repair::measurements::{cells, compared_columns, equal, repeated_rows};
use crate::jobs::repair::{RepairError, Site, disk};
use crate::specs::{Serves, TableSpec, measured_unit};

/// A row that is removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    /// Its number in the table as it was, from 0.
    pub row: usize,
    /// The number of the copy that stays.
    pub kept: usize,
    /// Slowest over fastest of all copies.
    pub spread: f64,
    /// Whether that is more than reruns differ by.
    pub disagrees: bool,
    /// Its cells by column.
    pub cells: Map<String, Value>,
}

/// What is to be done to a table.
#[derive(Debug)]
pub struct TablePlan {
    /// Its path.
    pub path: String,
    /// Its name.
    pub table: String,
    /// Rows it has.
    pub rows: usize,
    /// Rows that are removed, in file order.
    pub dropped: Vec<Dropped>,
    /// How many of them equal the copy that stays in every cell.
    pub equal: usize,
    /// Measurements whose copies differ by more than reruns do: kept, unless the policy says otherwise.
    pub disagreeing: usize,
    /// Slowest over fastest of the worst of those.
    pub worst: f64,
    /// Keys for which the loader serves another latency afterwards: the row it will serve, and the
    /// first latency, before and after, that differs.
    pub served: Vec<(usize, f64, f64)>,
    /// Keys of the loader's that hold several measurements: rows that differ in a column that the
    /// key leaves out.
    pub remaining: usize,
    /// Columns in which the rows of those differ.
    pub differs: Vec<String>,
    /// What the loader does with a repeated key.
    pub loader: Serves,
}

impl TablePlan {
    /// Nothing is removed yet.
    fn new(file: &TableFile, rows: usize, loader: Serves) -> Self {
        Self {
            path: file.entry.path.clone(),
            table: file.table.clone(),
            rows,
            dropped: Vec::new(),
            equal: 0,
            disagreeing: 0,
            worst: 1.0,
            served: Vec::new(),
            remaining: 0,
            differs: Vec::new(),
            loader,
        }
    }

    /// The record of the rows that are removed, one JSON object per line.
    pub(super) fn ledger(&self, policy: &Policy) -> String {
        let mut lines = String::new();
        for d in &self.dropped {
            let line = json!({
                "path": self.path, "row": d.row, "kept_row": d.kept, "keep": policy.keep.name(),
                "spread": d.spread, "disagrees": d.disagrees, "cells": d.cells,
            });
            lines += &format!("{line}\n");
        }
        lines
    }
}

/// New bytes of a file.
type Rewrite = (PathBuf, Vec<u8>);

/// The plan for a table, and its bytes without the rows that go; none where it repeats nothing. `seen`
/// gets the table that was read.
pub(super) fn plan(
    site: &Site,
    file: &TableFile,
    policy: &Policy,
    seen: &dyn Fn(&Table),
) -> Result<Option<(TablePlan, Option<Rewrite>)>, RepairError> {
    let (bytes, table) = site.read(file)?;
    seen(&table);
    let specs = &site.settings.specs;
    let spec = file.spec(specs, Some(&table));
    let system = site.catalog.system(&file.place.system, specs);
    let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
    let latencies = spec.latency.iter().map(|l| l.value.numbers(&scope));
    let latencies: Vec<Vals<'_, f64>> = latencies.collect::<Result<_, _>>()?;
    let latencies: Vec<&Vals<'_, f64>> = latencies.iter().collect();
    let groups = measurements(&table, &spec, &policy.ignore)?;
    let competing = competing(&scope)?;
    if groups.is_empty() && competing.is_empty() {
        return Ok(None);
    }
    let noise = |latency| {
        let band = specs.noise.at(&file.table, &file.place.backend, latency);
        band.map_or(1.0, |b| b.p99)
    };
    let mut plan = TablePlan::new(file, table.rows, spec.serves);
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
    /// Drops all copies of a measurement but the one that the policy keeps. Copies that disagree stay,
    /// unless the policy drops them, too; `noise` is the most that reruns of a latency differ by.
    fn drop_copies(
        &mut self,
        table: &Table,
        rows: &[usize],
        latencies: &[&Vals<'_, f64>],
        noise: impl Fn(f64) -> f64,
        policy: &Policy,
    ) {
        let CopySpread { ratio: spread, beyond_noise } = CopySpread::of(rows, latencies, noise);
        // A copy without a time agrees with none that has one, unless all their cells are equal.
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
            self.dropped.push(Dropped { row, kept, spread, disagrees, cells: cells(table, row) });
        }
    }

    /// Notes what the loader makes of the rows that stay; `others` are the columns that set
    /// measurements apart.
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

/// The row that a loader serves of some with one key, in file order.
fn served(loader: Serves, rows: &[usize]) -> Option<usize> {
    match loader {
        Serves::First => rows.first().copied(),
        Serves::Last => rows.last().copied(),
        Serves::Error => None,
    }
}

/// Rows that compete for a key of the loader's.
fn competing(scope: &TableScope<'_>) -> Result<Vec<KeyRows>, RepairError> {
    if scope.spec.key.is_empty() {
        return Ok(Vec::new());
    }
    let key = scope.spec.row_key();
    Ok(copies(scope, &Keys::new(&key, scope)?)?)
}

/// Rows that agree in every column that is not a measurement and is not to `ignore`, in file order; those
/// alone that are more than one.
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
    let identity = compared_columns(table, ignore);
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, first) in repeated_rows(&identity, table.rows, |_| true) {
        groups.entry(first).or_insert_with(|| vec![first]).push(row);
    }
    Ok(groups.into_values().collect())
}

/// The table's bytes without the rows that are not kept, read back and compared.
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
    let back = file.decode(&site.settings.specs, &text)?;
    // A column may read as another type without the rows that are gone, so cells are compared as
    // they are shown.
    let same = back.rows == rows.len()
        && table.columns().zip(back.columns()).all(|((_, old), (_, new))| {
            rows.iter().enumerate().all(|(now, was)| old.json(*was) == new.json(now))
        });
    if same { Ok(text) } else { Err(RepairError::Lines) }
}
