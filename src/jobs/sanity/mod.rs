//! Judges the change of a pull request against its base.

mod judging;
mod predicted;
mod stages;

use std::path::PathBuf;
use std::time::Instant;

use tracing::debug;

use self::judging::{JudgedChange, JudgingContext};
use self::predicted::PullRequestPredictions;
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::settings::RuleSelection;
use crate::database::catalog::{Role, no_database};
use crate::database::diff::{Details, Diff, SliceName};
use crate::database::facts::origins;
use crate::database::source::Source;
use crate::findings::{ComparedStates, Counts, Finding, Repaired, Sink, locate};
use crate::jobs::impact::PlannerOptions;
use crate::jobs::pull_request::{PullRequest, Root};
use crate::jobs::states_in_words;
use crate::report::chart::{ChartFigure, Gallery, number};
use crate::report::health::JudgedPlaces;
use crate::report::{Report, first_row, kind_tables};
use crate::traces;

/// The options of `sanity`. A display order above 100 puts an option after the output options of the command line.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct SanityOptions {
    /// Repository that contains the database, or a folder in it; may be bare if commits are named.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to compare")]
    pub root: PathBuf,
    /// The branch to merge into; the head is compared with their merge base.
    #[arg(long, value_name = "REF", help_heading = "What to compare")]
    pub base_ref: String,
    /// The commit to compare, read without a checkout; without it, the files on disk.
    #[arg(long, alias = "ref", value_name = "REF", help_heading = "What to compare")]
    pub head_ref: Option<String>,
    /// The layout of the database, e.g. `public`, instead of the one that the base's files show.
    #[arg(long, value_name = "NAME", help_heading = "What to compare")]
    pub layout: Option<String>,
    #[command(flatten)]
    pub rules: RuleSelection,
    #[command(flatten)]
    pub planner: PlannerOptions,
    /// Write changed rows to a folder as CSV: one file per table, and summary.csv.
    #[arg(long, value_name = "DIR", display_order = 101, help_heading = "Output")]
    pub detail_dir: Option<PathBuf>,
    /// The maximum number of charts.
    #[arg(skip)]
    pub most_charts: usize,
    /// True if the report contains the stages. A stage is a group of rules with one status, such as passed or failed.
    #[arg(skip)]
    pub stages: bool,
    /// True if the report includes an audit: the contents of each changed table in the base and in the head.
    #[arg(skip)]
    pub audit: bool,
}

