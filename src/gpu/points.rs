//! The rows of a table as points to measure again.

use std::collections::HashSet;

use crate::base::error::{Error, Result};
use crate::base::expr::{Expr, ExprError, Scope, Vals};
use crate::database::catalog::{Place, TableFile};
use crate::database::table::{Column, Keys, Table, TableScope};
use crate::gpu::calls::{Call, Calls};
use crate::gpu::device::{About, Device, Point, release};
use crate::gpu::recipe::{Recipe, Recipes};
use crate::gpu::runners::Runners;
use crate::gpu::work::Work;
use crate::specs::{Library, measured_unit};

/// The recipes and runners, which describe how rows are measured.
#[derive(Debug, Clone)]
pub(crate) struct Methods {
    /// Recipes for the built-in kernels, with the limits for judging tables.
    pub recipes: Recipes,
    /// The runners, which call the collectors' functions; `None` if the collectors are not used.
    pub runners: Option<Runners>,
}

impl Methods {
    /// Reads the recipes, and with `collectors` also the runners.
    ///
    /// # Errors
    ///
    /// If a file is malformed.
    pub(crate) fn read(library: &Library, collectors: bool) -> Result<Self> {
        let runners = collectors.then(|| Runners::read(library)).transpose()?;
        Ok(Self { recipes: Recipes::read(library)?, runners })
    }

    /// Returns the tables that the installed framework can measure. Returns all tables if the collectors are not used.
    ///
    /// # Errors
    ///
    /// If the installed framework can measure none of the tables, because it is missing or has another version.
    pub(crate) fn of_framework<'t>(
        &self,
        files: Vec<&'t TableFile>,
        about: &About,
    ) -> Result<Vec<&'t TableFile>> {
        let Some(runners) = &self.runners else { return Ok(files) };
        let missing = |file: &TableFile| {
            let (table, Place { backend, version, .. }) = (&file.table, &file.place);
            let Some((_, installed)) = about.version_of(backend) else {
                return Some(format!("{backend} is not installed where the runner runs"));
            };
            let installed_here = format!("{backend} {installed} is installed");
            if release(installed) != release(version) {
                return Some(format!("{installed_here}, but {} is of {version}", file.entry.path));
            }
            let needed = runners.requirement(table, backend)?;
            let why = format!("the collector of {table} needs {needed}, but {installed_here}");
            (!needed.is_met(installed)).then_some(why)
        };
        let first = files.first().copied();
        let kept: Vec<_> = files.into_iter().filter(|file| missing(file).is_none()).collect();
        let hint = "run in an environment, such as the framework's image, that has this version";
        match first.and_then(missing) {
            Some(why) if kept.is_empty() => Err(Error::new(why, hint)),
            _ => Ok(kept),
        }
    }
}

/// The rows of a table that are selected for measurement, and how to measure them. The table is a recorded table or a
/// grid of planned points. Of a recorded table, only served rows are selected.
pub(crate) struct MeasurablePoints<'a> {
    path: &'a str,
    table: &'a Table,
    latency: Vals<'a, f64>,
    /// Number of rows of the table that the loader serves, before the filter.
    pub served: usize,
    kept: Vec<usize>,
    recipes: Vec<EvaluatedRecipe<'a>>,
    /// For each row of the table, the index of its recipe in `recipes`; `None` if no recipe matches the row.
    recipe: Vec<Option<usize>>,
    /// The calls of collectors' functions that measure the rows; `None` if the collectors are not used.
    calls: Option<Calls<'a>>,
}

/// A recipe, with its formulas evaluated for every row.
struct EvaluatedRecipe<'a> {
    recipe: &'a Recipe,
    sizes: Vec<(&'a str, Vals<'a, f64>)>,
    copies: Vals<'a, f64>,
    runs: Vals<'a, f64>,
    /// For each row: true if the row matches the recipe's condition `proxy_rows`. `None` if the recipe has no such
    /// condition, so that every row counts as a match.
    proxies: Option<Vals<'a, bool>>,
}

