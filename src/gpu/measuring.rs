//! Measures the drawn points of a table, with its control points, and judges them.

use std::fs::File;

use serde_json::json;

use crate::base::error::{Error, Reason, Result};
use crate::base::interrupt::Finishing;
use crate::base::stats;
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

/// Number of control points, measured before, between and after the others. Some kernels run at one of
/// two speeds, depending on where their operands are in memory; the median of five controls is robust
/// against this.
pub const CONTROLS: usize = 5;

/// Number of passes over the control points, without the one that wakes the card.
pub const PASSES: usize = 3;

/// Number of measurements in a row that may fail for the same reason before their table is given up.
const EQUAL: usize = 5;

/// A run that measures tables, one after the other.
pub struct Session<'a> {
    /// The device that measures.
    pub device: &'a mut dyn Device,
    /// The time and the request to end.
    pub finishing: Finishing,
    /// The log of all replies.
    pub replies: Option<File>,
    /// The failure of the device, after which nothing more is measured.
    pub failed: Option<Error>,
    /// The last measurements of the table, as long as they failed for the same reason.
    pub failures: Vec<Reason>,
}

/// Adds an answer to the last failures that have the same reason.
fn see(failures: &mut Vec<Reason>, answer: &Result<Answer, Reason>) {
    failures.retain(|why| answer.as_ref().err() == Some(why));
    failures.extend(answer.as_ref().err().cloned());
}

/// The reason why a table is given up after such failures; `None` if it is not.
fn cause(failures: &[Reason]) -> Option<String> {
    let why = failures.get(EQUAL - 1)?;
    Some(format!("{EQUAL} measurements in a row failed with: {why}"))
}

impl Session<'_> {
    /// Measures a point; `None` if nothing more is measured of its table.
    fn ask(&mut self, point: &Point) -> Option<Result<Answer, Reason>> {
        if self.finishing.is_over() || self.failed.is_some() || cause(&self.failures).is_some() {
            return None;
        }
        let answer = match MeasureError::of_point(self.device.measure(point)) {
            Ok(answer) => answer,
            Err(why) => {
                self.failed = Some(why);
                return None;
            }
        };
        see(&mut self.failures, &answer);
        Some(answer)
    }

    /// Measures the controls once more and adds the median of each control to its times.
    fn pass(&mut self, controls: &[Point], times: &mut [Vec<f64>]) -> Result<()> {
        for (point, times) in controls.iter().zip(times) {
            let Some(answer) = self.ask(point) else { break };
            replay::write(&mut self.replies, &replay::line(point, true, 0.0, &answer))?;
            times.extend(answer.map(|answer| stats::median(&answer.samples_ms)));
        }
        Ok(())
    }
}

/// Longest timed part of a sample of a control point, in ms. Rows with a power were timed for a second.
const CONTROL_MS: f64 = 100.0;

/// The measured points of a table, not yet judged.
pub struct Taken {
    /// The table.
    pub file: TableFile,
    /// The figures of the draw.
    pub counts: DrawCounts,
    /// The points in the order of measurement.
    pub points: Vec<Measured>,
    /// The number of points to measure.
    pub asked: usize,
    /// Times in ms of each control point, one per pass.
    controls: Vec<Vec<f64>>,
    trouble: Vec<String>,
    complaints: Complaints,
}

impl Taken {
    /// Measures the points of a draw. A stop, or the same failure of several points in a row, leaves out the
    /// others.
    ///
    /// # Errors
    ///
    /// When a log cannot be written.
    pub fn take(drawn: Drawn, session: &mut Session<'_>, progress: &dyn Fn(usize)) -> Result<Self> {
        session.failures.clear();
        let controls = controls(&drawn.points);
        let mut passes: Vec<Vec<f64>> = vec![Vec::new(); controls.len()];
        let (asked, middle) = (drawn.points.len(), drawn.points.len() / 2);
        let mut points = Vec::new();
        // An idle card runs at other clocks: one uncounted pass over the controls wakes it. A collector
        // warms the card up itself.
        for point in controls.iter().filter(|point| point.call.is_none()) {
            session.ask(point);
        }
        session.pass(&controls, &mut passes)?;
        for (index, (point, band)) in drawn.points.into_iter().enumerate() {
            if index == middle && index > 0 && point.call.is_none() {
                session.pass(&controls, &mut passes)?;
            }
            let Some(answer) = session.ask(&point) else { break };
            let host_ms = host_ms(&point, session.device.about());
            replay::write(&mut session.replies, &replay::line(&point, false, host_ms, &answer))?;
            points.push(Measured { point, answer, band, host_ms, card: 0.0 });
            progress(points.len());
        }
        session.pass(&controls, &mut passes)?;
        let complaints = session.device.complaints();
        let line = json!({"path": drawn.file.entry.path, "complaints": complaints});
        replay::write(&mut session.replies, &line)?;
        let mut trouble = trouble(session.device.about(), &points);
        match (cause(&session.failures), &session.failed) {
            (Some(cause), _) => trouble.insert(0, cause),
            _ if points.len() == asked => {}
            (None, failed) => trouble.push(format!(
                "the run was stopped after {} of {asked} points{}",
                points.len(),
                failed.as_ref().map(|why| format!(": {why}")).unwrap_or_default()
            )),
        }
        let (file, counts, controls) = (drawn.file, drawn.counts, whole(passes));
        Ok(Self { file, counts, points, asked, controls, trouble, complaints })
    }

