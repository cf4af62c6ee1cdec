//! Asks the planner about states of a database: step times, versions, and tables that it cannot load.
//!
//! A planner (aiconfigurator or aisimulate, a published Python package) predicts the time of an inference step from
//! the tables of a database. This module repeats none of the planner's formulas: a state is written to a
//! temporary folder, and the package answers in a process of its own.
//!
//! ```text
//! interpreter   the Python whose package is asked (--planner)
//!   └─ session  a process of runner.py: a request and a reply, one line each
//! tree          a state of the database as files on disk
//! cases         models and steps, as YAML in rules/cases.yaml
//! versions      the versions to ask about
//! sources       the files that serve a version, before and after
//! ask           the processes, one per version and state
//! change        step times before and after a change
//! compare       a step in both states, operation by operation
//! refusals      tables and versions that the engine refuses
//! cause         the changed tables that explain an operation's new time
//! findings      the rules about the planner's answers
//! weights       the effect of a changed table on step times, for findings on the table
//! ```

mod answer;
mod ask;
mod asked;
mod cases;
mod cause;
mod change;
mod compare;
mod findings;
mod interpreter;
mod refusals;
mod session;
mod sources;
mod tree;
mod versions;
mod weights;

use std::time::Duration;

use crate::database::diff::Diff;
use crate::database::state::State;

pub(crate) use answer::Source;
pub(crate) use ask::ask;
pub(crate) use asked::{AskedVersion, PlannedVersion, ServingFiles, Slot};
pub(crate) use cases::{Case, Cases, Layout, Phase, Quant, StepPoint};
pub(crate) use cause::{MoveCause, OperationTables};
pub(crate) use change::{
    Impact, ImpactCase, Neighbour, OpMove, PlannerView, PointImpact, PowerCoverage, Step,
    StepEffect, StepTime,
};
pub use interpreter::{Planner, PlannerChoice, VARIABLE};
pub use refusals::Refusal;
pub use session::{PlannerError, RUNNER};
pub(crate) use weights::TableWeights;

/// The time limit for one answer of the planner. The first prediction of a version takes seconds, because the planner
/// then decodes the version's tables.
const ANSWER: Duration = Duration::from_secs(120);

/// The maximum number of changed versions that the planner is asked about, besides the current and the next version of
/// each backend.
pub const MOST_VERSIONS: usize = 20;

/// A question to the planner about a database: about one state, or about the states before and after a change.
pub(crate) struct Question<'a> {
    /// The state before a change; `None` to ask about one state.
    pub before: Option<State<'a>>,
    /// The state after the change, or the only state.
    pub after: State<'a>,
    /// The differences between the two states; `None` to ask about one state.
    pub diff: Option<&'a Diff>,
    /// The models and steps to predict.
    pub cases: &'a Cases,
    /// The tables that each kind of operation reads.
    pub operations: &'a OperationTables,
    /// Name patterns of the systems to ask about. An empty list selects the systems with a changed file, or all systems
    /// if there is only one state.
    pub systems: &'a [String],
    /// Name patterns of the backends to ask about. An empty list selects all backends.
    pub backends: &'a [String],
    /// Name patterns of the versions to ask about. If the list is empty, the current, the next and the changed versions
    /// of each backend are chosen.
    pub versions: &'a [String],
    /// The maximum number of changed versions that the planner is asked about.
    pub most_versions: usize,
    /// True if the planner's engine loads the tables one by one, so that every table that it refuses is reported.
    pub loads: bool,
}

impl<'a> Question<'a> {
    /// Returns the one or two states of the question. A state before the change comes first.
    fn states(&self) -> Vec<State<'a>> {
        self.before.into_iter().chain([self.after]).collect()
    }
}