impl<'a> MeasurablePoints<'a> {
    /// Selects the rows of a recorded table that the loader serves and the filter matches, and finds their recipes.
    pub(crate) fn of(
        file: &'a TableFile,
        scope: &'a TableScope<'a>,
        filter: Option<&'a Expr>,
        methods: &'a Methods,
    ) -> Result<Self, ExprError> {
        let spec = scope.spec;
        let keys = Keys::new(&spec.key, scope)?;
        let latency = match spec.latency.first() {
            Some(part) => part.value.numbers(scope)?,
            None => Vals::One(f64::NAN),
        };
        let loaded = spec.filter.as_ref().map(|e| e.mask(scope)).transpose()?;
        let mut seen = HashSet::new();
        let is_served = |row: &usize| {
            let time = latency.get(*row);
            // The loader serves one row per key. The rule duplicate-key reports which row.
            time > 0.0
                && time.is_finite()
                && loaded.as_ref().is_none_or(|mask| mask.get(*row))
                && (spec.key.is_empty() || seen.insert(keys.hashes()[*row]))
        };
        let served = (0..scope.rows()).filter(is_served).collect();
        Self::selected(file, scope, latency, served, filter, methods)
    }

    /// Selects the rows of a grid that the filter matches, and finds their recipes. The grid is not measured yet.
    pub(crate) fn to_measure(
        file: &'a TableFile,
        scope: &'a TableScope<'a>,
        filter: Option<&'a Expr>,
        methods: &'a Methods,
    ) -> Result<Self, ExprError> {
        let rows = (0..scope.rows()).collect();
        Self::selected(file, scope, Vals::One(f64::NAN), rows, filter, methods)
    }

    /// Selects the rows in `kept` that match the filter, and finds the recipe of each.
    fn selected(
        file: &'a TableFile,
        scope: &'a TableScope<'a>,
        latency: Vals<'a, f64>,
        mut kept: Vec<usize>,
        filter: Option<&'a Expr>,
        methods: &'a Methods,
    ) -> Result<Self, ExprError> {
        let (table, served) = (scope.table, kept.len());
        let mask = filter.map(|e| e.mask(scope)).transpose()?;
        kept.retain(|row| mask.as_ref().is_none_or(|mask| mask.get(*row)));
        let mut recipes = Vec::new();
        let mut recipe = vec![None; scope.rows()];
        for own in &methods.recipes.recipes {
            if own.table != file.table || own.backend != file.place.backend {
                continue;
            }
            let rows = own.rows.mask(scope)?;
            for row in kept.iter().filter(|row| rows.get(**row)) {
                recipe[*row].get_or_insert(recipes.len());
            }
            let size = |(name, e): (&'a String, &'a Expr)| Ok((name.as_str(), e.numbers(scope)?));
            recipes.push(EvaluatedRecipe {
                recipe: own,
                sizes: own.sizes.iter().map(size).collect::<Result<_, ExprError>>()?,
                copies: own.copies.as_ref().map_or(Ok(Vals::One(1.0)), |e| e.numbers(scope))?,
                runs: own.runs.numbers(scope)?,
                proxies: own.proxy_rows.as_ref().map(|e| e.mask(scope)).transpose()?,
            });
        }
        let runners = methods.runners.as_ref();
        let calls = runners.map(|r| Calls::new(r, file, scope)).transpose()?;
        Ok(Self { path: &file.entry.path, table, latency, served, kept, recipes, recipe, calls })
    }

    /// Returns the row numbers of the selected rows.
    pub(crate) fn rows(&self) -> Vec<usize> {
        self.kept.clone()
    }

    /// Returns the recorded latency of a row in ms; NaN if it has none.
    pub(crate) fn latency(&self, row: usize) -> f64 {
        self.latency.get(row)
    }

    /// Returns the operation, with its sizes, by which a built-in kernel measures a row. `None` if no recipe matches
    /// the row, or if a formula of the recipe gives an invalid size.
    pub(crate) fn work(&self, row: usize) -> Option<Work> {
        let evaluated = &self.recipes[self.recipe[row]?];
        let whole = |v: f64| (v >= 0.0 && v.fract() == 0.0 && v < 9e15).then_some(v as u64);
        let own = evaluated.recipe;
        let proxy = evaluated.proxies.as_ref().is_none_or(|rows| rows.get(row));
        // The libraries have sizes of 32 bits, and a product without rows runs no kernel.
        let is_small = |v: &u64| *v <= i32::MAX as u64;
        let size = |(name, values): &(&str, Vals<'_, f64>)| {
            let size = whole(values.get(row)).filter(is_small)?;
            (size > 0 || *name == "weight_transposed").then(|| ((*name).to_owned(), size))
        };
        Some(Work {
            operation: own.operation,
            dtype: own.dtype,
            sizes: evaluated.sizes.iter().map(size).collect::<Option<_>>()?,
            copies: whole(evaluated.copies.get(row)).filter(|c| *c > 0)?,
            inputs: own.inputs,
            weight_fill: own.weight_fill,
            input_fill: own.input_fill,
            cuda_graph: own.cuda_graph,
            rested: own.rested,
            warmups: own.warmups,
            runs: whole(evaluated.runs.get(row)).filter(|r| (1..=1_000_000).contains(r))? as u32,
            proxy: own.proxy.clone().filter(|_| proxy),
        })
    }