/// Compares a head with its merge base, judges the change and chooses charts.
///
/// # Errors
///
/// Returns an error if there is no repository, no database on either side or no such commit, or if
/// details cannot be written. Unreadable tables are findings of the report.
pub fn run(options: &SanityOptions, progress: &dyn Progress) -> Result<(Report, Vec<ChartFigure>)> {
    let start = Instant::now();
    let (root, head) = (&options.root, options.head_ref.as_deref());
    let (rules, layout) = (options.rules.folder.as_deref(), options.layout.as_deref());
    let mut pull = PullRequest::open(root, &options.base_ref, head, rules, layout)?;
    let traces = pull.traces.take();
    pull.settings.min_confidence = options.rules.min_confidence;
    let (settings, roots) = (&pull.settings, &pull.roots);
    let rules = &settings.rules.choose(&options.rules.only, &options.rules.skip, &|_| true)?;
    let by = JudgingContext { settings, rules, start, audits: options.audit };
    let (base, head) = pull.sources();
    let (before, after) = pull.main_states();
    let traces = match traces {
        Some(specs) => traces::changed(before, after, &specs, rules, options.most_charts)?,
        None => traces::Changed::default(),
    };
    if pull.is_empty() && traces.files.is_empty() {
        return Err(no_database());
    }
    let details = options.detail_dir.as_deref().map(Details::new).transpose()?;
    let judged = JudgedChange::judge(roots, (base, head), by, details.as_ref(), progress)?;
    let JudgedChange { findings: mut found, mut repaired, diffs, mut absent } = judged;
    let mut predicted =
        PullRequestPredictions::of(&options.planner, &pull, (rules, &diffs[0]), progress)?;
    found.extend(traces.findings.into_iter().chain(pull.settings_change.finding(rules)));
    // Files that the clone lacks are not a fault of the data.
    let missing = head.missing();
    found.retain(|finding| !missing.contains(&finding.path));
    absent.missing = base.missing();
    absent.missing.extend(missing);
    let (mut findings, counts) = settled(found, &mut predicted, by)?;
    repaired.extend(traces.repaired);
    repaired.retain(|repaired| settings.is_reported(&repaired.finding));
    repaired.sort_by(|a, b| a.finding.order().cmp(&b.finding.order()));
    locate_lines(&mut findings, &mut repaired, roots, (base, head));
    let staged = options
        .stages
        .then(|| stages::input(settings, (roots, &diffs), (base, head)))
        .transpose()?;
    let mut diff = Diff::of_roots(diffs);
    let kind_tables = kind_tables(&diff);
    let first = (first_row(&kind_tables), options.most_charts);
    let figures = drawn(roots, &diff, (base, head), &findings, first, traces.figures)?;
    debug!(charts = figures.len(), took = ?start.elapsed(), "judged and drew");
    diff.files.extend(traces.files.into_iter().chain(pull.settings_change.files.iter().cloned()));
    diff.files.sort_by(|a, b| a.path.cmp(&b.path));
    head.check_unchanged()?;
    if let Some(details) = details {
        details.finish(&diff)?;
    }
    let mut places = JudgedPlaces::default();
    diff.tables.iter().for_each(|table| places.add(&table.place, &table.table));
    let report = Report {
        command: "sanity",
        rules: rules.clone(),
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
        states: ComparedStates {
            base: base.commit().unwrap_or_else(|| options.base_ref.clone()),
            head: head.commit(),
            description: states_in_words(&options.root, Some(base), head),
        },
        repaired,
        predictions: predicted.section,
        kind_tables,
        stages: staged,
        elapsed: start.elapsed(),
        ..Report::default()
    };
    Ok((report, figures))
}

/// Adds the findings on predictions to all other findings, then applies waivers and the baseline. Returns all findings,
/// and the number of findings of each severity.
fn settled(
    found: Vec<Finding>,
    predicted: &mut PullRequestPredictions,
    by: JudgingContext<'_>,
) -> Result<(Vec<Finding>, Counts)> {
    let mut sink = Sink::default();
    sink.extend(found);
    predicted.enter(&mut sink);
    by.settings.waive(&mut sink)?;
    by.settings.settle(&mut sink);
    Ok(sink.finish())
}

/// Adds line numbers to the rows that findings name. For findings, these are lines in the head's files. For repaired
/// findings, these are lines in the base's files.
fn locate_lines(
    findings: &mut [Finding],
    repaired: &mut [Repaired],
    roots: &[Root],
    (base, head): (&dyn Source, &dyn Source),
) {
    for root in roots {
        let (of_base, of_head) = root.states(base, head);
        locate(findings.iter_mut(), of_head.catalog, head);
        locate(repaired.iter_mut().map(|repaired| &mut repaired.finding), of_base.catalog, base);
    }
}

/// Draws charts of the changed tables of all roots, then appends the charts of traces. There are at most `most` charts
/// in total. The chart of the table and slice in `first` comes first.
fn drawn(
    roots: &[Root],
    diff: &Diff,
    (base, head): (&dyn Source, &dyn Source),
    findings: &[Finding],
    (first, most): (Option<(&str, &SliceName)>, usize),
    of_traces: Vec<ChartFigure>,
) -> Result<Vec<ChartFigure>> {
    let mut figures = Vec::new();
    for root in roots {
        let (base, head) = root.states(base, head);
        let gallery = Gallery { base, head, diff, findings, first };
        figures.extend(gallery.charts(most - figures.len())?);
    }
    figures.extend(of_traces);
    figures.truncate(most);
    number(&mut figures);
    Ok(figures)
}
