//! The change of predicted step times, and the lines about it in a report.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::escape::clean;
use crate::base::words::{Figure, count, plural};

/// The option that turns predictions off. If a user gave it, it is also the text in [`Predictions::not_asked`], and the
/// report has no section about predictions.
pub(crate) const PREDICTIONS_OFF: &str = "--planner none";

/// The maximum number of lines in the section about predictions.
const LINES: usize = 8;
/// The maximum number of lines about steps that lost their predicted time because of the change.
const LOSSES: usize = 2;

/// The change of predicted step times, over all versions that use changed files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Predictions {
    /// The planner that made the predictions: package, version and interpreter; `None` if no planner was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// The reason why no planner was asked; `None` if one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_asked: Option<String>,
    /// True if step times were predicted before and after a change; false if they were predicted for one state only.
    #[serde(skip)]
    pub compared: bool,
    /// The number of versions that use changed files.
    pub versions: usize,
    /// The number of predicted steps, over all versions that use changed files.
    pub values: usize,
    /// The number of steps whose time changed.
    pub moved: usize,
    /// The number of steps with a predicted time only before the change.
    pub lost: usize,
    /// The number of steps with a predicted time only after the change.
    pub gained: usize,
    /// The number of steps for which the planner predicts no time, neither before nor after the change.
    pub unanswered: usize,
    /// The smallest and the largest relative change of a step's time: 0.1 for 10 % longer; `None` if no time changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// The numbers of steps for which the planner reports power: before the change, then after it.
    pub power: [usize; 2],
    /// The steps whose time changed by the largest factors, the most changed step first. Of several steps with the same
    /// cause, only the most changed one is listed.
    pub movers: Vec<PredictedMove>,
    /// The reasons why steps that were predicted before the change cannot be predicted after it.
    pub losses: Vec<String>,
    /// Remarks that concern several steps, such as operations whose time is no longer measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The versions for which the planner was not asked or gave no answer, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
    /// The reason why nothing could be predicted; `None` if predictions were possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A step whose predicted time changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PredictedMove {
    /// The step: system, backend and version, model and layout, phase, requests and tokens.
    pub step: String,
    /// The configuration of the step: system, backend and version, model, layout and quantisation.
    pub subject: String,
    /// The operating point of the step: phase, requests and tokens.
    pub point: String,
    /// The step's time before the change, in ms.
    pub before_ms: f64,
    /// The step's time after the change, in ms.
    pub after_ms: f64,
    /// The relative change of the step's time, as text for people.
    pub change: String,
    /// The operation whose predicted time changed most; `None` if no operation's time changed.
    pub because: Option<String>,
    /// The changed tables from which the planner computes the time of the operation in `because`, with their changed
    /// slices; `None` if no changed file explains the new time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl PredictedMove {
    /// Describes the step's times before and after the change, and the relative change.
    pub(crate) fn times(&self) -> String {
        let [before, after] = [self.before_ms, self.after_ms].map(Figure);
        format!("{before:.3} → {after:.3} ms, {}", self.change)
    }

    /// Joins two texts: the operation whose time changed most, and the changed tables that explain the change.
    pub(crate) fn reason(&self) -> String {
        let parts: Vec<&str> =
            [&self.because, &self.cause].into_iter().flatten().map(String::as_str).collect();
        parts.join("; ")
    }
}

/// A step whose predicted time changed, as a row of a table.
#[derive(Serialize)]
pub(crate) struct MoverRow {
    subject: String,
    point: String,
    times: String,
    reason: String,
}

impl MoverRow {
    /// Creates the row of a changed step, with escaped texts.
    pub(crate) fn new(moved: &PredictedMove) -> Self {
        let PredictedMove { subject, point, .. } = moved;
        let [subject, point, times, reason] =
            [subject, point, &moved.times(), &moved.reason()].map(|text| clean(text));
        Self { subject, point, times, reason }
    }
}

/// A line of the section about predictions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PredictionLine {
    /// The step that the line is about; empty if the line concerns all steps. The text can contain unescaped names from
    /// the database.
    pub of: String,
    /// The statement about the step, or about all steps if `of` is empty. The text contains no names from the database.
    pub said: String,
    /// The reason for what the line says; empty without a reason. The text can contain unescaped names from the
    /// database.
    pub because: String,
}

