//! Measures the drawn points of a table, with its control points, and judges them.

use std::fs::File;
use std::time::Instant;

use serde_json::json;

use crate::base::error::{Error, Reason, Result};
use crate::base::interrupt::Finishing;
use crate::base::stats;
use crate::base::words::plural;
use crate::database::catalog::TableFile;
use crate::gpu::device::{
    About, Answer, Complaints, Device, MeasureError, Point, own_kernel, release,
};
use crate::gpu::draw::{DrawCounts, Drawn};
use crate::gpu::judge::power::power;
use crate::gpu::judge::{Measured, Middle, Offset, Outcome, control, judge, unmeasured};
use crate::gpu::outcome::Sample;
use crate::gpu::recipe::Margins;
use crate::gpu::replay::{self, Replay};
use crate::specs::NoiseBand;

/// The maximum number of control points of a table. Control points are measured several times during a run, so that a
/// drift of the device is noticed.
const CONTROLS: usize = 5;

/// The number of counted passes over the control points. One pass before them wakes the GPU and is not counted.
const PASSES: usize = 3;

/// The number of successive failures for the same reason after which a table is given up.
const MOST_EQUAL_FAILURES: usize = 5;

/// A run that measures one table after another.
pub(crate) struct MeasuringRun<'a> {
    pub device: &'a mut dyn Device,
    /// The time limit, and the user's request to stop.
    pub finishing: Finishing,
    /// The file to which the device's replies are logged; `None` if nothing is logged.
    pub replies: Option<File>,
    /// The error with which the device failed; `None` while the device works. After this error, nothing more is
    /// measured.
    pub failed: Option<Error>,
    /// The reasons of the table's latest failures, which are all equal. A success clears the list, and a failure for
    /// another reason replaces it.
    pub failures: Vec<Reason>,
    /// Duration in seconds of the table's fastest measurement.
    pub fastest: f64,
}

/// Updates `failures`, the list of successive failures for the same reason, with the answer for another point. A
/// success clears the list, and a failure for another reason replaces it. Nothing changes if the list is already so
/// long that the table is given up.
fn add_failure(failures: &mut Vec<Reason>, answer: &Result<Answer, Reason>) {
    if cause(failures).is_none() {
        failures.retain(|why| answer.as_ref().err() == Some(why));
        failures.extend(answer.as_ref().err().cloned());
    }
}

/// Returns the reason why a table is given up after these successive failures; `None` if it is not given up.
fn cause(failures: &[Reason]) -> Option<String> {
    let why = failures.get(MOST_EQUAL_FAILURES - 1)?;
    Some(format!("{MOST_EQUAL_FAILURES} measurements in a row failed with: {why}"))
}

impl MeasuringRun<'_> {
    /// Measures a point. Returns `None` without measuring if the run is over, the device has failed or the table is
    /// given up.
    fn measure(&mut self, point: &Point) -> Option<Result<Answer, Reason>> {
        if self.finishing.is_over() || self.failed.is_some() || cause(&self.failures).is_some() {
            return None;
        }
        let start = Instant::now();
        let answer = MeasureError::of_point(self.device.measure(point));
        self.fastest = self.fastest.min(start.elapsed().as_secs_f64());
        let answer = answer.map_err(|why| self.failed = Some(why)).ok()?;
        add_failure(&mut self.failures, &answer);
        Some(answer)
    }

    /// Measures each control point once. Appends the median time of the point's samples, in ms, to the point's list in
    /// `times`. `asked` is the number of drawn points of the table.
    fn pass(&mut self, controls: &[Point], times: &mut [Vec<f64>], asked: usize) -> Result<()> {
        for (index, (point, times)) in controls.iter().zip(times).enumerate() {
            if !is_affordable(index, asked, self.fastest) {
                break;
            }
            let Some(answer) = self.measure(point) else { break };
            replay::write(&mut self.replies, &replay::line(point, true, 0.0, &answer))?;
            times.extend(answer.map(|answer| stats::median(&answer.samples_ms)));
        }
        Ok(())
    }
}

