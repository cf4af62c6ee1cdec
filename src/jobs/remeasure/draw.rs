//! Draws the rows to measure again.

use super::options::RemeasureOptions;
use crate::base::error::{Error, Result, unknown};
use crate::base::expr::{Expr, ExprError};
use crate::database::catalog::{Catalog, TableFile};
use crate::database::source::Source;
use crate::database::table::{Keys, TableScope};
use crate::gpu::device::{About, Device, Point};
use crate::gpu::points::MeasurablePoints;
use crate::gpu::recipe::Recipes;
use crate::gpu::rerun::RerunList;
use crate::gpu::sample;
use crate::jobs::rows::read_table;
use crate::specs::{NoiseBand, Specs};

/// A run of `remeasure`: the opened database and the options.
pub(super) struct Remeasurement<'a> {
    pub source: &'a dyn Source,
    pub specs: &'a Specs,
    pub recipes: Recipes,
    pub catalog: &'a Catalog,
    pub options: &'a RemeasureOptions,
    /// A list of points to measure; `None` draws a sample.
    pub list: Option<RerunList>,
}

/// Points drawn from a table, not yet measured.
pub(super) struct Drawn<'a> {
    pub file: &'a TableFile,
    pub rows: usize,
    pub without_recipe: usize,
    pub proxies: usize,
    pub strata: usize,
    pub replaced: usize,
    pub points: Vec<(Point, Option<NoiseBand>)>,
}

impl<'a> Remeasurement<'a> {
    /// Returns the selected tables of the device's system.
    pub(super) fn tables(&self, about: &About) -> Result<Vec<&'a TableFile>> {
        let selected = self.options.selection.resolve(self.catalog, None)?;
        let mut files: Vec<&'a TableFile> =
            self.catalog.tables.iter().filter(|t| selected.table(&t.place, &t.table)).collect();
        if let Some(list) = &self.list {
            files.retain(|t| list.of(&t.place, &t.table).is_some());
            if files.is_empty() {
                return Err(Error::new(
                    "the list has no points of the selected tables",
                    "--root must name the database that the list was written for",
                ));
            }
        }
        let named: Vec<String> = files.iter().map(|t| t.place.system.clone()).collect();
        let system = |t: &&TableFile| self.catalog.system(&t.place.system, self.specs);
        files.retain(|t| system(t).is_some_and(|s| s.is_device(&about.name)));
        match (files.first(), named.first()) {
            (None, Some(system)) => Err(Error::new(
                format!("the device is {}, but the tables are of {system}", about.name),
                "measure on a machine of that system; its YAML lists its devices",
            )),
            _ => Ok(files),
        }
    }

    pub(super) fn filter(&self) -> Result<Option<Expr>> {
        let Some(text) = &self.options.filter else { return Ok(None) };
        let bad = |e: ExprError| {
            let hint = "an example: --where \"gemm_dtype = 'bfloat16' AND m <= 256\"";
            Error::caused("--where", hint, e)
        };
        text.parse().map(Some).map_err(bad)
    }

    /// Draws points of a table; `None` if the device can measure none of its rows.
    pub(super) fn draw(
        &self,
        file: &'a TableFile,
        filter: Option<&Expr>,
        device: &dyn Device,
    ) -> Result<Option<Drawn<'a>>> {
        let path = &file.entry.path;
        let table = read_table(self.source, file, self.specs)?;
        let spec = file.spec(self.specs, Some(&table));
        let system = self.catalog.system(&file.place.system, self.specs);
        let scope = TableScope::new(&table, &spec, &file.place, system, &self.specs.lookups);
        if let Some(filter) = filter {
            let has = |name: &&str| *name == "system" || table.column(name).is_some();
            if let Some(name) = filter.columns().into_iter().find(|c| !has(c)) {
                return Err(unknown("column", name, table.columns().map(|(n, _)| n)));
            }
        }
        let bad =
            |e: ExprError| Error::caused(path.as_str(), "the formula is in rules/ or --where", e);
        let points = MeasurablePoints::of(file, &scope, filter, &self.recipes).map_err(bad)?;
        let takes = |row: &usize| device.takes(points.work(*row).as_ref());
        let mut asked = points.rows();
        let operation = self.list.as_ref().and_then(|l| l.of(&file.place, &file.table));
        if let Some(operation) = operation {
            let listed = operation.keys(&spec, self.specs).map_err(bad)?;
            let keys = Keys::new(&spec.key, &scope).map_err(bad)?;
            asked.retain(|row| listed.contains(&keys.hashes()[*row]));
        }
        let (rows, left): (Vec<usize>, Vec<usize>) = asked.into_iter().partition(|row| takes(row));
        if rows.is_empty() {
            return Ok(None);
        }
        // A proxy measurement does not judge the table; proxies are drawn only if there is nothing
        // else.
        let stands_in = |row: &usize| points.work(*row).is_some_and(|w| device.stands_in(&w));
        let (others, judged): (Vec<usize>, Vec<usize>) = rows.into_iter().partition(stands_in);
        let (rows, proxies) = if judged.is_empty() { (others, 0) } else { (judged, others.len()) };
        let strata =
            sample::strata(rows.iter().map(|r| (*r, points.slice(*r), points.latency(*r))));
        let memory = device.about().memory_bytes;
        let fits = |row: usize| {
            let needed = points.work(row).map_or(0, |w| w.bytes());
            memory.is_none_or(|memory| needed <= memory)
        };
        // All points of a list are measured.
        let count = if operation.is_some() { rows.len() } else { self.options.sample };
        let draw = sample::draw(&strata, count, self.options.seed, fits);
        let noise =
            |latency| self.specs.noise.at(&file.table, &file.place.backend, latency).cloned();
        let point = |(stratum, row): &(usize, usize)| {
            let mut point = points.point(*row, &strata[*stratum]);
            point.power = self.options.power && point.recorded_w.is_some();
            let band = noise(point.recorded_ms);
            (point, band)
        };
        Ok(Some(Drawn {
            file,
            rows: rows.len(),
            without_recipe: left.len(),
            proxies,
            strata: strata.len(),
            replaced: draw.replaced,
            points: draw.points.iter().map(point).collect(),
        }))
    }
}