impl PredictionLine {
    fn new(said: &str, because: &str) -> Self {
        Self { said: said.to_owned(), because: because.to_owned(), ..Self::default() }
    }

    /// Joins the step, the statement and the reason with colons; empty parts are left out.
    pub(crate) fn text(&self) -> String {
        let parts = [&self.of, &self.said, &self.because];
        let parts: Vec<&str> =
            parts.into_iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        parts.join(": ")
    }
}

impl Predictions {
    /// Returns true if no version uses a changed file. The planner was then not asked.
    pub(crate) fn is_empty(&self) -> bool {
        let is_complete = self.failed.is_none() && self.not_asked.is_none() && self.gaps.is_empty();
        self.versions == 0 && is_complete
    }

    /// Returns the lines of the report's section about predictions, the most important first. The title of the section
    /// is not included.
    pub(crate) fn lines(&self) -> Vec<PredictionLine> {
        let mut lines = self.notes();
        for mover in self.movers.iter().take(LINES.saturating_sub(lines.len())) {
            lines.push(PredictionLine {
                of: mover.step.clone(),
                said: mover.times(),
                because: mover.reason(),
            });
        }
        lines
    }

    /// Returns the lines that concern all steps: how many predicted times changed, why predictions were lost, and which
    /// planner made them.
    pub(crate) fn notes(&self) -> Vec<PredictionLine> {
        let line = PredictionLine::new;
        if let Some(why) = &self.failed {
            return vec![line("predictions are not possible", why)];
        }
        if self.not_asked.as_deref() == Some(PREDICTIONS_OFF) {
            return Vec::new();
        }
        if let Some(why) = &self.not_asked {
            return vec![line("not asked", why)];
        }
        if self.is_empty() {
            return vec![line("no version that a query can name reads the changed files", "")];
        }
        let mut lines = vec![line(&self.headline(), "")];
        let more = self.losses.len().saturating_sub(LOSSES);
        lines.extend(self.losses.iter().take(LOSSES).map(|why| line("", why)));
        if more > 0 {
            lines.push(line(&format!("and {} more", plural(more, "reason")), ""));
        }
        lines.extend(self.notes.iter().chain(&self.gaps).map(|note| line("", note)));
        if self.power[0] != self.power[1] {
            let [before, after] = self.power.map(count);
            let said =
                format!("the planner knows the power of {after} steps; before it was {before}");
            lines.push(line(&said, ""));
        }
        lines.extend(self.planner.iter().map(|planner| line("predicted by", planner)));
        lines
    }

    fn headline(&self) -> String {
        let range = match (self.movers.is_empty(), self.range) {
            (false, Some([low, high])) if low == high => format!(" ({})", percent(low)),
            (false, Some([low, high])) => format!(" ({} … {})", percent(low), percent(high)),
            _ => String::new(),
        };
        if !self.compared {
            let steps = plural(self.values, "step time");
            let versions = plural(self.versions, "version");
            let unanswered = format!("{} have no answer", count(self.unanswered));
            return format!("{steps} predicted on {versions}, {unanswered}");
        }
        let verb = if self.moved == 1 { "moves" } else { "move" };
        let mut line = format!(
            "{} of {} {verb}{range} on {}",
            count(self.moved),
            plural(self.values, "predicted step time"),
            plural(self.versions, "version"),
        );
        let others = [
            (self.lost, "became errors"),
            (self.gained, "were errors before"),
            (self.unanswered, "have no answer"),
        ];
        for (n, words) in others.into_iter().filter(|(n, _)| *n > 0) {
            line += &format!(", {} {words}", count(n));
        }
        line
    }
}

/// Formats a relative change as a percentage with its sign.
pub(crate) fn percent(change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    let size = change.abs() * 100.0;
    // A small change is written with an exponent, since one decimal would show it as 0.
    if size < 0.05 { format!("{sign}{size:.1e} %") } else { format!("{sign}{:.1} %", Figure(size)) }
}
