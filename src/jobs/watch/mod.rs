//! Watches a running collection and reports progress, rate and problems of the rows so far.
//!
//! The staging folder is read at an interval. When the run ends, its tables are copied into a
//! temporary database, which `validate` judges.

mod stage;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use self::stage::{Stage, StagedTable};
use crate::base::error::{Error, Result};
use crate::base::interrupt::{Leftover, RemovedOnSignal};
use crate::base::words::{count, plural};
use crate::checks::Check;
use crate::checks::rule::Rules;
use crate::database::catalog::Format;
use crate::gpu::rerun::RerunList;
use crate::jobs::validate::{self, ValidateOptions};
use crate::report::Report;
use crate::specs::Specs;

/// The options of `validate --watch`.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The staging folder.
    pub folder: PathBuf,
    /// The interval at which the folder is read.
    pub every: Duration,
    /// The time without a change after which the run counts as ended.
    pub idle: Duration,
    /// The rerun list that is being measured.
    pub list: Option<PathBuf>,
    /// The options to judge the result with; the root is ignored.
    pub judged: ValidateOptions,
}

/// Watches a run until it ends, then judges its tables; `print` gets a line per interval.
///
/// # Errors
///
/// Returns an error if the folder cannot be listed, if the list is malformed, or if nothing was
/// collected.
pub fn run(options: &WatchOptions, print: &mut dyn FnMut(&str) -> Result<()>) -> Result<Report> {
    let specs = Specs::overlaid(options.judged.rules.as_deref())?;
    let list = options.list.as_deref().map(RerunList::read).transpose()?;
    let rules = Rules::read(&specs.library)?;
    let start = Instant::now();
    let mut first: Option<usize> = None;
    loop {
        let stage = Stage::read(&options.folder, &specs)?;
        let rows = stage.rows();
        let begun = *first.get_or_insert(rows);
        let progress = WatchProgress {
            measured: list.as_ref().map(|list| stage.measured(list, &specs)).transpose()?,
            rows,
            since: rows.saturating_sub(begun),
            elapsed: start.elapsed(),
        };
        let spikes = spikes(&stage, &specs, &rules, options)?;
        let ending = ending(&stage, progress.measured, options.idle);
        print(&line(&stage, &progress, spikes.as_deref(), ending))?;
        if ending.is_some() {
            return judge(&stage, &specs, &rules, options);
        }
        std::thread::sleep(options.every);
    }
}

/// The progress of a run.
struct WatchProgress {
    /// Number of measured points of the list, and number of all its points.
    measured: Option<(usize, usize)>,
    rows: usize,
    /// Number of rows since the watch began.
    since: usize,
    elapsed: Duration,
}

impl WatchProgress {
    /// Returns the rows per second; `None` before the first new row.
    fn rate(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (self.since > 0 && seconds > 0.0).then(|| self.since as f64 / seconds)
    }

    /// Returns the remaining seconds, from the list and the rate.
    fn left(&self) -> Option<f64> {
        let (measured, planned) = self.measured?;
        Some(planned.saturating_sub(measured) as f64 / self.rate()?)
    }
}

/// Returns the reason why the run has ended, in words; `None` if it goes on.
fn ending(stage: &Stage, measured: Option<(usize, usize)>, idle: Duration) -> Option<&'static str> {
    let quiet = |changed: SystemTime| changed.elapsed().is_ok_and(|since| since >= idle);
    if measured.is_some_and(|(measured, planned)| measured == planned) {
        Some("every point of the list is measured")
    } else if stage.summed_up {
        Some("the collector has written its summary")
    } else {
        stage.changed.is_some_and(quiet).then_some("the files no longer change")
    }
}

