//! Judges the change of a pull request against its base.

pub mod overview;
pub(crate) mod roots;
mod stages;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tracing::debug;

use crate::base::error::{Error, Result};
use crate::base::progress::Progress;
use crate::checks::frame::{Before, Judgement, StateScope, Terms, judge};
use crate::checks::rule::Rule;
use crate::checks::settings::Settings;
use crate::checks::{ChangeContext, Input, Item};
use crate::database::catalog::{Catalog, Role, TableFile, no_database};
use crate::database::diff::{ChangedFacts, Details, Diff, FileDiff, VersionChanges, files, pairs};
use crate::database::facts::origins;
use crate::database::selection::Selection;
use crate::database::source::{self, Commit, Entry, Source};
use crate::database::state::{ReadState, State};
use crate::findings::{ComparedStates, Repaired, Sink, locate};
use crate::jobs::impact::ImpactOptions;
use crate::jobs::impact::predictions::{PredictedChange, predict_change};
use crate::jobs::{evidence, impact};
use crate::planner::SharedModels;
use crate::report::chart::{ChartFigure, Gallery};
use crate::report::health::JudgedPlaces;
use crate::report::stages::StageInput;
use crate::report::{AbsentFiles, Report};
use crate::traces::{self, TraceSpecs};
use roots::Root;

/// The options of `sanity`.
#[derive(Debug, Default, Clone)]
pub struct SanityOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch to merge into. The head is compared with the merge base; rules, waivers and the
    /// baseline are read from the branch's tip.
    pub base: String,
    /// The commit to compare; `None` compares the files on disk.
    pub head: Option<String>,
    /// Ids of the rules to run; empty runs all.
    pub only: Vec<String>,
    /// Ids of the rules not to run.
    pub skip: Vec<String>,
    /// A folder whose files are added to the rules of the base or replace them.
    pub rules: Option<PathBuf>,
    /// A folder for changed rows, as CSV.
    pub detail_dir: Option<PathBuf>,
    /// The maximum number of charts.
    pub charts: usize,
    /// The layout of the database; `None` to find it out from the files of the base.
    pub layout: Option<String>,
    /// True if the report has stages, for which the reach of the changed rows is determined.
    pub stages: bool,
}

impl SanityOptions {
    /// Returns the options that name the same states for other jobs.
    fn states(&self) -> ImpactOptions {
        ImpactOptions {
            root: self.root.clone(),
            base: Some(self.base.clone()),
            head: self.head.clone(),
            rules: self.rules.clone(),
            ..ImpactOptions::default()
        }
    }
}

/// The hint for a rule whose formula fails.
const IN_TABLES: &str = "the formula is in rules/tables; `perfdb-gate rules` lists the rules";

fn asks_for_predictions(rules: &[Arc<Rule>]) -> bool {
    rules.iter().any(|rule| rule.check.needs().has(Input::Predictions))
}

/// Lists the rows of the base that the change removes and that nobody misses, because their key or latency is
/// impossible, by path.
fn impossible_rows<'f>(
    rules: &[Arc<Rule>],
    repaired: &'f [Repaired],
) -> BTreeMap<&'f str, HashSet<u32>> {
    let mut rows: BTreeMap<&str, HashSet<u32>> = BTreeMap::new();
    for finding in repaired.iter().map(|repaired| &repaired.finding) {
        let rule = rules.iter().find(|rule| rule.id == finding.rule);
        if rule.is_some_and(|rule| rule.check.finds_impossible_rows()) && finding.is_error() {
            rows.entry(&finding.path).or_default().extend(&finding.named_rows);
        }
    }
    rows
}

/// Judges a head against its base: tables that changed, tables whose sidecar or system changed, and
/// tables about which the two states declare different facts.
pub(crate) fn judge_change<'a>(
    (base, head): (State<'a>, State<'a>),
    files: &[FileDiff],
    details: Option<&'a Details>,
    terms: Terms<'a>,
    progress: &dyn Progress,
) -> Result<Judgement> {
    let facts = ChangedFacts::between(base, head, files);
    let mut changed: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let pairs = pairs(base, head);
    for pair in &pairs {
        let sides = pair.base.into_iter().chain(pair.head);
        changed.extend(sides.map(|file| file.entry.path.clone()));
    }
    let selected =
        |state: State<'_>| Selection::default().resolve(state.catalog, Some(changed.clone()));
    let (of_base, of_head) = (selected(base)?, selected(head)?);
    let asks = terms.rules.iter().any(|rule| rule.check.needs().has(Input::Excused));
    let states_otherwise =
        facts.are_any() || base.facts.sidecars.reuse != head.facts.sidecars.reuse;
    let excused = (asks && states_otherwise).then(|| ReadState::excused(base, head));
    let excused = excused.as_ref().map(|state| state.of(head.source));
    let is_known_otherwise =
        |file: &TableFile| facts.are_of_table(file) || facts.are_of_system(&file.place.system);
    let base = StateScope::new(base, &of_base, is_known_otherwise);
    let head = StateScope::new(head, &of_head, is_known_otherwise);
    judge(head, Some(Before { base, pairs, facts, excused, details }), terms, progress)
}

