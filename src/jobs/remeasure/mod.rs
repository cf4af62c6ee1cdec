//! Measures points of tables again and judges whether the GPU confirms the tables.

mod chart;
mod draw;

use std::time::Instant;

pub use self::chart::figures;
pub use self::draw::RemeasureOptions;
use self::draw::{Drawn, Remeasurement};
use crate::base::error::{Error, Result};
use crate::base::interrupt::{self, Finishing};
use crate::base::progress::Progress;
use crate::base::reason::Reason;
use crate::base::stats;
use crate::base::words::plural;
use crate::database::catalog::TableFile;
use crate::findings::Sink;
use crate::gpu::device::{About, Answer, Device, MeasureError, Point};
use crate::gpu::judge::power::power;
use crate::gpu::judge::{Measured, judge};
use crate::gpu::outcome::{Remeasured, Sample};
use crate::gpu::recipe::Recipes;
use crate::gpu::record::{Log, Origin};
use crate::gpu::rerun::RerunList;
use crate::jobs::rows::known_spec;
use crate::jobs::site::Site;
use crate::report::Report;
use crate::specs::NoiseBand;

/// The number of control points, measured before, between and after the others. Some kernels run at
/// one of two speeds, depending on where their operands are in memory; the median of five controls
/// is robust against this.
const CONTROLS: usize = 5;

/// Measures a sample of points again.
///
/// # Errors
///
/// Returns an error if there is no database, if the device fails, or if it cannot measure a row of
/// the selected tables, for example because it is another GPU.
pub fn run(
    options: &RemeasureOptions,
    device: &mut dyn Device,
    progress: &dyn Progress,
) -> Result<Report> {
    let start = Instant::now();
    let (reference, rules) = (options.reference.as_deref(), options.rules.as_deref());
    let site = Site::open(&options.root, reference, rules, &options.selection)?;
    let job = Remeasurement {
        site: &site,
        recipes: Recipes::read(&site.specs().library)?,
        options,
        list: options.points.as_deref().map(RerunList::read).transpose()?,
    };
    let files = job.tables(device.about())?;
    let filter = job.filter()?;

    let (mut drawn, mut unmeasured) = (Vec::new(), Vec::new());
    for file in &files {
        match job.draw(file, filter.as_ref(), device)? {
            Some(points) => drawn.push(points),
            None => unmeasured.push(file.entry.path.clone()),
        }
    }
    if drawn.is_empty() {
        return Err(Error::new(
            format!("the selection contains no measurable row of {}", plural(files.len(), "table")),
            "--where selects rows; rules/recipes.yaml lists what --device cuda can measure",
        ));
    }
    let _finishing = Finishing::on_request();
    let total = drawn.iter().map(|d| d.points.len()).sum();
    let mut states = Vec::new();
    states.extend(device.state().map(|s| ("before", s)));
    let mut samples = Vec::new();
    let mut done = 0;
    let mut log = job.log(&drawn, device.about())?;
    for drawn in drawn {
        let step = |more: usize| progress.step(done + more, total);
        let sample = job.measure(drawn, device, &mut log, &step)?;
        done += sample.points.len();
        samples.push(sample);
    }
    states.extend(device.state().map(|s| ("after", s)));
    if let (Some(log), Some(sample)) = (&log, samples.first()) {
        job.finish(log, sample)?;
    }
    let measured = |s: &Sample| s.points.iter().filter(|p| p.answer.is_ok()).count() as u64;
    let mut sink = Sink::default();
    sink.extend(samples.iter().filter_map(Sample::finding));
    let (findings, counts) = sink.finish();
    Ok(Report {
        command: "remeasure",
        overlays: site.settings.overlays.clone(),
        tables: samples.len() as u64,
        rows: samples.iter().map(measured).sum(),
        findings,
        counts,
        remeasured: Some(Remeasured {
            about: device.about().clone(),
            states,
            samples,
            unmeasured,
            notes: device.notes(),
        }),
        elapsed: start.elapsed(),
        ..Report::default()
    })
}