    /// Answers the points of a draw from a log of replies.
    pub fn replayed(drawn: Drawn, replay: &Replay) -> Self {
        let (file, counts, mut failures) = (drawn.file, drawn.counts, Vec::new());
        let replies = replay.of(&file);
        for reply in &replies {
            if cause(&failures).is_none() {
                see(&mut failures, &reply.answer());
            }
        }
        let controls = whole(replay::controls(&replies));
        let measured = |(point, band): (Point, Option<NoiseBand>)| {
            let reply = replies.get(point.reply?)?;
            let answer = reply.answer().map(|answer| own_kernel(answer, &point));
            Some(Measured { point, answer, band, host_ms: reply.host_ms, card: 0.0 })
        };
        let mut points: Vec<Measured> = drawn.points.into_iter().filter_map(measured).collect();
        points.sort_by_key(|measured| measured.point.reply);
        let mut trouble = trouble(replay.about(), &points);
        trouble.splice(0..0, cause(&failures));
        let complaints = replay.complaints.get(&file.entry.path).cloned().unwrap_or_default();
        Self { file, counts, asked: points.len(), points, controls, trouble, complaints }
    }

    /// The table as a control table for others; `None` if too few of its points are judged, or if its times
    /// are not steady.
    pub fn as_control(&self, limits: &Margins) -> Option<Middle> {
        control(&self.points, &self.controls, &limits.of(&self.file.table))
    }

    /// Judges the table, relative to the card's offset.
    pub fn judged(&self, about: &About, offset: Option<Offset>, limits: &Margins) -> Sample {
        let limits = limits.of(&self.file.table);
        let mut points = self.points.clone();
        // A proxy is not judged, so that it does not add to the statistical power of the sample.
        let judged = points.iter().filter(|p| p.proxy().is_none() && !p.is_host_bound());
        let bands: Vec<&NoiseBand> = judged.filter_map(|p| p.band.as_ref()).collect();
        let power = power(&bands, Offset::collections(offset.as_ref(), &limits), &limits);
        let (controls, trouble) = (&self.controls, &self.trouble);
        let mut verdict = judge(&mut points, controls, trouble, offset.as_ref(), &limits);
        verdict.lacks(unmeasured(&points, &self.counts.slices));
        // A fallback to another path measures something else than the table contains.
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

/// Time in ms below which the host's launches decide a point's time.
fn host_ms(point: &Point, about: &About) -> f64 {
    let launches = point.call.as_ref().and_then(|call| call.launches);
    launches.zip(about.launch_us).map_or(0.0, |(count, us)| f64::from(count) * us / 1e3)
}

/// Chooses the control points, spread over the sample's latencies. The longest are left out, since
/// controls are measured three times. The card rests before each, so that earlier load does not matter.
/// A group's rows are measured once, so that they show no drift. Power is not measured.
fn controls(points: &[(Point, Option<NoiseBand>)]) -> Vec<Point> {
    let single = |p: &&Point| p.call.as_ref().is_none_or(|call| call.group.is_none());
    let mut by_latency: Vec<&Point> = points.iter().map(|(p, _)| p).filter(single).collect();
    by_latency.sort_by(|a, b| a.recorded_ms.total_cmp(&b.recorded_ms));
    // A call of a collector takes seconds: with two passes, a third of all calls at most are for controls.
    let is_called = by_latency.iter().any(|point| point.call.is_some());
    let count = CONTROLS.min(if is_called { points.len() / 4 } else { by_latency.len() });
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

/// Returns the device's version of the backend if it differs from the table's. A table's directory names
/// its backend, and devices use the same names for libraries and frameworks.
fn another_version(about: &About, file: &TableFile) -> Option<String> {
    let place = &file.place;
    let (name, version) = about.version_of(&place.backend)?;
    (release(version) != release(&place.version)).then(|| format!("{name} {version}"))
}

/// Returns reasons against the measurements: other processes on the GPU, or throttling.
fn trouble(about: &About, points: &[Measured]) -> Vec<String> {
    let mut reasons: Vec<String> = about.busy.iter().cloned().collect();
    // These cards always run large products at their power cap; heat and power braking are exceptional.
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

/// The controls that were measured in every pass. A control that failed in one says nothing about drift.
fn whole(mut passes: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let most = passes.iter().map(Vec::len).max().unwrap_or(0);
    passes.retain(|times| times.len() == most && most > 1);
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_of_collectors_are_a_third_of_all_calls_and_have_no_power() {
        let count = |points: usize, is_called: bool| {
            let mut point = Point { power: true, ..Point::synthetic() };
            point.call = is_called.then(crate::gpu::calls::Call::default);
            let controls = controls(&vec![(point, None); points]);
            assert!(controls.iter().all(|control| !control.power));
            controls.len()
        };
        assert_eq!([3, 6, 8, 12, 20, 40].map(|points| count(points, true)), [0, 1, 2, 3, 5, 5]);
        assert_eq!([3, 6, 8, 12, 20, 40].map(|points| count(points, false)), [3, 5, 5, 5, 5, 5]);
    }
}