/// The maximum duration in seconds of a fast call. If even the fastest call of a table is slower, fewer control points
/// are measured.
const SLOW: f64 = 2.0;

/// Returns true if the control point with this index is to be measured. If `fastest`, the duration of the table's
/// fastest call in seconds, is at most [`SLOW`], all control points are measured. Otherwise, their number is limited to
/// a quarter of `asked` (the table's number of drawn points), but at least 2.
fn is_affordable(index: usize, asked: usize, fastest: f64) -> bool {
    index < (asked / 4).max(2) || fastest <= SLOW
}

/// The intended maximum duration in ms of one sample of a control point. If a sample would take longer, fewer runs are
/// timed for it, but at least 6.
const CONTROL_MS: f64 = 100.0;

/// The measured points of a table, not yet judged.
pub(crate) struct MeasuredTable {
    pub file: TableFile,
    /// The seed of the random draw, and counts of the table's rows, such as the number of rows that cannot be measured.
    pub counts: DrawCounts,
    /// The points in the order of measurement.
    pub points: Vec<Measured>,
    /// The number of points that were to be measured. `points` contains fewer if the run was stopped.
    pub asked: usize,
    /// The times of each control point in ms, one time per pass.
    controls: Vec<Vec<f64>>,
    /// The reason why the table was given up; `None` if it was not.
    given_up: Option<String>,
    /// A sentence on the number of points that were measured before the run was stopped; `None` if it was not stopped.
    stopped: Option<String>,
    complaints: Complaints,
}

impl MeasuredTable {
    /// Measures the drawn points of a table. Stops early if the run is over or several successive points fail for the
    /// same reason.
    ///
    /// # Errors
    ///
    /// If a log cannot be written.
    pub(crate) fn take(
        drawn: Drawn,
        run: &mut MeasuringRun<'_>,
        progress: &dyn Fn(usize),
    ) -> Result<Self> {
        run.failures.clear();
        run.fastest = f64::INFINITY;
        let controls = controls(&drawn.points);
        let mut passes: Vec<Vec<f64>> = vec![Vec::new(); controls.len()];
        let (asked, middle) = (drawn.points.len(), drawn.points.len() / 2);
        let mut points = Vec::new();
        // An idle GPU runs at other clocks, so one pass over the control points, which does not count, wakes it. A
        // collector warms up the GPU itself.
        for point in controls.iter().filter(|point| point.call.is_none()) {
            run.measure(point);
        }
        run.pass(&controls, &mut passes, asked)?;
        for (index, (point, band)) in drawn.points.into_iter().enumerate() {
            if index == middle && index > 0 && point.call.is_none() {
                run.pass(&controls, &mut passes, asked)?;
            }
            let Some(answer) = run.measure(&point) else { break };
            let host_ms = host_ms(&point, run.device.about());
            replay::write(&mut run.replies, &replay::line(&point, false, host_ms, &answer))?;
            points.push(Measured { point, answer, band, host_ms, card: 0.0 });
            progress(points.len());
        }
        run.pass(&controls, &mut passes, asked)?;
        let complaints = run.device.complaints();
        let (path, slices) = (&drawn.file.entry.path, &drawn.counts.slices);
        let line = json!({"path": path, "complaints": complaints, "slices": slices});
        replay::write(&mut run.replies, &line)?;
        let given_up = cause(&run.failures);
        let stopped = (given_up.is_none() && points.len() < asked).then(|| {
            let why = run.failed.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("the run was stopped after {} of {asked} points{why}", points.len())
        });
        let (file, counts, controls) = (drawn.file, drawn.counts, whole(passes));
        Ok(Self { file, counts, points, asked, controls, given_up, stopped, complaints })
    }

