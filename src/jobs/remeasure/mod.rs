//! Measures points of tables again and judges whether the GPU confirms the tables.

mod chart;
mod draw;

use std::collections::BTreeSet;
use std::time::Instant;

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
use crate::gpu::device::{About, Device};
use crate::gpu::draw::{DrawRules, Drawn};
use crate::gpu::judge::{Middle, Offset, Outcome};
use crate::gpu::measuring::Taken;
use crate::gpu::outcome::{Remeasured, Sample};
use crate::gpu::points::Methods;
use crate::gpu::record::{Log, Origin};
use crate::gpu::rerun::RerunList;
use crate::jobs::rows::known_spec;
use crate::jobs::site::Site;
use crate::report::Report;

/// Number of points of a control table.
const CONTROL_POINTS: usize = 20;

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
        methods: Methods::read(&site.specs().library, options.collectors.is_some())?,
        options,
        list: options.points.as_deref().map(RerunList::read).transpose()?,
    };
    let files = job.tables(device.about())?;
    let (drawn, unmeasured) = job.drawn(&files, device)?;
    let controls = job.drawn_controls(&drawn, &files, device)?;
    let mut notes = job.power(&drawn);
    notes.iter().for_each(|note| progress.say(note));
    let _finishing = Finishing::on_request();
    let total = drawn.iter().chain(&controls).map(|d| d.points.len()).sum();
    let mut states = Vec::new();
    states.extend(device.state().map(|s| ("before", s)));
    let mut log = job.log(&drawn, device.about())?;
    let (judged, mut taken, mut done) = (drawn.len(), Vec::new(), 0);
    for drawn in drawn.into_iter().chain(controls) {
        let step = |more: usize| progress.step(done + more, total);
        let table = Taken::take(drawn, device, log.as_mut().filter(|_| taken.is_empty()), &step)?;
        done += table.points.len();
        taken.push(table);
    }
    states.extend(device.state().map(|s| ("after", s)));
    let samples = job.judged(taken, judged, device.about());
    if let (Some(log), Some(sample)) = (&log, samples.first()) {
        job.finish(log, sample)?;
    }
    notes.extend(device.notes().into_iter().chain(declined(&site.settings)));
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
            notes,
        }),
        elapsed: start.elapsed(),
        ..Report::default()
    })
}

/// Sentences about files of the judged tree that are not honoured.
fn declined(settings: &Settings) -> impl Iterator<Item = String> {
    settings.declined.iter().map(|file| {
        format!(
            "{file} is not honoured: only the program and --rules state what is called and measured"
        )
    })
}

impl Remeasurement<'_> {
    /// Draws points of the selected tables. Also returns the paths of tables without a point.
    fn drawn(
        &self,
        files: &[&TableFile],
        device: &dyn Device,
    ) -> Result<(Vec<Drawn>, Vec<String>)> {
        let filter = self.filter()?;
        let options = self.options;
        let rules = DrawRules {
            count: options.sample,
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
            let notes = declined(&self.site.settings);
            let hint = std::iter::once(hint).chain(notes).collect::<Vec<_>>().join("; ");
            let tables = plural(files.len(), "table");
            let why = larger.map(|why| format!(": {why}")).unwrap_or_default();
            let message = format!("the selection contains no measurable row of {tables}{why}");
            return Err(Error::new(message, hint));
        }
        Ok((drawn, unmeasured))
    }

    /// Draws points of tables that are not judged, unless enough tables are.
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
            dtypes: Some(&dtypes),
        };
        let mut controls = Vec::new();
        for file in self.controls(files, device.about())? {
            if controls.len() == missing {
                break;
            }
            // A control table that cannot be read is another run's finding.
            let points = self.draw(file, None, rules, device).ok();
            controls.extend(points.filter(|d| d.is_judged));
        }
        Ok(controls)
    }

    /// Judges the first tables, each relative to the card's offset by all others.
    fn judged(&self, mut taken: Vec<Taken>, judged: usize, about: &About) -> Vec<Sample> {
        let limits = &self.methods.recipes.judge;
        let measured: usize = taken.iter().map(|table| table.points.len()).sum();
        let asked: usize = taken.iter().map(|table| table.asked).sum();
        if measured < asked {
            taken.iter_mut().for_each(|table| table.run_was_stopped(measured, asked));
        }
        let middles: Vec<Option<Middle>> = taken.iter().map(|t| t.as_control(limits)).collect();
        let sample = |(index, table): (usize, Taken)| {
            let others = middles.iter().enumerate().filter(|(other, _)| *other != index);
            let others: Vec<&Middle> = others.filter_map(|(_, middle)| middle.as_ref()).collect();
            let offset = Offset::of(&others, limits).filter(|_| self.options.controls > 0);
            let mut sample = table.judged(about, offset, limits);
            let fails = sample.verdict.outcome == Outcome::Fail;
            sample.origin = fails.then(|| self.origin(&sample)).flatten();
            sample
        };
        taken.into_iter().take(judged).enumerate().map(sample).collect()
    }

    /// Opens the log of `--record` before anything is measured.
    fn log(&self, drawn: &[Drawn], about: &About) -> Result<Option<Log>> {
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
        Log::open(path.parent().unwrap_or(path), path, about).map(Some)
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
                sample.draw.seed,
                sample.verdict.outcome.name()
            ),
            cases: None,
            complete: false,
        };
        log.finish(spec, &origin).map(drop)
    }
}
