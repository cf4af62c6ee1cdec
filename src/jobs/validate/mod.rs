//! Judges the data of a database.

mod finding_rows;
mod judged_roots;

pub(crate) use self::judged_roots::JudgedData;
use self::judged_roots::JudgedDatabase;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tracing::debug;

use crate::base::error::{Error, Result};
use crate::base::progress::Progress;
use crate::checks::frame::Terms;
use crate::checks::rule::Rule;
use crate::checks::settings::{RuleSelection, Settings};
use crate::checks::{Check, Input, Item};
use crate::database::catalog::Catalog;
use crate::database::facts::{TreeFacts, origins};
use crate::database::ledger::Ledger;
use crate::database::selection::{Selected, Selection};
use crate::database::source::{self, Source};
use crate::database::state::State;
use crate::findings::{ComparedStates, Finding, Sink, locate};
use crate::jobs::impact::{PlannerOptions, PreparedPlanner, section};
use crate::jobs::pull_request::partners;
use crate::jobs::states_in_words;
use crate::report::chart::{ChartFigure, curves};
use crate::report::{Predictions, Report};
use crate::specs::Specs;

/// The maximum number of tables that are drawn as charts. Tables with the most urgent findings are drawn first.
const CURVES: usize = 6;

/// The options of `validate`. A display order above 100 puts an option after the output options of the command line.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct ValidateOptions {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to judge")]
    pub root: PathBuf,
    /// Check a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to judge")]
    pub reference: Option<String>,
    /// Check only what changed since the merge base with this commit.
    #[arg(long, value_name = "REF", help_heading = "What to judge")]
    pub since: Option<String>,
    /// Read rules, waivers and the baseline of `.perfdb-gate/` from this commit, so that a change
    /// cannot choose how it is checked; by default from what is checked, or from --since.
    #[arg(long, value_name = "REF", help_heading = "What to judge")]
    pub settings_ref: Option<String>,
    #[command(flatten)]
    pub selection: Selection,
    /// A collector's log directory; keys that it recorded as failed are not reported as missing.
    #[arg(long, value_name = "DIR", help_heading = "What to judge")]
    pub ledger: Option<PathBuf>,
    /// The planner that loads the tables and predicts the models; `None` if no planner is asked.
    #[arg(skip)]
    pub planner: Option<PlannerOptions>,
    #[command(flatten)]
    pub rules: RuleSelection,
    /// Exit with code 3 if there are tables outside every database root, which no rule checks.
    #[arg(long, display_order = 101, help_heading = "Output")]
    pub strict: bool,
    /// Use this baseline instead of the repository's `.perfdb-gate/baseline.json`.
    #[arg(long, value_name = "FILE", display_order = 102, help_heading = "Output")]
    pub baseline: Option<PathBuf>,
    /// Write all rows of each finding to a folder as CSV: one file per finding, and findings.csv.
    #[arg(long = "rows", value_name = "DIR", display_order = 103, help_heading = "Output")]
    pub rows_dir: Option<PathBuf>,
    /// True if tables with findings are drawn as charts.
    #[arg(skip)]
    pub curves: bool,
}

impl ValidateOptions {
    /// Lists the roots of a source, and reads the settings by which they are judged.
    fn read(&self, source: &dyn Source) -> Result<(Vec<Catalog>, Settings)> {
        // Settings can come from another branch: a change cannot alter how it is judged, and a waiver
        // that the branch withdrew meanwhile is void.
        let judges = self.settings_ref.as_deref().or(self.since.as_deref());
        let judges = (self.root.as_path(), judges);
        let (files, settings) = rayon::join(
            || source.files(),
            || Settings::of(source, judges, self.rules.folder.as_deref(), self.baseline.as_deref()),
        );
        let (files, mut settings) = (files?, settings?);
        settings.min_confidence = self.rules.min_confidence;
        settings.choose_layout(self.selection.layout.as_deref(), &files)?;
        let roots = Catalog::some_roots(source, files, &settings.specs)?;
        debug!(
            roots = roots.len(),
            systems = roots.iter().map(|root| root.systems.len()).sum::<usize>(),
            tables = roots.iter().map(|root| root.tables.len()).sum::<usize>(),
            overlays = settings.overlays.len(),
            root = ?self.root,
            "listed"
        );
        Ok((roots, settings))
    }

    /// Chooses the rules that these options ask for.
    fn rules_of(&self, settings: &Settings) -> Result<Vec<Arc<Rule>>> {
        let is_asked = |check: &Check| {
            let needs = check.needs();
            let is_of_change = matches!(check, Check::Deleted) && self.since.is_some();
            let is_asked = !needs.has(Input::Predictions) || self.planner.is_some();
            is_asked && !needs.has(Input::Traces) && (!needs.has(Input::Changes) || is_of_change)
        };
        settings.rules.choose(&self.rules.only, &self.rules.skip, &is_asked)
    }

