//! Rows that are to be measured, gathered into the points of a rerun list.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::cost::Collectors;
use crate::base::error::{Error, Result};
use crate::database::catalog::{Place, TableFile};
use crate::database::source::Source;
use crate::database::table::{Table, TableScope};
use crate::gpu::rerun::{RerunOperation, RerunPoint, is_listed};
use crate::jobs::rows::{LoadedRows, misfit, read_table};
use crate::specs::Specs;

/// A row that is to be measured.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Where it is to be measured.
    pub place: Place,
    /// The table's file that has the row: its own, or another's that has what it lacks.
    pub file: TableFile,
    /// The row.
    pub row: usize,
    /// Its key as whoever asks for it saw it; empty where that is not known.
    pub key: BTreeMap<String, Value>,
    /// Why.
    pub reason: String,
}

/// What becomes of wishes.
#[derive(Debug, Default)]
pub struct GatheredPoints {
    /// By table.
    pub operations: Vec<RerunOperation>,
    /// Rows that were asked for and that the loader does not serve.
    pub unserved: usize,
    /// Rows whose columns are not those of the table's other points.
    pub unlike: usize,
}

/// A table that wishes are about.
struct WishedTable<'a> {
    table: &'a Table,
    loaded: LoadedRows<'a>,
    served: BTreeSet<usize>,
}

/// Reads the rows and makes points of them; of one key, one point.
///
/// # Errors
///
/// When a table cannot be read, or its row is not the one that was asked for: the report is of another
/// state.
pub fn gather(
    wishes: Vec<Wish>,
    source: &dyn Source,
    specs: &Specs,
    collectors: &Collectors,
) -> Result<GatheredPoints> {
    let mut by_file: BTreeMap<String, Vec<Wish>> = BTreeMap::new();
    for wish in wishes {
        by_file.entry(wish.file.entry.path.clone()).or_default().push(wish);
    }
    let mut gathered = GatheredPoints::default();
    let mut points: BTreeMap<(Place, String), Vec<RerunPoint>> = BTreeMap::new();
    let mut own: BTreeMap<(Place, String), String> = BTreeMap::new();
    for (path, wishes) in by_file {
        let file = wishes[0].file.clone();
        let table = read_table(source, &file, specs)?;
        let spec = file.spec(specs, Some(&table));
        let system = specs.systems.get(&file.place.system);
        let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
        let loaded = LoadedRows::new(&scope).map_err(|e| misfit(&file, e))?;
        let served = loaded.all_served().into_iter().collect();
        let read = WishedTable { table: &table, loaded, served };
        for wish in wishes {
            read.check(&wish)?;
            if !read.served.contains(&wish.row) {
                gathered.unserved += 1;
                continue;
            }
            let target = (wish.place.clone(), file.table.clone());
            if wish.place == file.place {
                own.insert(target.clone(), path.clone());
            }
            let all = points.entry(target).or_default();
            let point = read.point(&wish, collectors, &file.table);
            match all.iter_mut().find(|p| p.key == point.key) {
                Some(known) if known.reason.contains(&point.reason) => {}
                Some(known) => known.reason += &format!("; {}", point.reason),
                None => all.push(point),
            }
        }
    }
    for ((place, table), mut points) in points {
        let columns: Option<Vec<String>> = points.first().map(|p| p.key.keys().cloned().collect());
        let before = points.len();
        points.retain(|p| columns.as_ref().is_none_or(|c| p.key.keys().eq(c.iter())));
        gathered.unlike += before - points.len();
        let spec = specs.tables.get(&table);
        let family = place.family.clone().or_else(|| spec.map(|s| s.family.clone()));
        let path = own.get(&(place.clone(), table.clone())).cloned();
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
            points,
        };
        operation.collect = collectors.commands(&operation);
        gathered.operations.push(operation);
    }
    Ok(gathered)
}

impl WishedTable<'_> {
    /// Makes sure that a row is the one that was asked for.
    fn check(&self, wish: &Wish) -> Result<()> {
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

    fn point(&self, wish: &Wish, collectors: &Collectors, table: &str) -> RerunPoint {
        let row = wish.row;
        let listed = self.table.columns().filter(|(name, _)| is_listed(name));
        let latency_ms = Some(self.loaded.latency[row]).filter(|ms| *ms > 0.0 && ms.is_finite());
        // Another's table says nothing of whether this one has power.
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
