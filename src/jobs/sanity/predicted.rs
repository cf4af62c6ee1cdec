//! Asks the planner about a pull request.

use std::sync::Arc;

use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::checks::Input;
use crate::checks::rule::Rule;
use crate::database::catalog::Role;
use crate::database::diff::{Diff, FileDiff};
use crate::findings::{Finding, Sink};
use crate::jobs::impact::{PlannerOptions, PreparedPlanner, section};
use crate::jobs::pull_request::PullRequest;
use crate::planner::{Impact, TableWeights};
use crate::report::Predictions;

/// The step times that the planner predicts before and after a pull request, with the findings on them.
#[derive(Default)]
pub(super) struct PullRequestPredictions {
    impact: Option<Impact>,
    /// The findings on the predictions, for example on a step that the planner can no longer predict.
    findings: Vec<Finding>,
    /// The section of the report about predictions; `None` if no file that the planner reads has changed, or if no
    /// rule needs predictions.
    pub section: Option<Predictions>,
}

impl PullRequestPredictions {
    /// Asks the planner for step times before and after the change. The planner reads only the main root folder of the
    /// database.
    ///
    /// # Errors
    ///
    /// If the planner does not answer although the user named its interpreter, or if a state cannot be written to the
    /// temporary folder.
    pub(crate) fn of(
        options: &PlannerOptions,
        pull: &PullRequest,
        (rules, diff): (&[Arc<Rule>], &Diff),
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (before, after) = pull.main_states();
        let is_asked = rules.iter().any(|rule| rule.check.needs().has(Input::Predictions));
        let is_read = |file: &FileDiff| file.role != Role::Trace;
        let is_concerned = !diff.tables.is_empty() || diff.files.iter().any(is_read);
        if !is_asked || !is_concerned || after.catalog.layout.is_some() {
            return Ok(Self::default());
        }
        let asking = match PreparedPlanner::prepare(options, &pull.settings.specs.library)? {
            Ok(asking) => asking,
            Err(why) => {
                let section = Predictions { not_asked: Some(why), ..Predictions::default() };
                return Ok(Self { section: Some(section), ..Self::default() });
            }
        };
        let impact = asking.change((before, after), diff, progress)?;
        let findings = impact.findings(rules, after, Some(diff));
        Ok(Self { section: Some(section(&impact)), findings, impact: Some(impact) })
    }

    /// Adds the findings on predictions to `sink`. Also extends all findings on tables in `sink`: each then states how
    /// much its table changes the predicted step times.
    pub(crate) fn enter(&mut self, sink: &mut Sink) {
        sink.extend(std::mem::take(&mut self.findings));
        if let Some(impact) = &self.impact {
            let weights = TableWeights::of(impact);
            sink.for_each_mut(|finding| weights.weigh(finding));
        }
    }
}