    /// Looks up the answers to the drawn points of a table in a log of replies, instead of measuring.
    pub(crate) fn replayed(drawn: Drawn, replay: &Replay) -> Self {
        let (file, mut counts, mut failures) = (drawn.file, drawn.counts, Vec::new());
        let replies = replay.of(&file);
        replies.iter().for_each(|reply| add_failure(&mut failures, &reply.answer()));
        let controls = whole(replay::controls(&replies));
        let measured = |(point, band): (Point, Option<NoiseBand>)| {
            let reply = replies.get(point.reply?)?;
            let answer = reply.answer().map(|answer| own_kernel(answer, &point));
            Some(Measured { point, answer, band, host_ms: reply.host_ms, card: 0.0 })
        };
        let mut points: Vec<Measured> = drawn.points.into_iter().filter_map(measured).collect();
        points.sort_by_key(|measured| measured.point.reply);
        let logged = replay.tables.get(&file.entry.path);
        let slices = logged.map(|table| &table.slices).filter(|slices| !slices.is_empty());
        counts.slices = slices.cloned().unwrap_or(counts.slices);
        let complaints = logged.map(|table| table.complaints.clone()).unwrap_or_default();
        let (given_up, stopped, asked) = (cause(&failures), None, points.len());
        Self { file, counts, points, asked, controls, given_up, stopped, complaints }
    }

    /// Returns the median log ratio of this table, for use as a control table. `None` if too few points are judged, if
    /// their times are not steady, or if the runner wrote errors.
    pub(crate) fn as_control(&self, limits: &Margins) -> Option<Middle> {
        let control = || control(&self.points, &self.controls, &limits.of(&self.file.table));
        (self.complaints.errors == 0).then(control).flatten()
    }

    /// Judges the table by its points' log ratios of measured to recorded time. `offset`, the log ratio by which this
    /// GPU is generally slower or faster, is subtracted from them first.
    pub(crate) fn judged(&self, about: &About, offset: Option<Offset>, limits: &Margins) -> Sample {
        let limits = limits.of(&self.file.table);
        let mut points = self.points.clone();
        // Proxies are not judged, so they do not add to the statistical power of the sample.
        let judged = points.iter().filter(|p| p.proxy().is_none() && !p.is_host_bound());
        let bands: Vec<&NoiseBand> = judged.filter_map(|p| p.band.as_ref()).collect();
        let power = power(&bands, Offset::collections(offset.as_ref(), &limits), &limits);
        let trouble = self.given_up.iter().cloned().chain(trouble(about, &points));
        let trouble: Vec<String> = trouble.chain(self.stopped.clone()).collect();
        let mut verdict = judge(&mut points, &self.controls, &trouble, offset.as_ref(), &limits);
        verdict.add_uncovered(unmeasured(&points, &self.counts.slices, limits.unmeasured));
        // After an error, a framework may use a fallback kernel, which is not the recorded one.
        if verdict.outcome == Outcome::Fail && self.complaints.errors > 0 {
            verdict.outcome = Outcome::Inconclusive;
            let why = self.complaints.sentence();
            let why = why.map(|why| format!("the environment may be broken, because {why}"));
            verdict.reasons.splice(0..0, why);
        }
        Sample {
            measured_with: another_version(about, &self.file),
            file: self.file.clone(),
            draw: self.counts.clone(),
            power,
            margins: limits,
            offset,
            points,
            verdict,
            complaints: self.complaints.clone(),
            origin: None,
        }
    }
}

/// Returns the threshold in ms below which a recorded time is launch-bound: determined by the host's kernel launches
/// and not by the GPU. Returns 0 if no time is launch-bound.
fn host_ms(point: &Point, about: &About) -> f64 {
    let launches = point.call.as_ref().and_then(|call| call.launches);
    launches.zip(about.launch_us).map_or(0.0, |(count, us)| f64::from(count) * us / 1e3)
}

