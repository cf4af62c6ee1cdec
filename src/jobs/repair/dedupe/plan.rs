//! Which rows of a table repeat a measurement, and which of their copies stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Policy;
use crate::base::expr::{ExprError, Vals};
use crate::checks::kinds::duplicates::{CopySpread, copies, repeats};
use crate::database::catalog::{Format, TableFile};
use crate::database::table::{Column, Keys, Table, TableScope, encode, keep_lines};
use crate::jobs::repair::{Site, disk};
use crate::specs::{Serves, TableSpec, measured_unit};

/// Which copy of a measurement stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first in the file.
    First,
    /// The last in the file: the collection guide's word.
    Last,
    /// The one in the middle by latency; of an even number, the faster of the two.
    Median,
}

impl Keep {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Median => "median",
        }
    }

    /// The copy that stays of some, which are in file order.
    fn of(self, rows: &[usize], latencies: &[&Vals<'_, f64>]) -> usize {
        match self {
            Self::First => rows[0],
            Self::Last => rows[rows.len() - 1],
            Self::Median => {
                let mut order = rows.to_vec();
                order.sort_by(|a, b| {
                    let by = |v: &&Vals<'_, f64>| v.get(*a).total_cmp(&v.get(*b));
                    let differs = latencies.iter().map(by).find(|o| o.is_ne());
                    differs.unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
                });
                order[(order.len() - 1) / 2]
            }
        }
    }
}

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
    pub cells: Vec<(String, Value)>,
}

