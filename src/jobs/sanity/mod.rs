//! The second job: what does a pull request change, and is that right?

mod news;
pub mod overview;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tracing::debug;

use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::base::progress::Progress;
use crate::base::threads;
use crate::checks::ChangeContext;
use crate::checks::rule::Rule;
use crate::checks::settings::Settings;
use crate::database::catalog::{Catalog, Role, no_database};
use crate::database::decoded::Decoded;
use crate::database::diff::{Comparison, Details, Diff, State};
use crate::database::source::{self, Commit};
use crate::findings::{ComparedStates, Sink};
use crate::jobs::impact;
use crate::jobs::impact::predictions::PredictedChange;
use crate::report::Report;
use crate::report::chart::{Figure, Gallery};
use crate::report::health::JudgedPlaces;
use crate::specs::Specs;
use crate::traces::{self, TraceSpecs};
use news::News;

/// What to compare.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch that is merged into: the comparison starts where the head's history left it, and
    /// rules, waivers and the baseline are those that it has now.
    pub base: String,
    /// The commit to compare; the files on disk without one.
    pub head: Option<String>,
    /// Rules to run; all when empty.
    pub only: Vec<String>,
    /// Rules not to run.
    pub skip: Vec<String>,
    /// A folder that overlays the rules of the base.
    pub rules: Option<PathBuf>,
    /// A folder for the rows that changed, as CSV.
    pub detail_dir: Option<PathBuf>,
    /// Charts wanted, at most.
    pub charts: usize,
    /// Threads; 0 for as many as the machine has cores.
    pub threads: usize,
}

/// Why a rule could not judge.
fn unjudged(rule: &Rule, why: ExprError) -> Error {
    let hint = "the formula is in rules/tables; `perfdb-gate rules` lists the rules";
    Error::caused(format!("cannot judge by {}", rule.id), hint, why)
}

/// Bytes of decoded tables that are kept of each side, from the comparison until charts are chosen.
const KEPT: usize = 8 << 20;

/// What the change does to predictions, where a rule asks for it.
fn predictions(
    base: State<'_>,
    head: State<'_>,
    diff: &Diff,
    rules: &[Arc<Rule>],
    specs: &Specs,
    threads: usize,
) -> Option<Result<PredictedChange>> {
    let asked = rules.iter().any(|rule| rule.check.needs().predictions);
    asked.then(|| PredictedChange::of(base, head, diff, specs, threads))
}

/// Compares a head with its merge base, judges what changed and picks charts of it.
///
/// # Errors
///
/// When nothing can be compared: no repository, a missing commit, no database on either side, or
/// details that cannot be written. Tables that cannot be read are part of the report.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<(Report, Vec<Figure>)> {
    let start = Instant::now();
    let head = source::open(&options.root, options.head.as_deref())?;
    let base = head.base(&options.base)?;
    // What a pull request brings must not change how it is judged, and what the base has withdrawn
    // since it was cut no longer holds.
    let tip = Commit::open_base(&options.root, &options.base)?;
    let settings = Settings::read(&tip, options.rules.as_deref(), None)?;
    let rules = settings.rules.choose(&options.only, &options.skip, &|_| true)?;
    let specs = &settings.specs;
    let (before, after) = (Catalog::walk(&base, specs)?, Catalog::walk(head.as_ref(), specs)?);
    let threads = threads::threads(options.threads);
    let (base, head) = (
        State { source: &base, catalog: &before, decoded: &Decoded::new(KEPT) },
        State { source: head.as_ref(), catalog: &after, decoded: &Decoded::new(KEPT) },
    );
    let traces = traces::changed(base, head, &TraceSpecs::read(specs)?, &rules, options.charts)?;
    if before.systems.is_empty() && after.systems.is_empty() && traces.files.is_empty() {
        return Err(no_database());
    }
    let states = ComparedStates {
        base: base.source.commit().unwrap_or_else(|| options.base.clone()),
        head: head.source.commit(),
    };
    let details = options.detail_dir.as_deref().map(Details::new).transpose()?;
    let comparison = Comparison { base, head, specs, details: details.as_ref() };
    let mut diff = comparison.run(threads, progress)?;
    debug!(tables = diff.tables.len(), files = diff.files.len(), took = ?start.elapsed(), "compared");
    let news =
        News { base, head, diff: &diff, rules: &rules, all_rules: &settings.rules, specs, threads };
    let mut sink = Sink::default();
    let judged = news.judge(progress)?;
    sink.extend(judged.findings);
    let change = ChangeContext { base, head, diff: &diff, specs, threads };
    for rule in &rules {
        let found = rule.check.judge().change(rule, &change);
        sink.extend(found.map_err(|e| unjudged(rule, e))?);
    }
    let predicted = predictions(base, head, &diff, &rules, specs, threads);
    if let Some(Ok(predicted)) = &predicted {
        sink.extend(predicted.findings(&rules, head));
        sink.each(|finding| predicted.weigh(finding));
    }
    debug!(took = ?start.elapsed(), "predicted");
    sink.extend(traces.findings);
    let mut repaired = judged.repaired;
    repaired.extend(traces.repaired);
    repaired.sort_by(|a, b| a.finding.order().cmp(&b.finding.order()));
    settings.waive(&mut sink)?;
    if let Some(baseline) = &settings.baseline {
        sink.compare(baseline);
    }
    let (findings, counts) = sink.finish();
    debug!(findings = findings.len(), took = ?start.elapsed(), "judged");
    let gallery = Gallery { base, head, diff: &diff, findings: &findings, specs, threads };
    let mut figures = gallery.charts(options.charts)?.figures;
    debug!(charts = figures.len(), took = ?start.elapsed(), "chose charts");
    figures.extend(traces.figures);
    figures.truncate(options.charts);
    diff.files.extend(traces.files);
    diff.files.sort_by(|a, b| a.path.cmp(&b.path));
    head.source.steady()?;
    if let Some(details) = details {
        details.finish(&diff)?;
    }
    let mut places = JudgedPlaces::default();
    diff.tables.iter().for_each(|table| places.add(&table.place, &table.table));
    let report = Report {
        command: "sanity",
        rules,
        overlays: settings.overlays,
        tables: diff.tables.len() as u64,
        files: diff.files.iter().filter(|f| f.role != Role::Other).count() as u64,
        rows: diff.tables.iter().filter_map(|t| t.head_rows).sum(),
        judged: places,
        findings,
        counts,
        diff: Some(diff),
        states,
        repaired,
        predictions: match predicted {
            Some(Ok(predicted)) => predicted.predictions,
            Some(Err(why)) => Some(impact::predictions::failed(&why)),
            None => None,
        },
        remeasured: None,
        elapsed: start.elapsed(),
        drawn: None,
    };
    Ok((report, figures))
}
