//! Measures points of tables again, and judges if the measurements confirm the tables.

mod chart;
mod draw;

use std::collections::BTreeSet;
use std::fs::File;

use serde_json::json;

pub use self::chart::figures;
pub use self::draw::RemeasureOptions;
use self::draw::Remeasurement;
use crate::base::error::{Error, Result};
use crate::base::interrupt::Finishing;
use crate::base::progress::Progress;
use crate::base::words::plural;
use crate::checks::settings::Settings;
use crate::database::catalog::TableFile;
use crate::findings::Sink;
use crate::gpu::device::{About, CardState, Device};
use crate::gpu::draw::{DrawRules, Drawn};
use crate::gpu::judge::{Middle, Offset, Outcome};
use crate::gpu::measuring::{MeasuredTable, MeasuringRun, estimate};
use crate::gpu::outcome::{Remeasured, Sample};
use crate::gpu::replay::{self, Replay};
use crate::report::Report;

/// The number of points of a control table.
const CONTROL_POINTS: usize = 20;

/// Measures a sample of points again and returns the report. After each table except the last, calls `each` with the
/// report on the tables measured so far.
///
/// # Errors
///
/// Returns an error if there is no database, or if the device fails before a table is measured. Also returns an error
/// if the device can measure no row of the selected tables, for example because it is another GPU, or if `each` fails.
pub fn run(
    options: &RemeasureOptions,
    device: &mut dyn Device,
    progress: &dyn Progress,
    each: &dyn Fn(&Report) -> Result<()>,
) -> Result<Report> {
    let site = options.site()?;
    let mut job = Remeasurement::new(&site, options, None)?;
    let all = job.selected(device)?;
    let finishing = Finishing::on_request(options.minutes);
    let mut states = Vec::from_iter(device.state().map(|state| ("before", state)));
    let failed = |e| Error::caused("cannot write the log of replies", "--log names it", e);
    let mut replies = options.log.as_ref().map(File::create).transpose().map_err(failed)?;
    replay::write(&mut replies, &json!(device.about()))?;
    job.notes.iter().for_each(|note| progress.say(note));
    progress.say(&estimate(&all));
    let (failed, failures) = (None, Vec::new());
    let mut run =
        MeasuringRun { device, finishing, replies, failed, failures, fastest: f64::INFINITY };
    let (mut taken, mut done, tables) = (Vec::new(), 0, all.len());
    for drawn in all {
        let place = &drawn.file.place;
        let name = format!("{} of {} {}", drawn.file.table, place.backend, place.version);
        progress.begin(&format!("points, {name}"));
        let step = |more: usize| progress.step(done + more, job.total);
        let table = MeasuredTable::take(drawn, &mut run, &step)?;
        done += table.asked;
        taken.push(table);
        if taken.len() < tables {
            let report = job.report(&taken, run.device, &states);
            let samples = report.remeasured.iter().flat_map(|r| &r.samples);
            if let Some(sample) = samples.last().filter(|_| taken.len() <= job.judged) {
                progress.say(&format!("{name}, so far: {}", sample.line()));
            }
            each(&report)?;
        }
    }
    let is_whole = |table: &MeasuredTable| table.points.len() == table.asked;
    let any = taken[..job.judged].iter().any(is_whole);
    if let Some(why) = run.failed.take_if(|_| !any) {
        return Err(why);
    }
    states.extend(run.device.state().map(|s| ("after", s)));
    Ok(job.report(&taken, run.device, &states))
}

/// Judges the replies of a log again, against the current tables. Tables of the log that are not selected are control
/// tables.
///
/// # Errors
///
/// Returns an error if there is no database, or the log has no point of the selected tables.
pub fn judge_again(options: &RemeasureOptions, replay: &Replay) -> Result<Report> {
    let site = options.site()?;
    let mut job = Remeasurement::new(&site, options, Some(replay))?;
    let all = job.selected(replay)?.into_iter();
    let taken: Vec<MeasuredTable> =
        all.map(|drawn| MeasuredTable::replayed(drawn, replay)).collect();
    Ok(job.report(&taken, replay, &[]))
}

/// Returns one sentence for each ignored rule file. A rule file of the database is ignored if it states which programs
/// to call or how to measure; only the option `--rules` may supply such a file.
fn declined(settings: &Settings) -> impl Iterator<Item = String> {
    settings.declined.iter().map(|file| {
        format!(
            "{file} is not honoured: only the program and --rules state what is called and measured"
        )
    })
}

