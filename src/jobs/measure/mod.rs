//! Measures a plan or a rerun list into tables in the database's format. An interrupted run can be
//! continued.

mod grid;

use std::path::PathBuf;
use std::time::Duration;

use self::grid::Grid;
use crate::base::error::{Error, Exit, Result};
use crate::base::interrupt::{self, Finishing, minutes};
use crate::base::progress::Progress;
use crate::base::words::{Figure, count};
use crate::gpu::device::{Device, MeasureError, Point};
use crate::gpu::points::Methods;
use crate::gpu::record::{Key, Log, Origin, Written};
use crate::specs::Specs;

pub use grid::PlannedPoints;

/// The options of `measure`.
#[derive(Debug, Clone, clap::Args)]
pub struct MeasureOptions {
    /// A plan from rules/plans/ (gemm, mla_bmm, nccl), a file PLAN.yaml, or a rerun list.
    #[arg(long, value_name = "PLAN")]
    pub plan: String,
    /// The data folder of a database. The table becomes
    /// `DIR/<system>/<family>/<backend>/<version>/<table>.parquet`, with a sidecar and a log of every
    /// sample.
    #[arg(long, value_name = "DIR")]
    pub output_dir: PathBuf,
    /// Stop after this many minutes; the same command continues later.
    #[arg(long, value_name = "N", value_parser = minutes)]
    pub minutes: Option<Duration>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
    /// True if the collectors' own functions measure the points.
    #[arg(skip)]
    pub collectors: bool,
}

/// The result of measuring one table.
#[derive(Debug)]
pub struct CollectedTable {
    /// The summary of the written table.
    pub written: Written,
    /// Number of planned points.
    pub planned: usize,
    /// Number of planned points with a measured time, from this run or an earlier run.
    pub measured: usize,
    /// Number of points that this run tried to measure.
    pub now: usize,
    /// Number of planned points that do not fit the device's memory or that the device cannot run.
    pub unfit: usize,
}

impl CollectedTable {
    /// Returns the number of planned points that are not measured.
    pub fn missing(&self) -> usize {
        self.planned - self.measured
    }

    /// Returns the exit code: inconclusive if planned points are missing.
    pub fn exit(&self) -> Exit {
        if self.missing() > 0 { Exit::Inconclusive } else { Exit::Clean }
    }

    /// Renders the result for people.
    pub fn text(&self) -> String {
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

/// Measures the missing points of a plan or a rerun list, table by table.
///
/// # Errors
///
/// Returns an error if no known system has the device, if the device fails or does not report the version of the
/// backend, or if no point of a table could be measured. Points measured before an error stay in the log, so that the
/// next run can continue.
pub fn run(
    specs: &Specs,
    points: &PlannedPoints,
    options: &MeasureOptions,
    device: &mut dyn Device,
    progress: &dyn Progress,
) -> Result<Vec<CollectedTable>> {
    let finishing = Finishing::on_request(options.minutes);
    let grids = match points {
        PlannedPoints::Plan(plan) => vec![Grid::of(specs, plan, device)?],
        PlannedPoints::List(list) => {
            let grid = |operation| Grid::listed(specs, list, operation, device);
            list.operations.iter().map(grid).collect::<Result<_>>()?
        }
    };
    let methods = Methods::read(&specs.library, options.collectors)?;
    let mut collected = Vec::new();
    for grid in &grids {
        // Without time left, the remaining tables wait for the next run.
        if finishing.is_over() && !collected.is_empty() {
            break;
        }
        collected.push(measure(grid, (specs, &methods), options, &finishing, device, progress)?);
    }
    Ok(collected)
}

fn measure(
    grid: &Grid<'_>,
    (specs, methods): (&Specs, &Methods),
    options: &MeasureOptions,
    finishing: &Finishing,
    device: &mut dyn Device,
    progress: &dyn Progress,
) -> Result<CollectedTable> {
    let works = grid.points(specs, methods, device)?;
    let table = options.output_dir.join(&grid.file.entry.path);
    let mut log = Log::open(&options.output_dir, &table, device.about())?;
    let keyed = |point: Point| (point.key.iter().cloned().collect::<Key>(), point);
    let left: Vec<(Key, Point)> =
        works.points.into_iter().map(keyed).filter(|(key, _)| !log.has(key)).collect();
    let (total, mut now) = (left.len(), 0);
    for (key, point) in left {
        if finishing.is_over() {
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
    let origin = Origin {
        table: &grid.file.table,
        framework: grid.framework()?,
        version: &grid.file.place.version,
        plan: grid.about,
        cases: works.digest,
        complete: measured == planned,
    };
    let written = log.finish(&grid.spec, &origin)?;
    Ok(CollectedTable { written, planned, measured, now, unfit: works.unfit })
}