/// Compares a head with its merge base, judges the change and chooses charts.
///
/// # Errors
///
/// Returns an error if there is no repository, no database on either side or no such commit, or if
/// details cannot be written. Unreadable tables are findings of the report.
pub fn run(options: &SanityOptions, progress: &dyn Progress) -> Result<(Report, Vec<ChartFigure>)> {
    let start = Instant::now();
    let head = source::open(&options.root, options.head.as_deref())?;
    let base = head.base(&options.base)?;
    // Settings come from the tip of the base: a pull request cannot change how it is judged, and a
    // waiver that the base withdrew meanwhile is void.
    let tip = Commit::open_base(&options.root, &options.base)?;
    let (base, head): (&dyn Source, &dyn Source) = (base.as_ref(), head.as_ref());
    let (files, settings) = rayon::join(
        || (base.files(), head.files()),
        || Settings::read(&tip, options.rules.as_deref(), None),
    );
    let mut settings = settings?;
    let (base_files, head_files) = (files.0?, files.1?);
    let layout = options.layout.as_deref();
    settings
        .choose_layout(layout, if base_files.is_empty() { &head_files } else { &base_files })?;
    let settings = settings;
    let rules = settings.rules.choose(&options.only, &options.skip, &|_| true)?;
    let models = &SharedModels::new(&settings.specs.library);
    // Reading the models takes as long as a large part of the comparison, and only predictions need
    // them. Their errors are reported with the predictions.
    let read_models = || asks_for_predictions(&rules).then(|| models.get().map(drop));
    let states = Listed { base, head, base_files, head_files };
    let by = By { settings: &settings, rules: &rules, models, start };
    rayon::join(read_models, || compare(options, states, by, progress)).1
}

/// The sources of the two states, with their files.
struct Listed<'a> {
    base: &'a dyn Source,
    head: &'a dyn Source,
    base_files: Vec<Entry>,
    head_files: Vec<Entry>,
}

/// The settings, rules and models of a run.
#[derive(Clone, Copy)]
struct By<'a> {
    settings: &'a Settings,
    rules: &'a [Arc<Rule>],
    models: &'a SharedModels<'a>,
    /// The start of the run.
    start: Instant,
}

