//! The first job: is this data right?

mod finding_rows;
mod job;
mod surroundings;
mod table;

use std::path::PathBuf;
use std::time::Instant;

use tracing::debug;

pub(crate) use self::job::{Job, Judgement};
pub(crate) use self::surroundings::Sidecars;
use crate::base::error::{Error, Result};
use crate::base::progress::Progress;
use crate::base::threads;
use crate::checks::compare::sketch::Sketches;
use crate::checks::settings::Settings;
use crate::database::catalog::Catalog;
use crate::database::ledger::Ledger;
use crate::database::selection::Selection;
use crate::database::source::{self, Commit, Source};
use crate::findings::{Finding, Sink};
use crate::report::Report;
use crate::report::health::JudgedPlaces;

/// What to judge, and by which rules.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The folder or repository.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// Which part of the database.
    pub selection: Selection,
    /// Only what changed since the merge base with this commit.
    pub since: Option<String>,
    /// Rules to run; all when empty.
    pub only: Vec<String>,
    /// Rules not to run.
    pub skip: Vec<String>,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// A baseline instead of the judged repository's own.
    pub baseline: Option<PathBuf>,
    /// A collector's log directory, whose classified failures explain what is missing.
    pub ledger: Option<PathBuf>,
    /// A folder for all rows of each finding, as CSV.
    pub rows_dir: Option<PathBuf>,
    /// Threads; 0 for as many as the machine has cores.
    pub threads: usize,
}

/// Judges a perf database.
///
/// # Errors
///
/// When nothing can be judged: no database, an unknown name, an unreadable repository. Whatever is
/// wrong with the data is a finding in the report.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Report> {
    let write_rows = |looked: &Looked<'_>| match &options.rows_dir {
        Some(folder) => finding_rows::write(looked, folder),
        None => Ok(()),
    };
    judged(options, progress, write_rows).map(|(report, ())| report)
}

/// What a report was made from.
pub(crate) struct Looked<'a> {
    /// The database, and what of it was judged.
    pub job: &'a Job<'a>,
    /// Of the tables judged and of those they were compared with.
    pub sketches: &'a Sketches,
    /// What was found, in the report's order.
    pub findings: &'a [Finding],
}

/// Judges a perf database, and lets `look` see what the report was made from.
///
/// # Errors
///
/// Those of [`run`] and of `look`.
pub(crate) fn judged<R>(
    options: &Options,
    progress: &dyn Progress,
    look: impl FnOnce(&Looked<'_>) -> Result<R>,
) -> Result<(Report, R)> {
    let start = Instant::now();
    let source = source::open(&options.root, options.reference.as_deref())?;
    // What a branch brings must not change how it is judged, and what the other has withdrawn since
    // it was cut no longer holds.
    let tip =
        options.since.as_deref().map(|since| Commit::open(&options.root, since)).transpose()?;
    let judges: &dyn Source = tip.as_ref().map_or(source.as_ref(), |tip| tip);
    let settings = Settings::read(judges, options.rules.as_deref(), options.baseline.as_deref())?;
    let specs = &settings.specs;
    let catalog = Catalog::read(source.as_ref(), specs)?;
    debug!(
        systems = catalog.systems.len(),
        tables = catalog.tables.len(),
        overlays = settings.overlays.len(),
        root = ?options.root,
        "listed"
    );
    let changed = options.since.as_deref().map(|since| source.changed_since(since)).transpose()?;
    let ledger = options.ledger.as_deref().map(Ledger::read).transpose()?;
    let selected = options.selection.resolve(&catalog, changed)?;
    // A log does not say on which machine it was written.
    let machines = catalog.systems.keys().filter(|s| selected.system(s)).count();
    if ledger.is_some() && machines > 1 {
        return Err(Error::new(
            format!("--ledger holds for one system, and {machines} are judged"),
            "name the system of the log with --system",
        ));
    }
    let job = Job {
        source: source.as_ref(),
        selected,
        rules: settings
            .rules
            .choose(&options.only, &options.skip, &|c| !c.needs().traces && !c.needs().changes)?,
        catalog: &catalog,
        all_rules: &settings.rules,
        specs,
        threads: threads::threads(options.threads),
        ledger: ledger.as_ref(),
        pr: None,
        decoded: None,
    };
    let tables = job.judged_tables();
    let judgement = job.run(&tables, &tables, Sketches::default(), progress)?;
    source.steady()?;
    let mut sink = Sink::default();
    sink.extend(judgement.findings);
    // A run over a part of the database, or by some rules, cannot tell what a waiver is for.
    let whole = options.since.is_none() && options.only.is_empty() && options.skip.is_empty();
    settings.conclude(&mut sink, &job.rules, whole && options.selection.is_all())?;
    let (findings, counts) = sink.finish();
    let seen = Looked { job: &job, sketches: &judgement.sketches, findings: &findings };
    let seen = look(&seen)?;
    // All rules on no table at all is no judgement, though a system's YAML was read.
    let asked = options.since.is_none() && options.only.is_empty();
    let files = if tables.is_empty() && asked { 0 } else { judgement.files };
    let mut places = JudgedPlaces::default();
    for file in tables.iter().map(|i| &catalog.tables[*i]) {
        places.add(&file.place, &file.table);
    }
    let report = Report {
        command: "validate",
        rules: job.rules,
        overlays: settings.overlays.clone(),
        tables: tables.len() as u64,
        files,
        rows: judgement.rows,
        judged: places,
        findings,
        counts,
        diff: None,
        states: Default::default(),
        repaired: Vec::new(),
        predictions: None,
        remeasured: None,
        elapsed: start.elapsed(),
        drawn: None,
    };
    Ok((report, seen))
}