/// Renders the line of an interval.
fn line(
    stage: &Stage,
    progress: &WatchProgress,
    spikes: Option<&str>,
    ending: Option<&str>,
) -> String {
    let mut parts = vec![match progress.measured {
        Some((measured, planned)) => {
            format!("{} of {} planned points", count(measured), count(planned))
        }
        None => plural(progress.rows, "row"),
    }];
    let tables = stage.tables.iter().map(|t| format!("{} {}", t.file.table, count(t.rows)));
    parts.push(tables.collect::<Vec<_>>().join(", "));
    parts.push(match progress.rate() {
        Some(rate) => format!("{rate:.1} rows/s"),
        None => "no rate yet".to_owned(),
    });
    parts.extend(progress.left().map(|s| format!("{} left", time(s))));
    parts.extend(spikes.map(str::to_owned));
    let clocks = stage.tables.iter().filter_map(|t| t.clocks);
    let ends = clocks.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    parts.extend(ends.map(|(low, high)| format!("clocks {low:.0} to {high:.0} MHz")));
    let faults = stage.tables.iter().filter_map(|t| Some((t, t.fault.as_ref()?)));
    parts.extend(faults.map(|(t, fault)| format!("{}: {fault}", t.file.table)));
    parts.extend(ending.map(str::to_owned));
    parts.retain(|part| !part.is_empty());
    parts.join("; ") + "\n"
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Describes the first spikes among the rows so far.
fn spikes(
    stage: &Stage,
    specs: &Specs,
    rules: &Rules,
    options: &WatchOptions,
) -> Result<Option<String>> {
    let spiky = rules.all().filter(|r| matches!(r.check, Check::Spike(_)));
    let only: Vec<String> = spiky.map(|r| r.id.clone()).collect();
    if stage.tables.iter().all(|t| t.rows == 0 || t.is_log()) || only.is_empty() {
        return Ok(None);
    }
    let judged = ValidateOptions { only, skip: Vec::new(), ..options.judged.clone() };
    let report = as_database(stage, specs, &judged)?;
    let said = report.findings.iter().filter(|f| f.counts()).map(|f| {
        let table = f.table.as_deref().unwrap_or_default();
        format!("{table}: {}", f.message)
    });
    let said: Vec<String> = said.take(3).collect();
    Ok((!said.is_empty()).then(|| said.join(", ")))
}

/// Judges the collected tables by the wanted rules, except rules that need a whole database. Sidecars
/// are written at the end of a collection, so that missing sidecars are reported only if there is
/// one.
fn judge(stage: &Stage, specs: &Specs, rules: &Rules, options: &WatchOptions) -> Result<Report> {
    if stage.rows() == 0 {
        return Err(Error::new(
            format!("nothing was collected in {}", options.folder.display()),
            "--watch takes a collection's staging folder",
        ));
    }
    let is_unfit = |check: &Check| {
        stage.sidecars.is_empty() && matches!(check, Check::SidecarMissing)
            || matches!(check, Check::SupportMatrix(_) | Check::Parity(_) | Check::Coverage(_))
    };
    let mut judged = options.judged.clone();
    if judged.only.is_empty() {
        judged.skip.extend(rules.all().filter(|r| is_unfit(&r.check)).map(|r| r.id.clone()));
    }
    as_database(stage, specs, &judged)
}

/// Copies the tables of a stage into a temporary database and judges it.
fn as_database(stage: &Stage, specs: &Specs, judged: &ValidateOptions) -> Result<Report> {
    let failed = |e: std::io::Error| {
        Error::caused(
            "cannot copy the collected tables to a temporary folder",
            "check the free space for temporary files",
            e,
        )
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let _removed = RemovedOnSignal::new(Leftover::Folder(folder.path().to_owned()));
    for table in stage.tables.iter().filter(|t| t.rows > 0 && !t.is_log()) {
        lay_out(folder.path(), table, stage, specs).map_err(failed)?;
    }
    let options = ValidateOptions {
        root: folder.path().to_owned(),
        reference: None,
        since: None,
        ..judged.clone()
    };
    validate::run(&options, &())
}

/// Copies a table and its sidecar to its place below `root`, with the YAML of its system. Parts of the
/// place that are not plain names are replaced.
fn lay_out(root: &Path, table: &StagedTable, stage: &Stage, specs: &Specs) -> std::io::Result<()> {
    let place = &table.file.place;
    let name = |part: &str, other: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let is_name = !part.is_empty() && part.chars().all(plain) && !part.starts_with('.');
        if is_name { part.to_owned() } else { other.to_owned() }
    };
    let system = name(&place.system, "unknown_system");
    let family = name(place.family.as_deref().unwrap_or_default(), "unknown");
    let folder = root
        .join("data")
        .join(&system)
        .join(family)
        .join(name(&place.backend, "unknown"))
        .join(name(&place.version, "0"));
    std::fs::create_dir_all(&folder)?;
    std::fs::create_dir_all(root.join("systems"))?;
    let yaml = specs.library.folder("systems").filter(|f| f.stem() == system).last();
    if let Some(yaml) = yaml {
        std::fs::write(root.join("systems").join(format!("{system}.yaml")), yaml.text.as_bytes())?;
    }
    let from = Path::new(&table.file.entry.path);
    let ending = if table.file.format == Format::Parquet { "parquet" } else { "txt" };
    std::fs::copy(from, folder.join(format!("{}.{ending}", table.file.table)))?;
    let beside = from.with_file_name("collection_meta.yaml");
    if stage.sidecars.contains(&beside) {
        std::fs::copy(beside, folder.join("collection_meta.yaml"))?;
    }
    Ok(())
}
