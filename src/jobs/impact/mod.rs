//! Predicts step times of models before and after a change, with the changed tables behind every move.
//!
//! The planner predicts; a prediction estimates static steps. [`summary::LEFT_OUT`] lists the effects that it omits.

mod document;
mod summary;
mod text;

use std::path::PathBuf;

use crate::base::error::{Error, Exit, Result};
use crate::base::progress::Progress;
use crate::database::catalog::no_database;
use crate::database::diff::Diff;
use crate::database::selection::{NamePatterns, Selection};
use crate::database::state::State;
use crate::jobs::DocumentFormat;
use crate::jobs::pull_request::PullRequest;
use crate::jobs::site::Site;
use crate::planner::{
    Cases, Impact, MOST_VERSIONS, OperationTables, Planner, PlannerChoice, Question, ask,
};
use crate::specs::Library;

pub(crate) use document::schema;
pub(crate) use summary::section;

/// The options of `impact`.
#[derive(Debug, Default, Clone, clap::Args)]
#[command(next_help_heading = "What to predict")]
pub struct ImpactOptions {
    /// Repository that contains the database, or a folder in it; may be bare if commits are named.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// The branch to merge into; the head is compared with their merge base. Without it, one state
    /// is predicted.
    #[arg(long = "base-ref", value_name = "REF")]
    pub base_ref: Option<String>,
    /// The commit to predict, read without a checkout; without it, the files on disk.
    #[arg(long = "head-ref", alias = "ref", value_name = "REF")]
    pub head_ref: Option<String>,
    /// Only these systems, e.g. `h200_sxm` or `b*`; may be repeated.
    #[arg(long = "system", value_name = "NAME")]
    pub systems: Vec<String>,
    /// Only these backends, e.g. `vllm`; may be repeated.
    #[arg(long = "backend", value_name = "NAME")]
    pub backends: Vec<String>,
    /// Only these versions, e.g. `0.24.0` or `0.2*`; without it, changed versions, and the current and the next one of each backend.
    #[arg(long = "version", value_name = "VERSION")]
    pub versions: Vec<String>,
    /// Only these models, by their names in the file of cases, e.g. `*Qwen3-32B*`.
    #[arg(long = "model", value_name = "NAME")]
    pub models: Vec<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR")]
    pub rules: Option<PathBuf>,
    #[command(flatten)]
    pub planner: PlannerOptions,
}

/// The choice of the planner, and of the cases and versions that it is asked about.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Predictions")]
pub struct PlannerOptions {
    /// A Python with the planner's package (aisimulate or aiconfigurator-core), or `none` to ask nobody; without it
    /// $PERFDB_GATE_PLANNER, or python3 if it has the package.
    #[arg(long, value_name = "PYTHON")]
    pub planner: Option<PlannerChoice>,
    /// Number of changed versions to ask about, beside the current and the next one of each backend.
    #[arg(long = "planner-versions", value_name = "N", default_value_t = MOST_VERSIONS)]
    pub most_versions: usize,
    /// Models and steps to predict instead of those of rules/cases.yaml.
    #[arg(long, value_name = "FILE")]
    pub cases: Option<PathBuf>,
}

impl Default for PlannerOptions {
    /// Returns options without a planner, so that nothing is predicted.
    fn default() -> Self {
        Self { planner: Some(PlannerChoice::Nobody), cases: None, most_versions: MOST_VERSIONS }
    }
}

/// A planner, with the models, steps and operations whose times are requested.
pub(crate) struct PreparedPlanner {
    planner: Planner,
    cases: Cases,
    operations: OperationTables,
    most_versions: usize,
}

impl PreparedPlanner {
    /// Finds the planner, and reads which models, steps and operations to predict. Returns `Ok(Err(reason))`
    /// without a planner, for example because its package is missing.
    ///
    /// # Errors
    ///
    /// If the planner that the options name does not answer, or a file of cases is malformed.
    pub(crate) fn prepare(
        options: &PlannerOptions,
        library: &Library,
    ) -> Result<Result<Self, String>> {
        let cases = Cases::read(library, options.cases.as_deref())?;
        let operations = OperationTables::read(library)?;
        let most_versions = options.most_versions;
        let planner = Planner::find(options.planner.as_ref())?;
        Ok(planner.map(|planner| Self { planner, cases, operations, most_versions }))
    }