/// Chooses at most [`CONTROLS`] of the drawn points as control points, spread from short to long latencies. Leaves out
/// the longest latencies, and points that share one call with other points.
fn controls(points: &[(Point, Option<NoiseBand>)]) -> Vec<Point> {
    let single = |p: &&Point| p.call.as_ref().is_none_or(|call| call.group.is_none());
    let mut by_latency: Vec<&Point> = points.iter().map(|(p, _)| p).filter(single).collect();
    by_latency.sort_by(|a, b| a.recorded_ms.total_cmp(&b.recorded_ms));
    let count = CONTROLS.min(by_latency.len());
    let mut controls: Vec<Point> =
        (1..=count).map(|i| by_latency[i * by_latency.len() / (count + 2)].clone()).collect();
    for control in &mut controls {
        control.power = false;
        if let Some(work) = &mut control.work {
            let most = (CONTROL_MS / (control.recorded_ms * work.copies as f64)).ceil().max(6.0);
            (work.rested, work.runs) = (true, work.runs.min(most as u32));
        }
    }
    controls
}

/// Returns the name and version of the backend's software on the device; `None` if the table has the same version.
fn another_version(about: &About, file: &TableFile) -> Option<String> {
    let place = &file.place;
    let (name, version) = about.version_of(&place.backend)?;
    (release(version) != release(&place.version)).then(|| format!("{name} {version}"))
}

/// Returns the reasons why the measurements are unreliable: other processes on the GPU, or throttling.
fn trouble(about: &About, points: &[Measured]) -> Vec<String> {
    let mut reasons: Vec<String> = about.busy.iter().cloned().collect();
    // These cards always run large products at their power cap. Heat and power braking are exceptional.
    let is_slowed = |answer: &&Answer| answer.throttled.iter().any(|why| why != "SW_POWER_CAP");
    let answers = points.iter().filter_map(|point| point.answer.as_ref().ok());
    let slowed: Vec<&Answer> = answers.filter(is_slowed).collect();
    if let Some(first) = slowed.first() {
        let why = first.throttled.join(", ");
        reasons.push(format!("the GPU was throttled in {} points: {why}", slowed.len()));
    }
    reasons
}

/// Removes the control points that were not measured in every pass. Each inner list contains the times of one control
/// point.
fn whole(mut passes: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let most = passes.iter().map(Vec::len).max().unwrap_or(0);
    passes.retain(|times| times.len() == most && most > 1);
    passes
}

/// The shortest and the longest usual duration of one measurement by a built-in kernel, in seconds.
const OWN_S: (f64, f64) = (0.07, 0.15);

/// The shortest and the longest usual duration of one measurement by a framework or command, in seconds.
const FOREIGN_S: (f64, f64) = (1.0, 3.0);

/// Describes the number of measurements that the drawn points need, and their expected duration in seconds.
pub(crate) fn estimate(drawn: &[Drawn]) -> String {
    let (mut few, mut many, mut calls) = (0.0, 0.0, 0);
    for Drawn { points, .. } in drawn {
        let all = points.len() + PASSES * CONTROLS.min(points.len());
        let is_own = points.iter().all(|(point, _)| point.work.is_some());
        let (low, high) = if is_own { OWN_S } else { FOREIGN_S };
        (few, many, calls) = (few + low * all as f64, many + high * all as f64, calls + all);
    }
    let (calls, tables) = (plural(calls, "measurement"), plural(drawn.len(), "table"));
    format!("{calls} of {tables}, with controls: about {few:.0} to {many:.0} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_calls_have_fewer_control_points_and_none_measures_power() {
        let point = Point { power: true, ..Point::synthetic() };
        let controls = controls(&vec![(point, None); 8]);
        assert!(controls.len() == 5 && controls.iter().all(|control| !control.power));
        let count = |asked, seconds| (0..5).filter(|i| is_affordable(*i, asked, seconds)).count();
        assert_eq!([3, 8, 12, 20, 40].map(|asked| count(asked, 2.5)), [2, 2, 3, 5, 5]);
        assert_eq!([3, 8, 12, 20, 40].map(|asked| count(asked, 1.0)), [5; 5]);
    }
}
