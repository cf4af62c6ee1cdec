//! End-to-end traces: workload cards, experiment configs, metric files computed from traces, and
//! the files of their ranks.
//!
//! ```text
//! files → find → tree, document (YAML) or reader (CSV, JSON) → frame → relation, names → findings
//! ```
//!
//! The specs in `rules/traces/` describe the fields and columns, the relations between them, and
//! the labels in names. A document is a frame of one row, a metric file a frame of many; the same
//! formulas run on both.

mod cells;
mod charts;
mod config;
mod document;
mod document_reader;
mod find;
mod findings;
mod frame;
mod jobs;
mod metric_rows;
mod metrics;
mod moves;
mod names;
mod news;
mod ranks;
mod reader;
mod relation;
mod spec;
mod tree;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

pub use self::document::TraceDocument;
pub use self::find::{TraceFile, TraceKind, split};
pub use self::findings::Findings;
pub use self::frame::{Frame, TraceCell};
pub use self::spec::{MetricSpec, TraceFieldType};
pub use self::tree::brief;
pub use find::TraceRequest;
pub use news::{Changed, changed};
pub use spec::TraceSpecs;

use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::checks::kinds::traces::TraceCheck;
use crate::checks::rule::Rule;
use crate::checks::settings::{RuleSelection, Settings};
use crate::checks::{Check, Input};
use crate::database::source::{self, Entry, Source};
use crate::findings::{Finding, Sink};
use crate::report::Report;

/// The traces to judge and the rules to apply.
#[derive(Debug, Default, Clone)]
pub struct TraceOptions {
    /// The folder or repository with the traces.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// The commit whose settings apply; `None` for the settings of the judged files.
    pub settings_ref: Option<String>,
    /// The rules to run, and the rule files to read.
    pub rules: RuleSelection,
    /// The baseline file to use; `None` for the judged repository's own baseline.
    pub baseline: Option<PathBuf>,
}

/// Replaces an error's hint about the option `--root` by one about `--traces`, because a run on traces does not have
/// the option `--root`.
fn of_traces(error: Error) -> Error {
    if error.hint.starts_with("--root") {
        Error::new(error.message, "--traces takes a folder with cards, configs or metric files")
    } else {
        error
    }
}

/// Judges the traces in a folder and its subfolders.
///
/// # Errors
///
/// If nothing can be judged, for example because the folder does not exist or a rule is unknown.
/// Problems of the traces are findings in the report, not errors.
pub fn run(options: &TraceOptions) -> Result<Report> {
    let start = Instant::now();
    let source = source::open(&options.root, options.reference.as_deref()).map_err(of_traces)?;
    let source = source.as_ref();
    let judges = (options.root.as_path(), options.settings_ref.as_deref());
    let (overlay, baseline) = (options.rules.folder.as_deref(), options.baseline.as_deref());
    let mut settings = Settings::of(source, judges, overlay, baseline)?;
    settings.min_confidence = options.rules.min_confidence;
    let runs = |c: &Check| c.needs().has(Input::Traces) || c.needs().has(Input::Waivers);
    let rules = settings.rules.choose(&options.rules.only, &options.rules.skip, &runs)?;
    let files = source.files()?;
    // The folder of a checkout may have any name. A folder that is not a repository is named by its
    // author.
    let own = options.reference.is_none() && !options.root.join(".git").exists();
    let folder = options.root.canonicalize().ok().filter(|_| own);
    let folder = folder.as_ref().and_then(|f| f.file_name());
    let name = folder.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let specs = TraceSpecs::read(&settings.specs)?;
    let judged = judge(source, &files, &specs, &rules, TraceRequest(Some(&name)))?;
    source.check_unchanged()?;
    let mut sink = Sink::default();
    sink.extend(judged.findings);
    let whole = options.rules.only.is_empty() && options.rules.skip.is_empty();
    settings.conclude(&mut sink, &rules, whole)?;
    let (findings, counts) = sink.finish();
    Ok(Report {
        command: "validate",
        rules,
        overlays: settings.overlays,
        files: judged.files.len() as u64,
        rows: judged.rows,
        findings,
        counts,
        elapsed: start.elapsed(),
        ..Report::default()
    })
}

/// The result of judging traces.
#[derive(Debug)]
pub struct JudgedTraces {
    /// The findings in no particular order.
    pub findings: Vec<Finding>,
    /// The sorted paths of cards, configs and metric files, and of directories that are named like such a file.
    pub files: Vec<String>,
    /// The total number of rows in the metric files.
    pub rows: u64,
}

/// Judges the cards, configs and metric files among `files`.
///
/// # Errors
///
/// If a formula of the rules fails. Problems of the files are findings, not errors.
pub fn judge(
    source: &dyn Source,
    files: &[Entry],
    specs: &TraceSpecs,
    rules: &[Arc<Rule>],
    asked: TraceRequest<'_>,
) -> Result<JudgedTraces> {
    let work = || judge_files(source, files, specs, rules, asked);
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(judged) => judged.map_err(|e| {
            let hint =
                "the formula is in rules/traces; CONTRIBUTING.md lists what formulas can read";
            Error::new(format!("cannot check the traces: {e}"), hint)
        }),
        Err(_) => {
            let hint = "please report this bug and attach the checked files";
            Err(Error::new("perfdb-gate failed while checking traces", hint))
        }
    }
}

fn judge_files(
    source: &dyn Source,
    files: &[Entry],
    specs: &TraceSpecs,
    rules: &[Arc<Rule>],
    asked: TraceRequest<'_>,
) -> Result<JudgedTraces, ExprError> {
    let mut findings = Findings::new(rules);
    let directories = find::directories(files, specs);
    let found = files.iter().filter(|e| find::could_be(e, specs) && !directories.contains(&e.path));
    let found = found.filter_map(|entry| find::classify(source, entry, specs, asked));
    let found: Vec<TraceFile<'_>> = found.collect();
    for path in &directories {
        let message = "this is a directory, but a file of this name is expected";
        findings.add_only(TraceCheck::Unreadable, path, message.into());
    }
    let mut cards = Vec::new();
    let mut configs = Vec::new();
    for file in &found {
        let (spec, into, of) = match file.kind {
            TraceKind::Card => (&specs.card, &mut cards, &findings::CARD),
            TraceKind::Config => (&specs.config, &mut configs, &findings::CONFIG),
            TraceKind::Metrics(_) => continue,
        };
        let path = &file.entry.path;
        let root = match document::parse(file) {
            Ok(root) => root,
            Err(why) => {
                findings.add_only(TraceCheck::Unreadable, path, why.into());
                continue;
            }
        };
        let dir_name = asked.dir_name(split(path).1);
        let mut document = document_reader::read(file, dir_name, spec, &root);
        let system = document.text("accelerator").and_then(|name| specs.system(name));
        document.frame.systems = vec![system];
        document.frame.derive(&spec.derive, &spec.thresholds)?;
        findings.document(&document, spec, of)?;
        into.push(document);
    }
    for card in &cards {
        findings.accelerator(card, specs);
    }
    config::check(&configs, &cards, specs, &mut findings);
    jobs::check(source, files, &configs, &mut findings);
    let rows = metrics::check(&found, &cards, specs, &mut findings)?;
    ranks::check(files, &found, &cards, &configs, specs, &mut findings);
    let mut paths: Vec<String> = found.into_iter().map(|file| file.entry.path).collect();
    paths.extend(directories);
    paths.sort_unstable();
    paths.dedup();
    Ok(JudgedTraces { findings: findings.all, files: paths, rows })
}
