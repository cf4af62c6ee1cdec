//! Measures a plan's grid into a table of the database's own format; goes on where it was stopped.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::base::digest::sha256;
use crate::base::error::{Error, Result};
use crate::base::exit::Exit;
use crate::base::expr::ExprError;
use crate::base::progress::Progress;
use crate::base::random::Random;
use crate::base::words::count;
use crate::database::catalog::{Format, Place, TableFile};
use crate::database::source::{Entry, EntryKind};
use crate::database::table::{Column, Table, TableScope};
use crate::gpu::device::{Device, MeasureError, Point};
use crate::gpu::plan::{GridCell, Plan};
use crate::gpu::points::MeasurablePoints;
use crate::gpu::recipe::Recipes;
use crate::gpu::record::{Key, Log, Origin, Written};
use crate::specs::Specs;

/// What to measure, and where to.
#[derive(Debug, Clone)]
pub struct Options {
    /// The plan's name.
    pub plan: String,
    /// A database's data folder: below it the table lies at
    /// `<system>/<family>/<backend>/<version>/<table>.parquet`.
    pub folder: PathBuf,
    /// After which no further point is begun.
    pub until: Option<Duration>,
}

/// What a run has done.
#[derive(Debug)]
pub struct Collected {
    /// The table as it is now.
    pub written: Written,
    /// MeasurablePoints of the plan.
    pub planned: usize,
    /// Those that are measured.
    pub measured: usize,
    /// MeasurablePoints that this run tried.
    pub now: usize,
    /// Those that are not, since they do not fit the device's memory, or that it cannot run.
    pub unfit: usize,
}

impl Collected {
    /// MeasurablePoints of the plan that are not measured.
    pub fn missing(&self) -> usize {
        self.planned - self.measured
    }

    /// How the run ends: inconclusive while points of the plan are missing.
    pub fn exit(&self) -> Exit {
        if self.missing() > 0 { Exit::Inconclusive } else { Exit::Clean }
    }

    /// What was done, for people.
    pub fn told(&self) -> String {
        let written = &self.written;
        let (median, p95) = written.spread;
        let mut text = format!(
            "{}: {} of {} planned points\n{} tried now, {} missing",
            written.table.display(),
            count(self.measured),
            count(self.planned),
            count(self.now),
            count(self.missing()),
        );
        if self.unfit > 0 {
            text += &format!("; {} do not fit this device", count(self.unfit));
        }
        if written.failed > 0 {
            text += &format!("; {} could not be measured, the log says why", count(written.failed));
        }
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        text += &format!(
            "\na point's samples differ by {:.1} % in the median, by {:.1} % at the 95th percentile\n",
            percent(median),
            percent(p95)
        );
        text
    }
}

/// Measures what of a plan is not measured yet.
///
/// # Errors
///
/// When there is no such plan, the device is no known system's, has no version to call the table by,
/// or fails; and when nothing could be measured. What was measured before that stays in the log.
pub fn run(
    specs: &Specs,
    options: &Options,
    device: &mut dyn Device,
    progress: &dyn Progress,
) -> Result<Collected> {
    let start = Instant::now();
    let plan = &Plan::find(&specs.library, &options.plan)?;
    let grid = Grid::of(specs, plan, device)?;
    let works = grid.points(specs, device)?;
    let table = options.folder.join(&grid.file.entry.path);
    let mut log = Log::open(&table, device.about())?;
    let keyed = |point: Point| (point.key.iter().cloned().collect::<Key>(), point);
    let left: Vec<(Key, Point)> =
        works.points.into_iter().map(keyed).filter(|(key, _)| !log.has(key)).collect();
    let (total, mut now) = (left.len(), 0);
    for (key, point) in left {
        if options.until.is_some_and(|until| start.elapsed() > until) {
            break;
        }
        let answer = MeasureError::of_point(device.measure(&point))?;
        log.add(key, &answer)?;
        now += 1;
        progress.step(now, total);
    }
    let planned = works.keys.len();
    let measured = works.keys.iter().filter(|key| log.has(key)).count();
    if measured == 0 && now < total {
        return Err(Error::new(
            "the time was over before a point was measured",
            "give it more --minutes",
        ));
    }
    let framework = grid.framework()?;
    let origin = Origin {
        table: &plan.table,
        framework: &framework,
        version: &grid.file.place.version,
        plan: &plan.about,
        cases: Some(works.digest),
        complete: measured == planned,
    };
    let written = log.finish(&grid.spec, &origin)?;
    Ok(Collected { written, planned, measured, now, unfit: works.unfit })
}

/// A plan's grid as a table that has no latencies yet.
struct Grid<'a> {
    plan: &'a Plan,
    file: TableFile,
    spec: std::sync::Arc<crate::specs::TableSpec>,
    table: Table,
}

