//! Gathers rows to measure into the points of a rerun list.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::cost::Collectors;
use crate::base::error::{Error, Result};
use crate::base::group::grouped;
use crate::database::catalog::{Place, TableFile};
use crate::database::source::Source;
use crate::database::table::{Table, TableScope};
use crate::gpu::rerun::{RerunOperation, RerunPoint, RerunSweep, is_listed};
use crate::jobs::rows::{LoadedRows, misfit, read_table};
use crate::specs::Specs;

/// A row to measure.
#[derive(Debug, Clone)]
pub(crate) struct PlannedRow {
    /// The system, backend and version for which the row should be measured.
    pub place: Place,
    /// The table file that contains the row. It belongs to another system than `place` if the row is missing in the
    /// table of `place`.
    pub file: TableFile,
    /// Index of the row in `file`, from 0.
    pub row: usize,
    /// The row's key as the report shows it. It serves to detect that the table changed after the report. Empty if the
    /// report shows no key.
    pub key: BTreeMap<String, Value>,
    /// The reason to measure the row.
    pub reason: String,
}

/// The points of a rerun list, and the numbers of rows that were left out.
#[derive(Debug, Default)]
pub(crate) struct GatheredPoints {
    /// The points by table.
    pub operations: Vec<RerunOperation>,
    /// Number of rows that were left out because the loader serves another row with the same key.
    pub unserved: usize,
    /// Number of points that were left out because they do not have the same columns as the first point of their table.
    pub unlike: usize,
}

/// A decoded table that contains rows to measure.
struct WishedTable<'a> {
    table: &'a Table,
    loaded: LoadedRows<'a>,
    served: BTreeSet<usize>,
}

/// The points to measure for one table.
#[derive(Default)]
struct Target {
    points: Vec<RerunPoint>,
    /// Path of the table; `None` if all rows come from other tables.
    path: Option<String>,
    /// The number of points in the whole table, and the time to measure all of them. If the rows come from several
    /// files, these are the numbers of the file with the most points.
    sweep: Option<RerunSweep>,
}

/// Converts rows to points, one point per key.
///
/// # Errors
///
/// Returns an error if a table cannot be read, or if a row is not the one that the report shows. In the second case,
/// the report was made for another state of the database.
pub(crate) fn gather(
    wishes: Vec<PlannedRow>,
    source: &dyn Source,
    specs: &Specs,
    collectors: &Collectors,
) -> Result<GatheredPoints> {
    let by_file = grouped(wishes.into_iter().map(|wish| (wish.file.entry.path.clone(), wish)));
    let mut gathered = GatheredPoints::default();
    let mut targets: BTreeMap<(Place, String), Target> = BTreeMap::new();
    for (path, wishes) in by_file {
        let file = wishes[0].file.clone();
        let table = read_table(source, &file, specs)?;
        let spec = file.spec(specs, Some(&table));
        let system = specs.systems.get(&file.place.system);
        let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
        let loaded = LoadedRows::new(&scope).map_err(|e| misfit(&file, e))?;
        let served = loaded.all_served().into_iter().collect();
        let read = WishedTable { table: &table, loaded, served };
        let sweep = read.sweep(collectors, &file.table);
        for wish in wishes {
            read.check(&wish)?;
            if !read.served.contains(&wish.row) {
                gathered.unserved += 1;
                continue;
            }
            let target = targets.entry((wish.place.clone(), file.table.clone())).or_default();
            if wish.place == file.place {
                target.path = Some(path.clone());
            }
            if target.sweep.is_none_or(|known| sweep.points > known.points) {
                target.sweep = Some(sweep);
            }
            let point = read.point(&wish, collectors, &file.table);
            match target.points.iter_mut().find(|p| p.key == point.key) {
                Some(known) if known.reason.contains(&point.reason) => {}
                Some(known) => known.reason += &format!("; {}", point.reason),
                None => target.points.push(point),
            }
        }
    }
    for ((place, table), Target { mut points, path, sweep }) in targets {
        let columns: Vec<String> = points[0].key.keys().cloned().collect();
        let before = points.len();
        points.retain(|point| point.key.keys().eq(&columns));
        gathered.unlike += before - points.len();
        let spec = specs.tables.get(&table);
        let family = place.family.clone().or_else(|| spec.map(|s| s.family.clone()));
        let seconds = points.iter().map(|p| p.seconds).sum::<Option<f64>>();
        let seconds = seconds.map(|s| (s * 1000.0).round() / 1000.0);
        let mut operation = RerunOperation {
            system: place.system,
            family: family.unwrap_or_default(),
            backend: place.backend,
            version: place.version,
            table,
            path,
            seconds,
            collect: Vec::new(),
            sweep: None,
            points,
        };
        operation.collect = collectors.commands(&operation);
        let is_whole =
            !operation.collect.is_empty() && !collectors.selects_points(&operation.table);
        operation.sweep = sweep.filter(|_| is_whole);
        gathered.operations.push(operation);
    }
    Ok(gathered)
}

impl WishedTable<'_> {
    /// Returns an error if a row is not the one that the report shows.
    fn check(&self, wish: &PlannedRow) -> Result<()> {
        let is_it = || {
            let key = self.loaded.keys.show(wish.row);
            wish.key.iter().all(|(name, value)| {
                let own = key.iter().find(|(part, _)| part == name).map(|(_, value)| value.clone());
                let cell = || self.table.column(name).map(|c| c.json(wish.row));
                own.or_else(cell).is_none_or(|own| own == *value)
            })
        };
        if wish.row < self.table.rows && is_it() {
            return Ok(());
        }
        Err(Error::new(
            format!("row {} of {} differs from the report", wish.row, wish.file.entry.path),
            "the report is of another state: write it again, or name its commit with --ref",
        ))
    }

    /// Returns the cost of measuring all rows of the table.
    fn sweep(&self, collectors: &Collectors, table: &str) -> RerunSweep {
        let power = self.table.column("power");
        let seconds = |row: &usize| {
            let latency = self.latency(*row);
            collectors.seconds(table, latency, power.is_some_and(|c| c.number(*row) > 0.0))
        };
        let seconds = self.served.iter().map(seconds).sum::<Option<f64>>();
        RerunSweep { points: self.served.len(), seconds: seconds.map(f64::round) }
    }

    /// Returns the latency of a row in ms, if it has one.
    fn latency(&self, row: usize) -> Option<f64> {
        Some(self.loaded.latency[row]).filter(|ms| *ms > 0.0 && ms.is_finite())
    }

    fn point(&self, wish: &PlannedRow, collectors: &Collectors, table: &str) -> RerunPoint {
        let row = wish.row;
        let listed = self.table.columns().filter(|(name, _)| is_listed(name));
        let latency_ms = self.latency(row);
        // The power column of another table does not show whether this table has power.
        let is_own = wish.place == wish.file.place;
        let power = is_own && self.table.column("power").is_some_and(|c| c.number(row) > 0.0);
        RerunPoint {
            key: listed.map(|(name, column)| (name.to_owned(), column.json(row))).collect(),
            reason: wish.reason.clone(),
            latency_ms,
            seconds: collectors.seconds(table, latency_ms, power),
            power,
        }
    }
}