impl Remeasurement<'_> {
    /// Opens the log of `--record` before anything is measured.
    fn log(&self, drawn: &[Drawn<'_>], about: &About) -> Result<Option<Log>> {
        let Some(path) = &self.options.record else { return Ok(None) };
        let [drawn] = drawn else {
            return Err(Error::new(
                format!("--record takes one table, but {} are selected", drawn.len()),
                "--backend, --version and --table narrow the selection",
            ));
        };
        let table = drawn.file.table.as_str();
        if path.file_stem().is_none_or(|stem| stem != table) {
            let message = format!("--record {}: the table is {table}", path.display());
            return Err(Error::new(message, format!("record into DIR/{table}.parquet")));
        }
        if let Some(why) = &about.busy {
            return Err(Error::new(
                format!("cannot record: {why}"),
                "wait until the GPU is free, or measure without --record",
            ));
        }
        Log::open(path, about).map(Some)
    }

    /// Writes the recorded table; does nothing if no point was recorded.
    fn finish(&self, log: &Log, sample: &Sample) -> Result<()> {
        if log.is_empty() {
            return Ok(());
        }
        let file = &sample.file;
        let spec = known_spec(self.site.specs(), &file.table)?;
        let origin = Origin {
            table: &file.table,
            framework: &file.place.backend,
            version: &file.place.version,
            plan: &format!(
                "points of {} measured again by perfdb-gate, last with seed {}: {}",
                file.entry.path,
                sample.seed,
                sample.verdict.outcome.name()
            ),
            cases: None,
            complete: false,
        };
        log.finish(spec, &origin).map(drop)
    }

    fn measure(
        &self,
        drawn: Drawn<'_>,
        device: &mut dyn Device,
        log: &mut Option<Log>,
        progress: &dyn Fn(usize),
    ) -> Result<Sample> {
        let limits = &self.recipes.judge;
        // A proxy is not judged, so that it does not add to the statistical power of the sample.
        let proxy = |p: &Point| p.work.as_ref().is_some_and(|w| device.stands_in(w));
        let judged = drawn.points.iter().filter(|(point, _)| !proxy(point));
        let bands: Vec<&NoiseBand> = judged.filter_map(|(_, b)| b.as_ref()).collect();
        let power = power(&bands, limits);
        let controls = controls(&drawn.points);
        let mut passes: Vec<Vec<f64>> = vec![Vec::new(); controls.len()];
        let middle = drawn.points.len() / 2;
        let mut points = Vec::new();
        // An idle card runs at other clocks: one uncounted pass over the controls wakes it.
        for point in controls.iter().take_while(|_| !interrupt::is_requested()) {
            let _ = MeasureError::of_point(device.measure(point))?;
        }
        pass(device, &controls, &mut passes)?;
        let asked = drawn.points.len();
        for (index, (point, band)) in drawn.points.into_iter().enumerate() {
            if interrupt::is_requested() {
                break;
            }
            if index == middle && index > 0 {
                pass(device, &controls, &mut passes)?;
            }
            let answer = MeasureError::of_point(device.measure(&point))?;
            // The time of a proxy is not the time of the kernel that the row names.
            if let Some(log) = log.as_mut().filter(|_| proxied(&answer).is_none()) {
                log.add(point.key.iter().cloned().collect(), &answer)?;
            }
            points.push(Measured { point, answer, band });
            progress(points.len());
        }
        pass(device, &controls, &mut passes)?;
        // A control that failed in one of the passes says nothing about drift.
        let most = passes.iter().map(Vec::len).max().unwrap_or(0);
        passes.retain(|times| times.len() == most && most > 1);
        let mut trouble = trouble(device.about(), &points);
        if points.len() < asked {
            trouble.push(format!("the run was stopped after {} of {asked} points", points.len()));
        }
        Ok(Sample {
            file: drawn.file.clone(),
            measured_with: another_version(device.about(), drawn.file),
            seed: self.options.seed,
            rows: drawn.rows,
            without_recipe: drawn.without_recipe,
            proxies: drawn.proxies,
            strata: drawn.strata,
            replaced: drawn.replaced,
            power,
            margins: limits.clone(),
            verdict: judge(&points, &passes, &trouble, limits),
            points,
        })
    }
}

/// Chooses the control points, spread over the sample's latencies. The longest are left out, since
/// controls are measured three times. The card rests before each, so that earlier load does not
/// matter.
fn controls(points: &[(Point, Option<NoiseBand>)]) -> Vec<Point> {
    let mut by_latency: Vec<&Point> = points.iter().map(|(p, _)| p).collect();
    by_latency.sort_by(|a, b| a.recorded_ms.total_cmp(&b.recorded_ms));
    let count = CONTROLS.min(by_latency.len());
    let mut controls: Vec<Point> =
        (1..=count).map(|i| by_latency[i * by_latency.len() / (count + 2)].clone()).collect();
    controls.iter_mut().filter_map(|c| c.work.as_mut()).for_each(|w| w.rested = true);
    controls
}

fn proxied(answer: &Result<Answer, Reason>) -> Option<&str> {
    answer.as_ref().ok()?.proxy.as_deref()
}

/// Returns the device's version of the backend if it differs from the table's. A table's directory
/// names its backend, and devices use the same names for libraries and frameworks.
fn another_version(about: &About, file: &TableFile) -> Option<String> {
    let place = &file.place;
    let (name, version) =
        about.versions.iter().find(|(name, _)| name.eq_ignore_ascii_case(&place.backend))?;
    // PyTorch appends its build to the version after a plus sign; the directory name has no build.
    let release = |version: &str| version.split('+').next().map(str::to_owned);
    (release(version) != release(&place.version)).then(|| format!("{name} {version}"))
}

/// Returns reasons against the measurements: other processes on the GPU, or throttling.
fn trouble(about: &About, points: &[Measured]) -> Vec<String> {
    let mut reasons: Vec<String> = about.busy.iter().cloned().collect();
    // These cards always run large products at their power cap; heat and power braking are
    // exceptional.
    let slowed = |why: &&String| why.as_str() != "SW_POWER_CAP";
    let throttled: Vec<&Measured> = points
        .iter()
        .filter(|p| p.answer.as_ref().is_ok_and(|a| a.throttled.iter().any(|w| slowed(&w))))
        .collect();
    if let Some(first) = throttled.first() {
        let why = first.answer.as_ref().map(|a| a.throttled.join(", ")).unwrap_or_default();
        reasons.push(format!("the GPU was throttled in {} points: {why}", throttled.len()));
    }
    reasons
}

/// Measures the controls once more and adds the median of each control to its times.
fn pass(device: &mut dyn Device, controls: &[Point], times: &mut [Vec<f64>]) -> Result<()> {
    for (point, times) in controls.iter().zip(times) {
        if interrupt::is_requested() {
            break;
        }
        if let Ok(answer) = MeasureError::of_point(device.measure(point))? {
            times.push(stats::median(&answer.samples_ms));
        }
    }
    Ok(())
}
