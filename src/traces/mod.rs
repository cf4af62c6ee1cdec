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
mod digits;
mod document;
mod field;
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

pub use find::Asked;
pub use news::{Changed, changed};
pub use spec::TraceSpecs;

use self::document::Document;
use self::find::{TraceFile, TraceKind, split, stem};
use self::findings::Findings;
use self::tree::YamlNode;
use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::base::reason::Reason;
use crate::checks::Check;
use crate::checks::kinds::traces::TraceCheck;
use crate::checks::rule::Rule;
use crate::checks::settings::Settings;
use crate::database::source::{self, Entry, Source};
use crate::findings::{Finding, Sink};
use crate::report::Report;
use crate::specs::system::System;

/// The traces to judge and the rules to apply.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The folder or repository with the traces.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// The commit whose settings apply; `None` for the settings of the judged files.
    pub settings_ref: Option<String>,
    /// Ids of the rules to run; all rules if empty.
    pub only: Vec<String>,
    /// Ids of rules to skip.
    pub skip: Vec<String>,
    /// A folder with rules that override the embedded ones.
    pub rules: Option<PathBuf>,
    /// A baseline to use instead of the judged repository's own.
    pub baseline: Option<PathBuf>,
}

/// Replaces a hint about `--root` by one about `--traces`, the flag of a run on traces.
fn of_traces(error: Error) -> Error {
    let hint = if error.hint.starts_with("--root") {
        "--traces takes a folder with cards, configs or metric files".to_owned()
    } else {
        error.hint
    };
    Error::new(error.message, hint)
}

/// Judges the traces in a folder and its subfolders.
///
/// # Errors
///
/// If nothing can be judged, for example because the folder does not exist or a rule is unknown.
/// Problems of the traces are findings in the report, not errors.
pub fn run(options: &Options) -> Result<Report> {
    let start = Instant::now();
    let source = source::open(&options.root, options.reference.as_deref()).map_err(of_traces)?;
    let judges = (options.root.as_path(), options.settings_ref.as_deref());
    let settings = Settings::of(
        source.as_ref(),
        judges,
        options.rules.as_deref(),
        options.baseline.as_deref(),
    )?;
    let runs = |c: &Check| c.needs().traces || c.needs().waivers;
    let rules = settings.rules.choose(&options.only, &options.skip, &runs)?;
    let files = source.files()?;
    // The folder of a checkout may have any name. A folder that is not a repository is named by its
    // author.
    let own = options.reference.is_none() && !options.root.join(".git").exists();
    let folder = options.root.canonicalize().ok().filter(|_| own);
    let folder = folder.as_ref().and_then(|f| f.file_name());
    let name = folder.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let judged = judge(
        source.as_ref(),
        &files,
        &TraceSpecs::read(&settings.specs)?,
        &rules,
        Asked(Some(&name)),
    )?;
    source.steady()?;
    let mut sink = Sink::default();
    sink.extend(judged.findings);
    let whole = options.only.is_empty() && options.skip.is_empty();
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
    /// The sorted paths of cards, configs, metric files and directories with such names.
    pub files: Vec<String>,
    /// The total number of rows of metric files.
    pub rows: u64,
}

/// A card or config that was read.
struct Read<'a> {
    path: String,
    /// The name of the file's directory.
    dir_name: String,
    doc: Document<'a>,
    template: bool,
}

impl Read<'_> {
    fn dir(&self) -> &str {
        split(&self.path).0
    }

    fn dir_name(&self) -> &str {
        &self.dir_name
    }

    fn stem(&self) -> &str {
        stem(split(&self.path).2)
    }

    fn number(&self, column: &str) -> Option<f64> {
        self.doc.frame.cell(column, 0).number()
    }

    fn text(&self, column: &str) -> Option<&str> {
        self.doc.frame.cell(column, 0).text()
    }
}

/// Judges the trace files among `files`.
///
/// # Errors
///
/// If a formula of the rules fails. Problems of the files are findings, not errors.
pub fn judge(
    source: &dyn Source,
    files: &[Entry],
    specs: &TraceSpecs,
    rules: &[Arc<Rule>],
    asked: Asked<'_>,
) -> Result<JudgedTraces> {
    let work = || judge_files(source, files, specs, rules, asked);
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(judged)) => Ok(judged),
        Ok(Err(e)) => {
            let hint =
                "the formula is in rules/traces; CONTRIBUTING.md lists what formulas can read";
            Err(Error::new(format!("cannot check the traces: {e}"), hint))
        }
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
    asked: Asked<'_>,
) -> Result<JudgedTraces, ExprError> {
    let traces = specs;
    let mut findings = Findings::new(rules);
    let directories = find::directories(files, traces);
    let found =
        files.iter().filter(|e| find::could_be(e, traces) && !directories.contains(&e.path));
    let found: Vec<TraceFile<'_>> =
        found.filter_map(|e| find::classify(source, e, traces, asked)).collect();
    let mut paths: Vec<String> = found.iter().map(|f| f.entry.path.clone()).collect();
    for path in directories {
        findings.say(
            TraceCheck::Unreadable,
            None,
            &path,
            "this is a directory, but a file of this name is expected".into(),
        );
        paths.push(path);
    }
    let mut cards = Vec::new();
    let mut configs = Vec::new();
    for file in &found {
        let (spec, into, of) = match file.kind {
            TraceKind::Card => (&traces.card, &mut cards, &findings::CARD),
            TraceKind::Config => (&traces.config, &mut configs, &findings::CONFIG),
            TraceKind::Metrics(_) => continue,
        };
        let path = &file.entry.path;
        match fields(file) {
            Err(why) => findings.say(TraceCheck::Unreadable, None, path, why.into()),
            Ok(root) => {
                let mut doc = document::read(spec, &root, file.template);
                let name = doc.frame.cell("accelerator", 0).text().map(str::to_owned);
                doc.frame.systems = vec![system(name.as_deref(), specs)];
                doc.frame.derive(&spec.derive, &spec.thresholds)?;
                let dir_name = asked.dir_name(split(path).1).to_owned();
                let template = file.template;
                let read = Read { path: path.clone(), dir_name, doc, template };
                findings.document(&read, spec, of)?;
                into.push(read);
            }
        }
    }
    for card in &cards {
        findings.accelerator(card, specs);
    }
    config::check(&configs, &cards, traces, &mut findings);
    jobs::check(source, files, &configs, &mut findings);
    let rows = metrics::check(&found, &cards, specs, &mut findings)?;
    ranks::check(files, &found, &cards, &configs, traces, &mut findings);
    paths.sort_unstable();
    paths.dedup();
    Ok(JudgedTraces { findings: findings.all, files: paths, rows })
}

/// Parses a card or config into a map of fields.
fn fields(file: &TraceFile<'_>) -> Result<YamlNode, Reason> {
    let text = file.text.as_ref().map_err(Clone::clone)?;
    if text.trim().is_empty() {
        return Err("the file is empty".into());
    }
    let root = YamlNode::parse(text)?;
    if root.members().next().is_none() {
        return Err("the file is not a map of fields".into());
    }
    Ok(root)
}

/// Returns the system that an accelerator's name refers to; `None` without a name or a known
/// system.
fn system<'a>(name: Option<&str>, specs: &'a TraceSpecs) -> Option<&'a System> {
    specs.system(name?).flatten()
}
