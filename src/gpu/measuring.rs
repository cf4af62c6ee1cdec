//! Measures the drawn points of a table, with its control points, and judges them.

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::stats;
use crate::database::catalog::TableFile;
use crate::gpu::device::{About, Device, MeasureError, Point, release};
use crate::gpu::draw::{DrawCounts, Drawn};
use crate::gpu::judge::power::power;
use crate::gpu::judge::{Measured, Middle, Offset, control, judge, unmeasured};
use crate::gpu::outcome::Sample;
use crate::gpu::recipe::Margins;
use crate::gpu::record::Log;
use crate::specs::NoiseBand;

/// Number of control points, measured before, between and after the others. Some kernels run at one of
/// two speeds, depending on where their operands are in memory; the median of five controls is robust
/// against this.
const CONTROLS: usize = 5;

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
}

impl Taken {
    /// Measures the points of a draw, and adds them to a log if there is one.
    ///
    /// # Errors
    ///
    /// When the device fails, or the log cannot be written.
    pub fn take(
        drawn: Drawn,
        device: &mut dyn Device,
        mut log: Option<&mut Log>,
        progress: &dyn Fn(usize),
    ) -> Result<Self> {
        let controls = controls(&drawn.points);
        let mut passes: Vec<Vec<f64>> = vec![Vec::new(); controls.len()];
        let (asked, middle) = (drawn.points.len(), drawn.points.len() / 2);
        let mut points = Vec::new();
        // An idle card runs at other clocks: one uncounted pass over the controls wakes it. A collector
        // warms the card up itself.
        let waken = controls.iter().filter(|point| point.call.is_none());
        for point in waken.take_while(|_| !interrupt::is_requested()) {
            let _ = MeasureError::of_point(device.measure(point))?;
        }
        pass(device, &controls, &mut passes)?;
        for (index, (point, band)) in drawn.points.into_iter().enumerate() {
            if interrupt::is_requested() {
                break;
            }
            if index == middle && index > 0 && point.call.is_none() {
                pass(device, &controls, &mut passes)?;
            }
            let answer = MeasureError::of_point(device.measure(&point))?;
            // The time of a proxy is not the time of the kernel that the row names.
            let is_own = answer.as_ref().map_or(true, |a| a.proxy.is_none());
            if let Some(log) = log.as_mut().filter(|_| is_own) {
                log.add(point.key.iter().cloned().collect(), &answer)?;
            }
            let host_ms = host_ms(&point, device.about());
            points.push(Measured { point, answer, band, host_ms, card: 0.0 });
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
        let (file, counts) = (drawn.file, drawn.counts);
        Ok(Self { file, counts, points, asked, controls: passes, trouble })
    }

    /// Keeps for a whole table that the run was stopped in another one, such as a control table: the card's
    /// offset is then unknown.
    pub fn run_was_stopped(&mut self, measured: usize, asked: usize) {
        if self.points.len() == self.asked {
            self.trouble.push(format!(
                "the run was stopped after {measured} of {asked} points, those of other tables included"
            ));
        }
    }

    /// The table as a control table for others; `None` if too few of its points are judged, or if its times
    /// are not steady.
    pub fn as_control(&self, limits: &Margins) -> Option<Middle> {
        control(&self.points, &self.controls, &limits.of(&self.file.table))
    }

    /// Judges the table, relative to the card's offset.
    pub fn judged(mut self, about: &About, offset: Option<Offset>, limits: &Margins) -> Sample {
        let limits = limits.of(&self.file.table);
        // A proxy is not judged, so that it does not add to the statistical power of the sample.
        let judged = self.points.iter().filter(|p| p.proxy().is_none() && !p.is_host_bound());
        let bands: Vec<&NoiseBand> = judged.filter_map(|p| p.band.as_ref()).collect();
        let power = power(&bands, Offset::collections(offset.as_ref(), &limits), &limits);
        let (controls, trouble) = (&self.controls, &self.trouble);
        let mut verdict = judge(&mut self.points, controls, trouble, offset.as_ref(), &limits);
        verdict.lacks(unmeasured(&self.points, &self.counts.slices));
        Sample {
            measured_with: another_version(about, &self.file),
            file: self.file,
            draw: self.counts,
            power,
            margins: limits,
            offset,
            points: self.points,
            verdict,
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
