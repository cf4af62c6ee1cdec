//! The options of `remeasure`, and the draw of the rows to measure again.

use std::path::PathBuf;

use crate::base::error::{Error, Result, unknown};
use crate::base::expr::{Expr, ExprError};
use crate::database::catalog::TableFile;
use crate::database::selection::Selection;
use crate::database::table::{Keys, TableScope};
use crate::gpu::device::{About, Device, Point};
use crate::gpu::points::MeasurablePoints;
use crate::gpu::recipe::Recipes;
use crate::gpu::rerun::RerunList;
use crate::gpu::sample;
use crate::jobs::rows::read_table;
use crate::jobs::site::Site;
use crate::specs::NoiseBand;

/// The options of `remeasure`.
#[derive(Debug, Default, Clone)]
pub struct RemeasureOptions {
    /// The repository or folder that contains the database.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// The systems, backends, versions and tables to measure.
    pub selection: Selection,
    /// A formula in SQL syntax; only rows for which it is true are measured.
    pub filter: Option<String>,
    /// A rerun list to measure instead of a random sample.
    pub points: Option<PathBuf>,
    /// Number of points per table.
    pub sample: usize,
    /// Seed of the random draw.
    pub seed: u64,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
    /// True to measure power at rows that have a power.
    pub power: bool,
    /// The table in which measurements are recorded.
    pub record: Option<PathBuf>,
}

/// A run of `remeasure`: the opened database and the options.
pub(super) struct Remeasurement<'a> {
    pub site: &'a Site,
    pub recipes: Recipes,
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
        let mut files: Vec<&'a TableFile> = self.site.tables().collect();
        if let Some(list) = &self.list {
            files.retain(|t| list.of(&t.place, &t.table).is_some());
            if files.is_empty() {
                return Err(Error::new(
                    "the list has no points of the selected tables",
                    "--root must name the database that the list was written for",
                ));
            }
        }
        let named = files.first().map(|file| file.place.system.clone());
        let (catalog, specs) = (&self.site.catalog, self.site.specs());
        let system = |t: &&TableFile| catalog.system(&t.place.system, specs);
        files.retain(|t| system(t).is_some_and(|s| s.is_device(&about.name)));
        match (files.first(), named) {
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
        let (path, specs) = (&file.entry.path, self.site.specs());
        let table = read_table(self.site.source.as_ref(), file, specs)?;
        let spec = file.spec(specs, Some(&table));
        let system = self.site.catalog.system(&file.place.system, specs);
        let scope = TableScope::new(&table, &spec, &file.place, system, &specs.lookups);
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
            let listed = operation.keys(&spec, specs).map_err(bad)?;
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
        let point = |(stratum, row): &(usize, usize)| {
            let mut point = points.point(*row, &strata[*stratum]);
            point.power = self.options.power && point.recorded_w.is_some();
            let band = specs.noise.at(&file.table, &file.place.backend, point.recorded_ms).cloned();
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