    /// Returns a text that is the same for all rows that one call measures together; `None` if the row's call measures
    /// no other row.
    pub(crate) fn group(&self, row: usize) -> Option<String> {
        self.calls.as_ref()?.group(row)
    }

    /// Returns true if a device can measure a row.
    pub(crate) fn is_measurable(&self, row: usize, device: &dyn Device) -> bool {
        match &self.calls {
            Some(calls) => calls.has(row),
            None => device.supports(self.work(row).as_ref()),
        }
    }

    /// Returns the number of GPUs that one measurement of the row uses.
    pub(crate) fn gpus(&self, row: usize) -> u64 {
        match &self.calls {
            Some(calls) => calls.gpus(row),
            None => self.work(row).map_or(1, |work| work.size("gpus")),
        }
    }

    /// Returns true if the time that the device measures for a row cannot be compared with the recorded time.
    pub(crate) fn is_proxy(&self, row: usize, device: &dyn Device) -> bool {
        match &self.calls {
            Some(_) => self.scatters(row).is_some(),
            None => self.work(row).is_some_and(|work| device.is_proxy_for(&work)),
        }
    }

    /// Returns the reason why the times of a row vary widely on every device; `None` if they do not.
    fn scatters(&self, row: usize) -> Option<String> {
        let recipe = self.recipes[self.recipe[row]?].recipe;
        self.work(row)?.proxy.filter(|_| recipe.proxy_rows.is_some())
    }

    /// Returns true if the operands of a row fit in the device's memory, or if the memory's size is unknown.
    pub(crate) fn fits(&self, row: usize, device: &dyn Device) -> bool {
        let needed = self.work(row).map_or(0, |w| w.bytes());
        device.about().memory_bytes.is_none_or(|memory| needed <= memory)
    }

    /// Returns the dtypes of a row: the texts of its columns that end in `_dtype`.
    pub(crate) fn dtypes(&self, row: usize) -> impl Iterator<Item = &str> {
        let dtypes = self.table.columns().filter(|(name, _)| name.ends_with("_dtype"));
        dtypes.filter_map(move |(_, column)| column.text(row))
    }

    /// Returns the slice of a row: its texts except framework, version and device, joined by spaces.
    pub(crate) fn slice(&self, row: usize) -> String {
        let is_part =
            |(name, _): &(&str, &Column)| !["framework", "version", "device"].contains(name);
        let texts = self.table.columns().filter(is_part).filter_map(|(_, column)| column.text(row));
        texts.collect::<Vec<_>>().join(" ")
    }

    /// Returns the value of a column in a row; `None` if the table has no such column.
    pub(crate) fn value(&self, row: usize, name: &str) -> Option<serde_json::Value> {
        Some(self.table.column(name)?.json(row))
    }

    /// Creates the point to measure for a row without a recorded latency, such as a row of a plan's grid.
    pub(crate) fn unmeasured(&self, row: usize) -> Point {
        self.point(row, &self.slice(row), 1)
    }

    /// Creates the point to measure for a row. `slice` is the name of the row's slice, and `decile` the row's latency
    /// decile in that slice.
    pub(crate) fn point(&self, row: usize, slice: &str, decile: usize) -> Point {
        let key = self.table.columns().filter(|(name, _)| measured_unit(name).is_none());
        let watts = self.table.column("power").map(|c| c.number(row)).filter(|w| w.is_finite());
        let call = self.calls.as_ref().and_then(|calls| calls.get(row));
        Point {
            path: self.path.to_owned(),
            row: row as u64,
            key: key.map(|(name, column)| (name.to_owned(), column.json(row))).collect(),
            slice: slice.to_owned(),
            decile,
            recorded_ms: self.latency(row),
            recorded_w: watts,
            power: false,
            work: self.work(row).filter(|_| self.calls.is_none()),
            call: call.map(|call| Call { proxy: self.scatters(row), ..call }),
            reply: None,
        }
    }
}
