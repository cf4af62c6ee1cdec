//! The points of a plan or of a rerun list, as a table without latencies.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::base::digest::sha256;
use crate::base::error::{Error, Reason, Result};
use crate::base::expr::{Expr, ExprError};
use crate::base::random::Random;
use crate::database::catalog::{Format, Place, TableFile};
use crate::database::table::{Column, Table, TableScope};
use crate::gpu::device::{Device, Point, release};
use crate::gpu::plan::{EvenDraw, GridCell, Plan};
use crate::gpu::points::{MeasurablePoints, Methods};
use crate::gpu::record::Key;
use crate::gpu::rerun::{RerunList, RerunOperation};
use crate::jobs::rows::{entry, known_spec};
use crate::specs::{Library, Specs, TableSpec};

/// A source of points to measure.
#[derive(Debug)]
pub enum PlannedPoints {
    /// A plan with a grid of points.
    Plan(Plan),
    /// A list of points to measure again.
    List(RerunList),
}

impl PlannedPoints {
    /// Finds the points to measure. A name that ends in `.yaml` is the path of a rerun list or a plan. Any other name
    /// is that of a built-in plan.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is neither a rerun list nor a plan, or if no plan has that
    /// name.
    pub fn find(library: &Library, name: &str) -> Result<Self> {
        let path = Path::new(name);
        let text = name.ends_with(".yaml").then(|| std::fs::read_to_string(path).ok()).flatten();
        if text.is_some_and(|text| RerunList::is_one(&text)) {
            return RerunList::read(path).map(Self::List);
        }
        Plan::find(library, name).map(Self::Plan)
    }
}

/// The points at which power is measured too.
enum PowerPoints {
    /// The first points in the order of measurement. The field is the number of these points.
    First(usize),
    /// Selected rows of the grid. The field has one flag per row; it is true if power is measured for the row.
    Selected(Vec<bool>),
}

/// The points of one table as rows without latencies.
pub(super) struct Grid<'a> {
    /// The purpose of the measurement, for people.
    pub about: &'a str,
    pub file: TableFile,
    pub spec: Arc<TableSpec>,
    table: Table,
    filter: Option<&'a Expr>,
    draw: Option<&'a EvenDraw>,
    power: PowerPoints,
}

/// The points of a grid that a device can measure, in the order of measurement.
pub(super) struct Works {
    pub points: Vec<Point>,
    /// The keys of all planned points, including points that the device cannot measure.
    pub keys: Vec<Key>,
    pub unfit: usize,
    pub digest: String,
}

impl<'a> Grid<'a> {
    /// Builds the grid of a plan.
    pub(crate) fn of(specs: &Specs, plan: &'a Plan, device: &dyn Device) -> Result<Self> {
        let about = device.about();
        let system = specs.systems.iter().find(|(_, s)| s.is_device(&about.name));
        let Some((system, _)) = system else {
            return Err(Error::new(
                format!("no known system has the device {}", about.name),
                "systems/<system>.yaml lists the devices of a system",
            ));
        };
        let Some(version) = about.versions.get(&plan.version) else {
            return Err(Error::new(
                format!("the device does not report its version of {}", plan.version),
                "the plan needs it for the path of the table",
            ));
        };
        let spec = known_spec(specs, &plan.table)?;
        let place = Place {
            system: system.clone(),
            family: Some(spec.family.clone()),
            backend: plan.backend.clone(),
            version: version.clone(),
        };
        let mut columns = plan.combinations();
        let rows = columns.values().map(Vec::len).next().unwrap_or(0);
        columns.insert("version".into(), vec![GridCell::Text(version.clone()); rows]);
        columns.insert("device".into(), vec![GridCell::Text(about.name.clone()); rows]);
        let columns = columns.into_iter().map(|(name, cells)| (name, column(&cells))).collect();
        let power = PowerPoints::First(plan.power);
        let grid = Self::of_table(&plan.about, spec, place, Table::of(rows, columns), power);
        Ok(Self { filter: plan.rows.as_ref(), draw: plan.draw.as_ref(), ..grid })
    }

    /// Creates the grid that contains all rows of a table.
    fn of_table(
        about: &'a str,
        spec: &Arc<TableSpec>,
        place: Place,
        table: Table,
        power: PowerPoints,
    ) -> Self {
        let (file, spec) = (file(place, &spec.name), spec.clone());
        Self { about, file, spec, table, filter: None, draw: None, power }
    }