/// The points of a grid that a device can measure, in the order in which they are.
struct Works {
    points: Vec<Point>,
    /// The keys of all points of the plan, those that do not fit too.
    keys: Vec<Key>,
    unfit: usize,
    digest: String,
}

impl<'a> Grid<'a> {
    fn of(specs: &Specs, plan: &'a Plan, device: &dyn Device) -> Result<Self> {
        let about = device.about();
        let system = specs.systems.iter().find(|(_, s)| s.is_device(&about.name));
        let Some((system, _)) = system else {
            return Err(Error::new(
                format!("no system is known whose device is {}", about.name),
                "systems/<system>.yaml names the devices of a system",
            ));
        };
        let Some(version) = about.versions.get(&plan.version) else {
            return Err(Error::new(
                format!("the device does not say its version of {}", plan.version),
                "the plan calls the table by it",
            ));
        };
        let spec = specs.tables.get(&plan.table).cloned().ok_or_else(|| {
            let known = specs.tables.keys().map(String::as_str);
            crate::base::error::unknown("table", &plan.table, known)
        })?;
        let place = Place {
            system: system.clone(),
            family: Some(spec.family.clone()),
            backend: plan.backend.clone(),
            version: version.clone(),
        };
        let path =
            format!("{system}/{}/{}/{version}/{}.parquet", spec.family, plan.backend, plan.table);
        let kind = EntryKind::Path(path.clone().into());
        let entry = Entry { path, kind, size: 0 };
        let file = TableFile { entry, place, table: plan.table.clone(), format: Format::Parquet };
        let mut columns = plan.combinations();
        let rows = columns.values().map(Vec::len).next().unwrap_or(0);
        columns.insert("version".into(), vec![GridCell::Text(version.clone()); rows]);
        columns.insert("device".into(), vec![GridCell::Text(about.name.clone()); rows]);
        let columns = columns.into_iter().map(|(name, cells)| (name, column(&cells))).collect();
        Ok(Self { plan, file, spec, table: Table::of(rows, columns) })
    }

    fn points(&self, specs: &Specs, device: &dyn Device) -> Result<Works> {
        let place = &self.file.place;
        let bad = |e: ExprError| {
            Error::caused("the plan", "the formula is in rules/plans/ or rules/recipes.yaml", e)
        };
        let system = specs.systems.get(&place.system);
        let scope = TableScope::new(&self.table, &self.spec, place, system, &specs.lookups);
        let recipes = Recipes::read(&specs.library)?;
        let points =
            MeasurablePoints::to_measure(&self.file, &scope, self.plan.rows.as_ref(), &recipes)
                .map_err(bad)?;
        let rows = self.drawn(points.rows());
        let memory = device.about().memory_bytes;
        let fits = |row: &usize| {
            let work = points.work(*row);
            let room = |w: &crate::gpu::device::Work| memory.is_none_or(|m| w.bytes() <= m);
            device.takes(work.as_ref()) && work.as_ref().is_none_or(room)
        };
        let (kept, unfit): (Vec<usize>, Vec<usize>) = rows.iter().copied().partition(fits);
        let planned: Vec<Vec<Value>> = rows.iter().map(|row| self.cells(*row)).collect();
        let digest = sha256(serde_json::to_string(&planned).unwrap_or_default().as_bytes());
        let point = |(at, row): (usize, &usize)| {
            let mut point = points.unmeasured(*row);
            point.power = at < self.plan.power;
            point
        };
        Ok(Works {
            points: kept.iter().enumerate().map(point).collect(),
            keys: rows
                .iter()
                .map(|row| points.unmeasured(*row).key.into_iter().collect())
                .collect(),
            unfit: unfit.len(),
            digest,
        })
    }

    fn cells(&self, row: usize) -> Vec<Value> {
        self.table.columns().map(|(_, column)| column.json(row)).collect()
    }

    /// The rows that the plan draws, in the order in which they are measured: one of each even
    /// combination, then a second of each, so that a run that is stopped has a fair part.
    fn drawn(&self, rows: Vec<usize>) -> Vec<usize> {
        let Some(draw) = &self.plan.draw else { return rows };
        let mut random = Random::new(draw.seed);
        let mut groups: std::collections::BTreeMap<String, Vec<usize>> = Default::default();
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

    /// What the rows say ran, as the sidecar has to.
    fn framework(&self) -> Result<String> {
        match self.table.column("framework").and_then(|c| c.text(0)) {
            Some(framework) => Ok(framework.to_owned()),
            None => Err(Error::new("the plan's grid has no framework", "every row has one")),
        }
    }
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
        Some(values) => Column::Int { values, nulls: None },
        None => Column::texts(cells.iter().map(text)),
    }
}