    /// Predicts step times before and after a change, for the versions that the change affects. Also tries to load each
    /// changed table with the planner's engine.
    ///
    /// # Errors
    ///
    /// If a state cannot be written to the temporary folder.
    pub(crate) fn change(
        &self,
        states: (State<'_>, State<'_>),
        diff: &Diff,
        progress: &dyn Progress,
    ) -> Result<Impact> {
        let question = Question {
            before: Some(states.0),
            diff: Some(diff),
            loads: true,
            ..self.question(states.1)
        };
        ask(&self.planner, &question, progress)
    }

    /// Predicts the step times of one version of the database. Also tries to load its tables with the planner's engine.
    ///
    /// # Errors
    ///
    /// If the database cannot be written to the temporary folder, or if a pattern in `selection` matches nothing.
    pub(crate) fn state(
        &self,
        state: State<'_>,
        selection: &Selection,
        progress: &dyn Progress,
    ) -> Result<Impact> {
        let Selection { systems, backends, versions, .. } = selection;
        let question =
            Question { loads: true, systems, backends, versions, ..self.question(state) };
        ask(&self.planner, &question, progress)
    }

    fn question<'a>(&'a self, after: State<'a>) -> Question<'a> {
        Question {
            before: None,
            after,
            diff: None,
            cases: &self.cases,
            operations: &self.operations,
            systems: &[],
            backends: &[],
            versions: &[],
            most_versions: self.most_versions,
            loads: false,
        }
    }
}

/// Predicts the step times of one version of the database, or compares two.
///
/// # Errors
///
/// Returns an error without a planner or a database, or if a commit or name is unknown. A step that the planner
/// cannot predict is not an error: the result contains the planner's message.
pub fn run(options: &ImpactOptions, progress: &dyn Progress) -> Result<Impact> {
    let (rules, head) = (options.rules.as_deref(), options.head_ref.as_deref());
    match &options.base_ref {
        Some(base) => {
            let pull = PullRequest::open(&options.root, base, head, rules, None)?;
            if pull.is_empty() {
                return Err(no_database());
            }
            let asking = asking(options, &pull.settings.specs.library)?;
            let (before, after) = pull.main_states();
            let diff = pull.diff(progress)?;
            let question =
                Question { before: Some(before), diff: Some(&diff), ..asking.question(after) };
            ask(&asking.planner, &of_options(options, question), progress)
        }
        None => {
            let site = Site::open(&options.root, head, rules, &Selection::default())?;
            let asking = asking(options, &site.settings.specs.library)?;
            let question = asking.question(site.state());
            ask(&asking.planner, &of_options(options, question), progress)
        }
    }
}

/// Finds the planner that the options name. Keeps only the models that the options select.
fn asking(options: &ImpactOptions, library: &Library) -> Result<PreparedPlanner> {
    let none = |why: String| {
        Error::new(
            format!("predictions need the planner: {why}"),
            "docs/impact.md describes how to install it",
        )
    };
    let mut asking = PreparedPlanner::prepare(&options.planner, library)?.map_err(none)?;
    let known: Vec<&str> = asking.cases.cases.iter().map(|case| case.model.as_str()).collect();
    let wanted = NamePatterns::known(&options.models, "model", known.into_iter())?;
    asking.cases.keep(|model| wanted.has(model));
    Ok(asking)
}

fn of_options<'a>(options: &'a ImpactOptions, question: Question<'a>) -> Question<'a> {
    let ImpactOptions { systems, backends, versions, .. } = options;
    Question { systems, backends, versions, ..question }
}

/// Returns the exit code of `impact`. It is inconclusive if no case was predicted, otherwise clean.
pub fn exit(impact: &Impact) -> Exit {
    if impact.cases.is_empty() { Exit::Inconclusive } else { Exit::Clean }
}

/// Renders the result of `impact` in a format. With `brief`, only a headline is rendered.
pub fn render(impact: &Impact, format: DocumentFormat, brief: bool) -> String {
    format.render(
        brief,
        || summary::headline(impact),
        || text::document(impact),
        || document::json(impact),
    )
}
