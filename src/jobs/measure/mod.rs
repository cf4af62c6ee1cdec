//! Measures a plan's grid, or the points of a rerun list, into tables of the database's own format; goes
//! on where it was stopped.

mod grid;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::grid::Grid;
use crate::base::error::{Error, Result};
use crate::base::exit::Exit;
use crate::base::interrupt::{self, Finishing};
use crate::base::progress::Progress;
use crate::base::words::{Figure, count};
use crate::gpu::device::{Device, MeasureError, Point};
use crate::gpu::record::{Key, Log, Origin, Written};
use crate::specs::Specs;

pub use grid::PlannedPoints;

/// What to measure, and where to.
#[derive(Debug, Clone)]
pub struct MeasureOptions {
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
    /// Points of the plan.
    pub planned: usize,
    /// Those that are measured.
    pub measured: usize,
    /// Points that this run tried.
    pub now: usize,
    /// Those that are not, since they do not fit the device's memory, or that it cannot run.
    pub unfit: usize,
}

impl Collected {
    /// Points of the plan that are not measured.
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
            text += &format!(
                "; {} could not be measured (the log gives the reasons)",
                count(written.failed)
            );
        }
        let percent = |ratio: f64| Figure((ratio - 1.0) * 100.0);
        text += &format!(
            "\nsamples of one point differ by {:.1} % in the median and by {:.1} % at the 95th percentile\n",
            percent(median),
            percent(p95)
        );
        text
    }
}

/// Measures what of a plan or a rerun list is not measured yet, table by table.
///
/// # Errors
///
/// When no known system has the device, when it has no version to call a table by, or fails; and when nothing
/// of a table could be measured. What was measured before that stays in the log.
pub fn run(
    specs: &Specs,
    points: &PlannedPoints,
    options: &MeasureOptions,
    device: &mut dyn Device,
    progress: &dyn Progress,
) -> Result<Vec<Collected>> {
    let start = Instant::now();
    let _finishing = Finishing::on_request();
    let grids = match points {
        PlannedPoints::Plan(plan) => vec![Grid::of(specs, plan, device)?],
        PlannedPoints::List(list) => {
            let grid = |operation| Grid::listed(specs, list, operation, device);
            list.operations.iter().map(grid).collect::<Result<_>>()?
        }
    };
    let mut collected = Vec::new();
    for grid in &grids {
        // What there is no time for any more is left for the next run.
        let over = is_over(options, start);
        if over && !collected.is_empty() {
            break;
        }
        collected.push(measure(grid, specs, options, start, device, progress)?);
    }
    Ok(collected)
}

/// Whether no further point is begun: the time is over, or the user has asked for an end.
fn is_over(options: &MeasureOptions, start: Instant) -> bool {
    interrupt::is_requested() || options.until.is_some_and(|until| start.elapsed() > until)
}

fn measure(
    grid: &Grid<'_>,
    specs: &Specs,
    options: &MeasureOptions,
    start: Instant,
    device: &mut dyn Device,
    progress: &dyn Progress,
) -> Result<Collected> {
    let works = grid.points(specs, device)?;
    let table = options.folder.join(&grid.file.entry.path);
    let mut log = Log::open(&table, device.about())?;
    let keyed = |point: Point| (point.key.iter().cloned().collect::<Key>(), point);
    let left: Vec<(Key, Point)> =
        works.points.into_iter().map(keyed).filter(|(key, _)| !log.has(key)).collect();
    let (total, mut now) = (left.len(), 0);
    for (key, point) in left {
        if is_over(options, start) {
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
        return Err(if interrupt::is_requested() {
            Error::new(
                "stopped before a point was measured",
                "run the same command again to continue",
            )
        } else {
            Error::new("the time ran out before a point was measured", "allow more --minutes")
        });
    }
    let framework = grid.framework()?;
    let origin = Origin {
        table: &grid.file.table,
        framework: &framework,
        version: &grid.file.place.version,
        plan: grid.about,
        cases: Some(works.digest),
        complete: measured == planned,
    };
    let written = log.finish(&grid.spec, &origin)?;
    Ok(Collected { written, planned, measured, now, unfit: works.unfit })
}