/// Compares the listed states by known rules, see [`run`].
fn compare(
    options: &SanityOptions,
    states: Listed<'_>,
    by: By<'_>,
    progress: &dyn Progress,
) -> Result<(Report, Vec<ChartFigure>)> {
    let Listed { base, head, base_files, head_files } = states;
    let By { settings, rules, models, start } = by;
    let specs = &settings.specs;
    let (before, after) = rayon::join(
        || Catalog::roots(base, base_files, specs),
        || Catalog::roots(head, head_files, specs),
    );
    // Traces are among the files that are not tables. Most pull requests change none of these
    // files.
    let others = |roots: &[Catalog]| roots.first().map(|root| root.others.clone());
    let have_traces = others(&before) != others(&after) || TraceSpecs::are_overlaid(specs);
    let (traces, roots) = rayon::join(
        || have_traces.then(|| TraceSpecs::read(specs)).transpose(),
        || Root::all((base, before), (head, after), specs),
    );
    let (before, after) = roots[0].states(base, head);
    let traces = match traces? {
        Some(specs) => traces::changed(before, after, &specs, rules, options.charts)?,
        None => traces::Changed::default(),
    };
    if roots.iter().all(Root::is_empty) && traces.files.is_empty() {
        return Err(no_database());
    }
    let states = ComparedStates {
        base: base.commit().unwrap_or_else(|| options.base.clone()),
        head: head.commit(),
        of: head.described(),
    };
    let details = options.detail_dir.as_deref().map(Details::new).transpose()?;
    let (mut sink, mut found) = (Sink::default(), Vec::new());
    let mut absent = AbsentFiles::default();
    let (mut diffs, mut repaired) = (Vec::new(), traces.repaired);
    // Any rule can report an excused error, even if only `excused-by-change` was selected.
    let judging = if rules.iter().any(|rule| rule.check.needs().has(Input::Excused)) {
        settings.rules.choose(&[], &[], &|_| true)?
    } else {
        rules.to_vec()
    };
    for root in &roots {
        let (base, head) = root.states(base, head);
        let terms = Terms { rules: &judging, all_rules: &settings.rules, models, ledger: None };
        let files = files(base, head);
        let mut judged = judge_change((base, head), &files, details.as_ref(), terms, progress)?;
        debug!(tables = judged.diff.len(), files = files.len(), took = ?start.elapsed(), "judged");
        let impossible = impossible_rows(&judging, &judged.repaired);
        let mut diff = Diff {
            tables: std::mem::take(&mut judged.diff),
            files,
            unserved: Vec::new(),
            versions: VersionChanges::between(base.catalog, head.catalog),
        };
        let unserved = diff.find_unserved(base, head, &impossible);
        let failed =
            |why| Error::caused("cannot find the keys that are not served", IN_TABLES, why);
        diff.unserved = unserved.map_err(failed)?;
        judged.keep(rules);
        found.extend(judged.findings);
        absent.in_lfs.extend(judged.in_lfs);
        repaired.extend(judged.repaired);
        let (excused, specs) = (&judged.excused[..], root.specs());
        let change = ChangeContext { base, head, diff: &diff, excused, specs };
        let catalogs = Item::Catalogs { before: base.catalog, after: head.catalog };
        for rule in rules {
            found.extend(rule.item(&catalogs));
            let of_change = rule.check.judge().change(rule.head(), &change);
            found.extend(of_change.map_err(|why| rule.head().unjudged(IN_TABLES, why))?);
        }
        diffs.push(diff);
    }
    // Default models are planned with the main root, whose tables are those of the planner.
    let is_planned = asks_for_predictions(rules) && after.catalog.layout.is_none();
    let predicted = is_planned.then(|| predict_change(before, after, &diffs[0], models));
    found.extend(traces.findings);
    // Files that the clone lacks are not a fault of the data.
    let missing = head.missing();
    found.retain(|finding| !missing.contains(&finding.path));
    absent.missing = base.missing();
    absent.missing.extend(missing);
    sink.extend(found);
    if let Some(Ok(predicted)) = &predicted {
        sink.extend(predicted.findings(rules, after));
        sink.each(|finding| predicted.weigh(finding));
    }
    debug!(took = ?start.elapsed(), "predicted");
    repaired.sort_by(|a, b| a.finding.order().cmp(&b.finding.order()));
    settings.waive(&mut sink)?;
    if let Some(baseline) = &settings.baseline {
        sink.compare(baseline);
    }
    let (mut findings, counts) = sink.finish();
    debug!(findings = findings.len(), took = ?start.elapsed(), "judged");
    let (mut figures, mut undrawn) = (Vec::new(), Vec::new());
    for (root, diff) in roots.iter().zip(&diffs) {
        let (base, head) = root.states(base, head);
        let specs = root.specs();
        let gallery = Gallery { base, head, diff, findings: &findings, specs };
        let charts = gallery.charts(options.charts - options.charts.min(figures.len()))?;
        figures.extend(charts.figures);
        undrawn.extend(charts.without);
    }
    debug!(charts = figures.len(), took = ?start.elapsed(), "chose charts");
    figures.extend(traces.figures);
    figures.truncate(options.charts);
    for root in &roots {
        let (of_base, of_head) = root.states(base, head);
        locate(findings.iter_mut(), of_head.catalog, head);
        locate(repaired.iter_mut().map(|repaired| &mut repaired.finding), of_base.catalog, base);
    }
    let unanswered = predicted.iter().flatten().map(PredictedChange::unanswered).sum();
    let evidence = evidence::due(before, after);
    let staged =
        options.stages.then(|| stages::input(options.states(), settings, (&roots, &diffs)));
    let staged = staged.transpose()?.map(|input| StageInput { unanswered, ..input });
    let mut diff = Diff::of_roots(diffs);
    diff.files.extend(traces.files);
    diff.files.sort_by(|a, b| a.path.cmp(&b.path));
    head.steady()?;
    if let Some(details) = details {
        details.finish(&diff)?;
    }
    let mut places = JudgedPlaces::default();
    diff.tables.iter().for_each(|table| places.add(&table.place, &table.table));
    let report = Report {
        command: "sanity",
        rules: rules.to_vec(),
        overlays: settings.overlays.clone(),
        facts: origins(roots.iter().map(Root::facts)),
        outside: roots[0].outside(base, head),
        absent,
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
        undrawn,
        evidence,
        stages: staged,
        elapsed: start.elapsed(),
        ..Report::default()
    };
    Ok((report, figures))
}