impl Remeasurement<'_> {
    /// Chooses which points to measure, in the selected tables and in the control tables.
    fn selected(&mut self, device: &dyn Device) -> Result<Vec<Drawn>> {
        let files = self.tables(device.about())?;
        let (mut drawn, unmeasured) = self.drawn(&files, device)?;
        let controls = self.drawn_controls(&drawn, &files, device)?;
        self.notes = self.power(&drawn);
        (self.judged, self.unmeasured) = (drawn.len(), unmeasured);
        drawn.extend(controls);
        self.total = drawn.iter().map(|d| d.points.len()).sum();
        Ok(drawn)
    }

    /// Returns the report on the tables measured so far.
    fn report(
        &self,
        taken: &[MeasuredTable],
        device: &dyn Device,
        states: &[(&'static str, CardState)],
    ) -> Report {
        let samples = self.judged(taken, device.about());
        let measured = |s: &Sample| s.points.iter().filter(|p| p.answer.is_ok()).count() as u64;
        let mut sink = Sink::default();
        sink.extend(samples.iter().filter_map(Sample::finding));
        let (findings, counts) = sink.finish();
        let mut notes = self.notes.clone();
        notes.extend(device.notes());
        let done: usize = taken.iter().map(|table| table.points.len()).sum();
        if done < self.total {
            notes
                .push(format!("{done} of {} points, those of control tables included", self.total));
        }
        notes.extend(declined(&self.site.settings));
        Report {
            command: "remeasure",
            overlays: self.site.settings.overlays.clone(),
            tables: samples.len() as u64,
            rows: samples.iter().map(measured).sum(),
            findings,
            counts,
            remeasured: Some(Remeasured {
                about: device.about().clone(),
                states: states.to_vec(),
                samples,
                unmeasured: self.unmeasured.clone(),
                notes,
            }),
            elapsed: self.start.elapsed(),
            ..Report::default()
        }
    }

    /// Chooses which points of the selected tables to measure. Also returns the paths of the tables without any point
    /// to measure.
    fn drawn(
        &self,
        files: &[&TableFile],
        device: &dyn Device,
    ) -> Result<(Vec<Drawn>, Vec<String>)> {
        let filter = self.options.filter()?;
        let options = self.options;
        let rules = DrawRules {
            count: options.sample as usize,
            seed: options.seed,
            power: options.power,
            dtypes: None,
        };
        let (mut drawn, mut unmeasured, mut larger) = (Vec::new(), Vec::new(), None);
        for file in files {
            let own = self.draw(file, filter.as_ref(), rules, device)?;
            if own.points.is_empty() {
                unmeasured.push(file.entry.path.clone());
                larger = larger.or(own.counts.larger);
            } else {
                drawn.push(own);
            }
        }
        if drawn.is_empty() {
            let methods = match &self.options.collectors {
                None => "recipes.yaml lists what --device cuda",
                Some(_) => "runners.yaml lists what the collectors",
            };
            let hint = format!("--where selects rows; rules/{methods} can measure");
            let notes = device.notes().into_iter().chain(declined(&self.site.settings));
            let hint = std::iter::once(hint).chain(notes).collect::<Vec<_>>().join("; ");
            let tables = plural(files.len(), "table");
            let why = larger.map(|why| format!(": {why}")).unwrap_or_default();
            let message = format!("the selection contains no measurable row of {tables}{why}");
            return Err(Error::new(message, hint));
        }
        Ok((drawn, unmeasured))
    }

    /// Chooses which points of the control tables to measure. Judged tables also serve as control tables for each
    /// other, so fewer control tables are needed if more tables are judged.
    fn drawn_controls(
        &self,
        drawn: &[Drawn],
        files: &[&TableFile],
        device: &dyn Device,
    ) -> Result<Vec<Drawn>> {
        let missing = (self.options.controls + 1).saturating_sub(drawn.len());
        if self.options.controls == 0 || missing == 0 {
            return Ok(Vec::new());
        }
        let points = drawn.iter().flat_map(|d| &d.points);
        let dtypes: BTreeSet<String> = points.flat_map(|(p, _)| p.dtypes()).collect();
        let rules = DrawRules {
            count: CONTROL_POINTS,
            seed: self.options.seed,
            power: false,
            dtypes: Some(&dtypes).filter(|_| self.replay.is_none()),
        };
        let files = self.controls(files, device.about())?.into_iter();
        // A control table that cannot be read is skipped, since other commands report it.
        let controls = files.filter_map(|file| self.draw(file, None, rules, device).ok());
        Ok(controls.filter(|control| control.is_judged).take(missing).collect())
    }

    /// Judges the measured tables, except control tables. For each judged table, all other measured tables show how
    /// much faster or slower this GPU is in general than the GPU of the recorded times.
    fn judged(&self, taken: &[MeasuredTable], about: &About) -> Vec<Sample> {
        let limits = &self.methods.recipes.judge;
        let middles: Vec<Option<Middle>> = taken.iter().map(|t| t.as_control(limits)).collect();
        let sample = |(index, table): (usize, &MeasuredTable)| {
            let others = middles.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<&Middle> = others.filter_map(|(_, middle)| middle.as_ref()).collect();
            let offset = Offset::of(&others, limits).filter(|_| self.options.controls > 0);
            let mut sample = table.judged(about, offset, limits);
            let fails = sample.verdict.outcome == Outcome::Fail;
            sample.origin = fails.then(|| self.origin(&sample)).flatten();
            sample
        };
        taken.iter().take(self.judged).enumerate().map(sample).collect()
    }
}
