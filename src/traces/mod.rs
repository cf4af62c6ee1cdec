//! End-to-end traces: workload cards, experiment configs, metric files computed from traces, and the
//! files of their ranks.
//!
//! ```text
//! files → find → tree, document (YAML) or reader (CSV, JSON) → frame → relation, names → findings
//! ```
//!
//! What is known of them is data, in `rules/traces/`: fields and columns, what must hold between
//! them, and what names say. A document is a frame of one row, a metric file one of many; formulas
//! are tried on both alike.

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

/// Which traces to judge, and by which rules.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The folder or repository.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// The commit whose settings apply; by default what is judged.
    pub settings_ref: Option<String>,
    /// Rules to run; all when empty.
    pub only: Vec<String>,
    /// Rules not to run.
    pub skip: Vec<String>,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// A baseline instead of the judged repository's own.
    pub baseline: Option<PathBuf>,
}

/// An error that names the flag which a run on traces has.
fn of_traces(error: Error) -> Error {
    let hint = if error.hint.starts_with("--root") {
        "--traces takes a folder with cards, configs or metric files".to_owned()
    } else {
        error.hint
    };
    Error::new(error.message, hint)
}

/// Judges the traces below a folder.
///
/// # Errors
///
/// When nothing can be judged: no such folder, an unknown rule. Whatever is wrong with the traces is
/// a finding in the report.
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
    // A checkout's folder may have any name; one that is no repository is a part of some.
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

/// What judging traces leaves.
#[derive(Debug)]
pub struct JudgedTraces {
    /// In no order.
    pub findings: Vec<Finding>,
    /// Paths of cards, configs and metric files, sorted.
    pub files: Vec<String>,
    /// Rows of metric files.
    pub rows: u64,
}

/// A card or config that was read.
struct Read<'a> {
    path: String,
    /// The name of its directory.
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

/// Judges the traces among files.
///
/// # Errors
///
/// When a formula of the rules fails. Whatever is wrong with the files is a finding.
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

/// The map of fields that a card or config holds.
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

/// The system that an accelerator's name stands for.
fn system<'a>(name: Option<&str>, specs: &'a TraceSpecs) -> Option<&'a System> {
    specs.system(name?).flatten()
}