    /// Builds the grid of one table of a rerun list. The rows contain the version of the backend
    /// that the device reports.
    pub(crate) fn listed(
        specs: &Specs,
        list: &'a RerunList,
        operation: &RerunOperation,
        device: &dyn Device,
    ) -> Result<Self> {
        let about = device.about();
        let system = specs.systems.get(&operation.system);
        if !system.is_some_and(|s| s.is_device(&about.name)) {
            return Err(Error::new(
                format!("the device is {}, but the list is for {}", about.name, operation.system),
                "measure on a machine of that system; its YAML lists its devices",
            ));
        }
        let Some((_, version)) = about.version_of(&operation.backend) else {
            return Err(Error::new(
                format!("the device does not report its version of {}", operation.backend),
                "rows record the measured version; --device process runs the kernels of a backend",
            ));
        };
        // PyTorch appends its build to the version after a plus sign; the directory name has no
        // build.
        let release = release(version);
        let version = if release == operation.version { release } else { version };
        let spec = known_spec(specs, &operation.table)?;
        let place = Place { version: version.to_owned(), ..operation.place() };
        let bad = |why: Reason| {
            Error::new(
                format!("the list of points is invalid: {why}"),
                "`perfdb-gate plan` writes such a list",
            )
        };
        let rows = operation.rows().map_err(bad)?;
        let count = rows.rows;
        let all = |text: &str| Column::texts(std::iter::repeat_n(Some(text), count));
        let mut columns = rows.into_columns();
        columns.push(("version".to_owned(), all(version)));
        columns.push(("device".to_owned(), all(&about.name)));
        let power = PowerPoints::Selected(operation.points.iter().map(|p| p.power).collect());
        Ok(Self::of_table(&list.about, spec, place, Table::of(count, columns), power))
    }

    /// Returns the points that the device can measure.
    pub(crate) fn points(
        &self,
        specs: &Specs,
        methods: &Methods,
        device: &dyn Device,
    ) -> Result<Works> {
        let place = &self.file.place;
        let bad = |e: ExprError| {
            Error::caused("the plan", "the formula is in rules/plans/ or rules/recipes.yaml", e)
        };
        let system = specs.systems.get(&place.system);
        let scope = TableScope::new(&self.table, &self.spec, place, system, &specs.lookups);
        methods.of_framework(vec![&self.file], device.about())?;
        let points =
            MeasurablePoints::to_measure(&self.file, &scope, self.filter, methods).map_err(bad)?;
        let rows = self.drawn(points.rows());
        let fits = |row: &usize| points.is_measurable(*row, device) && points.fits(*row, device);
        let (kept, unfit): (Vec<usize>, Vec<usize>) = rows.iter().copied().partition(fits);
        let cells = |row: &usize| self.table.columns().map(|(_, c)| c.json(*row)).collect();
        let planned: Vec<Vec<Value>> = rows.iter().map(cells).collect();
        let digest = sha256(serde_json::to_string(&planned).unwrap_or_default().as_bytes());
        let point = |(at, row): (usize, &usize)| {
            let mut point = points.unmeasured(*row);
            point.power = match &self.power {
                PowerPoints::First(count) => at < *count,
                PowerPoints::Selected(rows) => rows.get(*row).copied().unwrap_or(false),
            };
            point
        };
        let key = |row: &usize| points.unmeasured(*row).key.into_iter().collect();
        Ok(Works {
            points: kept.iter().enumerate().map(point).collect(),
            keys: rows.iter().map(key).collect(),
            unfit: unfit.len(),
            digest,
        })
    }

    /// Returns the rows to measure, in the order of measurement. If the plan draws a sample, the rows are grouped by
    /// the columns that the plan names. Then one row of each group comes first, a second row of each group follows, and
    /// so on. An interrupted run thus covers all groups evenly.
    fn drawn(&self, rows: Vec<usize>) -> Vec<usize> {
        let Some(draw) = self.draw else { return rows };
        let mut random = Random::new(draw.seed);
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for row in rows {
            let cell = |name: &String| self.table.column(name).map(|c| c.json(row).to_string());
            let group: Vec<String> = draw.evenly.iter().filter_map(cell).collect();
            groups.entry(group.join(" ")).or_default().push(row);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
        groups.iter_mut().for_each(|rows| random.shuffle(rows));
        let mut drawn = Vec::new();
        while drawn.len() < draw.points && groups.iter().any(|g| !g.is_empty()) {
            random.shuffle(&mut groups);
            drawn.extend(groups.iter_mut().filter_map(Vec::pop));
        }
        drawn.truncate(draw.points);
        drawn
    }

    /// Returns the framework that the grid's rows state, such as `vllm`. The sidecar of the measured table states it,
    /// too.
    pub(crate) fn framework(&self) -> Result<&str> {
        let framework = self.table.column("framework").and_then(|column| column.text(0));
        let missing = "the grid of the plan has no column framework";
        framework.ok_or_else(|| Error::new(missing, "every row needs a framework"))
    }
}

/// Creates the `TableFile` of a table's Parquet file, which need not exist. Its path is relative to the data folder.
fn file(place: Place, table: &str) -> TableFile {
    let family = place.family.as_deref().unwrap_or_default();
    let Place { system, backend, version, .. } = &place;
    let path = format!("{system}/{family}/{backend}/{version}/{table}.parquet");
    let entry = entry(Path::new(&path));
    TableFile { entry, place, table: table.to_owned(), format: Format::Parquet }
}

fn column(cells: &[GridCell]) -> Column {
    let int = |cell: &GridCell| match cell {
        GridCell::Int(value) => Some(*value),
        GridCell::Text(_) => None,
    };
    let text = |cell: &GridCell| match cell {
        GridCell::Int(value) => Some(value.to_string()),
        GridCell::Text(text) => Some(text.clone()),
    };
    match cells.iter().map(int).collect::<Option<Vec<i64>>>() {
        Some(values) => Column::Int { values: values.into(), nulls: None },
        None => Column::texts(cells.iter().map(text)),
    }
}