/// What is to be done to a table.
#[derive(Debug)]
pub struct Plan {
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

impl Plan {
    /// The record of the rows that are removed, a JSON object a line.
    pub(super) fn ledger(&self, policy: &Policy) -> String {
        let line = |d: &Dropped| {
            let cells: serde_json::Map<String, Value> = d.cells.iter().cloned().collect();
            let line = json!({
                "path": self.path, "row": d.row, "kept_row": d.kept, "keep": policy.keep.name(),
                "spread": d.spread, "disagrees": d.disagrees, "cells": cells,
            });
            format!("{line}\n")
        };
        self.dropped.iter().map(line).collect()
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
) -> Result<Option<(Plan, Option<Rewrite>)>, String> {
    let (bytes, table) = site.read(file)?;
    seen(&table);
    let specs = &site.settings.specs;
    let spec = file.spec(specs, Some(&table));
    let system = site.catalog.systems.get(&file.place.system).and_then(|s| s.system.as_ref().ok());
    let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
    let formula = |e: ExprError| format!("cannot be judged: {e}");
    let latencies: Vec<Vals<'_, f64>> = spec
        .latency
        .iter()
        .map(|l| l.value.numbers(&scope))
        .collect::<Result<_, _>>()
        .map_err(formula)?;
    let latencies: Vec<&Vals<'_, f64>> = latencies.iter().collect();
    let groups = measurements(&table, &spec, &policy.ignore)?;
    let competing = match spec.key.is_empty() {
        true => BTreeSet::new(),
        false => {
            copies(&scope, &Keys::new(&spec.key, &scope).map_err(formula)?).map_err(formula)?
        }
    };
    if groups.is_empty() && competing.is_empty() {
        return Ok(None);
    }
    let tail = |latency| {
        let band = specs.noise.at(&file.table, &file.place.backend, latency);
        band.map_or(1.0, |b| b.p99)
    };
    let mut plan = Plan {
        path: file.entry.path.clone(),
        table: file.table.clone(),
        rows: table.rows,
        dropped: Vec::new(),
        equal: 0,
        disagreeing: 0,
        worst: 1.0,
        served: Vec::new(),
        remaining: 0,
        differs: Vec::new(),
        loader: spec.serves,
    };
    for rows in &groups {
        let spread = CopySpread::of(rows, &latencies, tail);
        // A copy without a time agrees with none that has one.
        let no_time = |v: &&&Vals<'_, f64>| rows.iter().any(|row| !v.get(*row).is_finite());
        let copied = rows.iter().all(|row| equal(&table, *row, rows[0]));
        let untimed = latencies.is_empty() || latencies.iter().any(|v| no_time(&v));
        let disagrees = spread.beyond_noise || untimed && !copied;
        if disagrees {
            plan.disagreeing += 1;
            plan.worst = plan.worst.max(spread.ratio);
            if !policy.disagreeing {
                continue;
            }
        }
        let kept = policy.keep.of(rows, &latencies);
        for row in rows.iter().copied().filter(|row| *row != kept) {
            plan.equal += usize::from(equal(&table, row, kept));
            let cells = table.columns().map(|(name, c)| (name.to_owned(), c.json(row))).collect();
            plan.dropped.push(Dropped { row, kept, spread: spread.ratio, disagrees, cells });
        }
    }
    plan.dropped.sort_by_key(|d| d.row);
    let mut keep = vec![true; table.rows];
    plan.dropped.iter().for_each(|d| keep[d.row] = false);
    let told = |name: &str| !policy.ignore.iter().any(|i| i == name);
    let others = table.columns().filter(|(n, _)| measured_unit(n).is_none() && told(n));
    afterwards(&mut plan, &competing, &keep, &others.collect::<Vec<_>>(), &latencies);
    let rewrite = match plan.dropped.is_empty() {
        true => None,
        false => Some((disk(file)?.to_owned(), without(site, file, &bytes, &table, &keep)?)),
    };
    Ok((rewrite.is_some() || plan.remaining > 0 || plan.disagreeing > 0).then_some((plan, rewrite)))
}

/// Rows that agree in every column that is no measurement and is not to `ignore`, in file order; those
/// alone that are more than one.
fn measurements(
    table: &Table,
    spec: &TableSpec,
    ignore: &[String],
) -> Result<Vec<Vec<usize>>, String> {
    if let Some(name) = ignore.iter().find(|name| spec.reads(name)) {
        return Err(format!("its loader reads {name}, which therefore cannot be ignored"));
    }
    if let Some((name, _)) = table.columns().find(|(_, c)| matches!(c, Column::Other(_))) {
        return Err(format!("its column {name} is of a type that no table has"));
    }
    let (measures, mut identity): (Vec<_>, Vec<_>) =
        table.columns().partition(|(name, _)| measured_unit(name).is_some());
    identity.retain(|(name, _)| !ignore.iter().any(|i| i == name));
    if measures.is_empty() {
        return Err("it has no measured column, so nothing tells what is measured again".into());
    }
    let mut hashes = vec![0; table.rows];
    identity.iter().for_each(|(_, column)| column.hash_into(&mut hashes));
    let alike = |a: usize, b: usize| identity.iter().all(|(_, column)| column.equal(a, b));
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, first) in repeats(&hashes, |_| true, alike) {
        groups.entry(first).or_insert_with(|| vec![first]).push(row);
    }
    Ok(groups.into_values().collect())
}

fn equal(table: &Table, a: usize, b: usize) -> bool {
    a == b || table.columns().all(|(_, column)| column.equal(a, b))
}

/// Says what the loader makes of the rows that stay; `others` are the columns that tell measurements
/// apart.
fn afterwards(
    plan: &mut Plan,
    competing: &BTreeSet<Vec<usize>>,
    keep: &[bool],
    others: &[(&str, &Column)],
    latencies: &[&Vals<'_, f64>],
) {
    let loader = plan.loader;
    let serves = |rows: &[usize]| match loader {
        Serves::First => rows.first().copied(),
        Serves::Last => rows.last().copied(),
        Serves::Error => None,
    };
    let mut differs: BTreeSet<&str> = BTreeSet::new();
    for rows in competing {
        let stay: Vec<usize> = rows.iter().copied().filter(|row| keep[*row]).collect();
        if let (Some(before), Some(after)) = (serves(rows), serves(&stay)) {
            let changed = latencies.iter().map(|v| (v.get(before), v.get(after)));
            let changed = changed.into_iter().find(|(b, a)| b != a);
            plan.served.extend(changed.map(|(b, a)| (after, b, a)));
        }
        let apart = |c: &Column| stay.iter().any(|row| !c.equal(stay[0], *row));
        let apart: Vec<&str> = others.iter().filter(|(_, c)| apart(c)).map(|(n, _)| *n).collect();
        plan.remaining += usize::from(!apart.is_empty());
        differs.extend(apart);
    }
    let order = |(_, before, after): &(usize, f64, f64)| (after / before).ln().abs();
    plan.served.sort_by(|a, b| order(b).total_cmp(&order(a)).then(a.0.cmp(&b.0)));
    plan.differs = differs.into_iter().map(str::to_owned).collect();
}

/// The table's bytes without the rows that are not kept, read back and compared.
fn without(
    site: &Site,
    file: &TableFile,
    bytes: &[u8],
    table: &Table,
    keep: &[bool],
) -> Result<Vec<u8>, String> {
    let rows: Vec<usize> = (0..table.rows).filter(|row| keep[*row]).collect();
    if file.format == Format::Parquet {
        return encode(&table.take(&rows)).map_err(|e| e.message);
    }
    let text = keep_lines(bytes, keep)?;
    let back = file.decode(&site.settings.specs, &text).map_err(|fault| fault.to_string())?;
    // A column may read as another type without the rows that are gone, so cells are compared as
    // they are shown.
    let same = back.rows == rows.len()
        && table.columns().zip(back.columns()).all(|((_, old), (_, new))| {
            rows.iter().enumerate().all(|(now, was)| old.json(*was) == new.json(now))
        });
    if same { Ok(text) } else { Err("its lines cannot be told apart".into()) }
}
