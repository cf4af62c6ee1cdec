//! Predicts step times of models before and after a change, with the changed tables behind every move.
//!
//! The planner predicts; a prediction estimates static steps, and [`LEFT_OUT`] lists the effects that it leaves out.

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
use crate::planner::{Cases, Impact, OperationTables, Planner, PlannerChoice, Question, ask};
use crate::specs::Library;

pub(crate) use document::schema;
pub(crate) use summary::section;

/// The options of `impact`.
#[derive(Debug, Default, Clone)]
pub struct ImpactOptions {
    /// The repository, or a folder in it.
    pub root: PathBuf,
    /// The branch to merge into; `None` predicts one state only.
    pub base: Option<String>,
    /// The commit to predict; `None` predicts the files on disk.
    pub head: Option<String>,
    /// Systems, as globs; empty selects those that a change concerns, or all of one state.
    pub systems: Vec<String>,
    /// Backends, as globs; empty selects all.
    pub backends: Vec<String>,
    /// Versions, as globs; empty selects changed versions, and the current and the next one of each backend.
    pub versions: Vec<String>,
    /// Models, as globs over their names; empty selects all.
    pub models: Vec<String>,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
    /// The planner, and the cases and versions that it is asked about.
    pub planner: PlannerOptions,
}

/// The choice of the planner, and of the cases and versions that it is asked about.
#[derive(Debug, Clone)]
pub struct PlannerOptions {
    /// The planner.
    pub choice: PlannerChoice,
    /// A file of cases; `None` uses `rules/cases.yaml`.
    pub cases: Option<PathBuf>,
    /// The number of changed versions that are asked about.
    pub most_versions: usize,
}

impl Default for PlannerOptions {
    fn default() -> Self {
        Self {
            choice: PlannerChoice::default(),
            cases: None,
            most_versions: crate::planner::MOST_VERSIONS,
        }
    }
}

/// A planner with the models, steps and operations that it is asked about.
pub(crate) struct PreparedPlanner {
    planner: Planner,
    cases: Cases,
    operations: OperationTables,
    most_versions: usize,
}

impl PreparedPlanner {
    /// Finds the planner and reads the cases and operations to ask about. The inner error is the reason why no
    /// planner is asked.
    ///
    /// # Errors
    ///
    /// If a named planner does not answer, or a file of cases is malformed.
    pub(crate) fn prepare(
        options: &PlannerOptions,
        library: &Library,
    ) -> Result<Result<Self, String>> {
        let cases = Cases::read(library, options.cases.as_deref())?;
        let operations = OperationTables::read(library)?;
        let most_versions = options.most_versions;
        let planner = Planner::find(&options.choice)?;
        Ok(planner.map(|planner| Self { planner, cases, operations, most_versions }))
    }

    /// Asks about the versions that a change concerns, and lets the engine load the changed tables.
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

    /// Asks about one state, and lets the engine load its tables.
    ///
    /// # Errors
    ///
    /// If the state cannot be written to the temporary folder, or a pattern matches nothing.
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

/// Predicts one state, or two states to compare.
///
/// # Errors
///
/// Returns an error if there is no planner, no database, or a commit or name is unknown. Steps without an answer
/// are part of the result.
pub fn run(options: &ImpactOptions, progress: &dyn Progress) -> Result<Impact> {
    let (rules, head) = (options.rules.as_deref(), options.head.as_deref());
    match &options.base {
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

/// Finds the planner that the options name, with the models that they select.
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

/// Returns the exit code: inconclusive if nothing was predicted.
pub fn exit(impact: &Impact) -> Exit {
    if impact.cases.is_empty() { Exit::Inconclusive } else { Exit::Clean }
}

/// Renders an impact.
pub fn render(impact: &Impact, format: DocumentFormat) -> String {
    format.render(
        || summary::headline(impact),
        || text::document(impact),
        || document::json(impact),
    )
}