    /// Returns true if these options run all rules on the whole database. Only such a run can decide that a waiver is
    /// unused.
    fn judges_everything(&self) -> bool {
        let has_all_rules = self.rules.only.is_empty() && self.rules.skip.is_empty();
        self.since.is_none() && has_all_rules && self.selection.is_all()
    }
}

/// Judges a database.
///
/// # Errors
///
/// Returns an error if there is no database, if the options name something unknown, or if the
/// repository cannot be read. Faults of the data are findings of the report.
pub fn run(options: &ValidateOptions, progress: &dyn Progress) -> Result<Report> {
    drawn(options, progress).map(|(report, _)| report)
}

/// Judges a database. If the options ask for charts, also draws the tables with findings.
///
/// # Errors
///
/// Returns the errors of [`run`].
pub fn drawn(
    options: &ValidateOptions,
    progress: &dyn Progress,
) -> Result<(Report, Vec<ChartFigure>)> {
    judged(options, progress, |data| {
        if let Some(folder) = &options.rows_dir {
            finding_rows::write(data, folder)?;
        }
        if options.curves { curves(data.state, data.findings, CURVES) } else { Ok(Vec::new()) }
    })
}

/// Judges a database and calls `look` with the data from which the report was made.
///
/// # Errors
///
/// Returns the errors of [`run`] and of `look`.
pub(crate) fn judged<R>(
    options: &ValidateOptions,
    progress: &dyn Progress,
    look: impl FnOnce(&JudgedData<'_>) -> Result<R>,
) -> Result<(Report, R)> {
    let source = source::open(&options.root, options.reference.as_deref())?;
    judged_source(source.as_ref(), options, progress, look)
}

/// Judges a database in `source` instead of the source that the options name. Calls `look` with the data from which
/// the report was made.
///
/// # Errors
///
/// Returns the errors of [`judged`].
pub(crate) fn judged_source<R>(
    source: &dyn Source,
    options: &ValidateOptions,
    progress: &dyn Progress,
    look: impl FnOnce(&JudgedData<'_>) -> Result<R>,
) -> Result<(Report, R)> {
    let start = Instant::now();
    let (roots, settings) = options.read(source)?;
    let since = options.since.as_deref();
    let mut changed = since.map(|since| source.changed_since(since)).transpose()?;
    roots.iter().for_each(|root| changed.iter_mut().for_each(|paths| root.add_assembled(paths)));
    let ledger = options.ledger.as_deref().map(Ledger::read).transpose()?;
    let outside = outside(&roots[0], options, changed.as_deref());
    let all_roots: Vec<&Catalog> = roots.iter().collect();
    let (roots, selected) = selected(&roots, options, changed)?;
    if ledger.is_some() {
        refuse_several_machines(&roots, &selected)?;
    }
    let rules = options.rules_of(&settings)?;
    // Each root is judged by its own facts and compared only with itself.
    let facts: Vec<TreeFacts> =
        roots.iter().map(|root| TreeFacts::read(source, root, &settings.specs)).collect();
    let specs: Vec<Specs> = facts.iter().map(|facts| facts.apply_to(&settings.specs)).collect();
    let terms = Terms { rules: &rules, all_rules: &settings.rules, ledger: ledger.as_ref() };
    let mut all = JudgedDatabase::default();
    for (((catalog, selected), facts), specs) in roots.iter().zip(&selected).zip(&facts).zip(&specs)
    {
        all.judge(State { source, catalog, facts, specs }, selected, terms, progress)?;
    }
    let JudgedDatabase { tables, rows, mut files, mut found, mut absent, places } = all;
    source.check_unchanged()?;
    if let Some(since) = options.since.as_deref().filter(|_| options.selection.is_all()) {
        let deleted = deletions(source, since, &all_roots, &rules, &settings.specs)?;
        files += deleted.len() as u64;
        found.extend(deleted);
    }
    let state = State { source, catalog: roots[0], facts: &facts[0], specs: &specs[0] };
    let planner = options.planner.as_ref().filter(|_| roots[0].layout.is_none());
    let selection = (&options.selection, &selected[0]);
    let ask = |planner| asked(planner, selection, state, &rules, &mut found, progress);
    let predictions = planner.map(ask).transpose()?;
    absent.missing = source.missing();
    // Files that the clone lacks are not a fault of the data.
    found.retain(|finding| !absent.missing.contains(&finding.path));
    let mut sink = Sink::default();
    sink.extend(found);
    settings.conclude(&mut sink, &rules, options.judges_everything())?;
    let (mut findings, counts) = sink.finish();
    let seen = look(&JudgedData { state, selected: &selected[0], findings: &findings })?;
    roots.iter().for_each(|root| locate(findings.iter_mut(), root, source));
    // A run of all rules without any table has judged nothing, even if it read a system's YAML.
    let asked = options.since.is_none() && options.rules.only.is_empty();
    let files = if tables == 0 && asked { 0 } else { files };
    let report = Report {
        command: "validate",
        rules,
        overlays: settings.overlays.clone(),
        facts: origins(facts.iter().map(|facts| &facts.origins[..])),
        outside,
        strict: options.strict,
        absent,
        tables,
        files,
        rows,
        judged: places,
        findings,
        counts,
        states: ComparedStates {
            head: source.commit(),
            description: states_in_words(&options.root, None, source),
            ..ComparedStates::default()
        },
        predictions,
        elapsed: start.elapsed(),
        ..Report::default()
    };
    Ok((report, seen))
}

/// Asks the planner about the selected versions and returns the predictions. Appends the findings on the planner's
/// answers to `found`.
fn asked(
    planner: &PlannerOptions,
    (selection, selected): (&Selection, &Selected),
    state: State<'_>,
    rules: &[Arc<Rule>],
    found: &mut Vec<Finding>,
    progress: &dyn Progress,
) -> Result<Predictions> {
    let asking = match PreparedPlanner::prepare(planner, &state.specs.library)? {
        Ok(asking) => asking,
        Err(why) => return Ok(Predictions { not_asked: Some(why), ..Predictions::default() }),
    };
    let impact = asking.state(state, selection, progress)?;
    let is_selected = |finding: &Finding| {
        let file = state.catalog.table(&finding.path);
        file.is_none_or(|f| selected.table(&f.place, &f.table) && selected.changed(&finding.path))
    };
    found.extend(impact.findings(rules, state, None).into_iter().filter(is_selected));
    Ok(section(&impact))
}

/// Refuses to apply a collector's log (the ledger) to several systems, since the log does not state on which machine it
/// was written.
fn refuse_several_machines(roots: &[&Catalog], selected: &[Selected]) -> Result<()> {
    let each = roots.iter().zip(selected);
    let machines: usize = each
        .map(|(root, selected)| root.systems.keys().filter(|s| selected.system(s)).count())
        .sum();
    if machines > 1 {
        return Err(Error::new(
            format!("--ledger applies to one system, but {machines} are checked"),
            "select the system of the log with --system",
        ));
    }
    Ok(())
}

/// Returns the database roots in which the options select tables, and for each of these roots the selected part.
/// `changed` lists the changed paths if only changes are judged.
fn selected<'a>(
    roots: &'a [Catalog],
    options: &ValidateOptions,
    changed: Option<Vec<String>>,
) -> Result<(Vec<&'a Catalog>, Vec<Selected>)> {
    let (mut chosen, mut selected, mut why) = (Vec::new(), Vec::new(), None);
    for root in roots {
        match options.selection.resolve(root, changed.clone()) {
            Ok(part) => {
                chosen.push(root);
                selected.push(part);
            }
            Err(error) => why = why.or(Some(error)),
        }
    }
    // A selection may match only some of the roots. If it matches none, the error of the main root
    // is returned.
    match why.filter(|_| chosen.is_empty()) {
        Some(error) => Err(error),
        None => Ok((chosen, selected)),
    }
}

/// Lists the tables outside every database folder. If `changed` is given, lists only changed tables. Returns an empty
/// list if only a part of the database is selected.
fn outside(main: &Catalog, options: &ValidateOptions, changed: Option<&[String]>) -> Vec<String> {
    if !options.selection.is_all() {
        return Vec::new();
    }
    let paths = main.outside().map(|entry| entry.path.clone());
    paths.filter(|path| changed.is_none_or(|changed| changed.contains(path))).collect()
}

/// Returns findings on data that was deleted since the merge base with the commit `since`.
fn deletions(
    source: &dyn Source,
    since: &str,
    roots: &[&Catalog],
    rules: &[Arc<Rule>],
    specs: &Specs,
) -> Result<Vec<Finding>> {
    let base = source.base(since)?;
    let before = Catalog::roots(base.as_ref(), base.files()?, specs);
    let empty = Catalog::default();
    let mut found = Vec::new();
    for (before, after) in partners(before.iter().collect(), roots.to_vec()) {
        let (before, after) = (before.unwrap_or(&empty), after.unwrap_or(&empty));
        let catalogs = Item::Catalogs { before, after };
        found.extend(rules.iter().flat_map(|rule| rule.item(&catalogs)));
    }
    Ok(found)
}
