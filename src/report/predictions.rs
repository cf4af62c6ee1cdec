//! What a change does to predicted step times, for the section of that name.

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::words::{Figure, count, plural};

/// Lines of the section, at most.
const LINES: usize = 8;
/// Lines for answers that became errors, at most.
const LOSSES: usize = 2;

/// What a change does to predictions of default models, on the versions that read what changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Predictions {
    /// Versions that read what changed.
    pub versions: usize,
    /// Steps predicted on them.
    pub values: usize,
    /// Steps with another time than before.
    pub moved: usize,
    /// Steps that had a time and have none.
    pub lost: usize,
    /// Steps that had no time and have one.
    pub gained: usize,
    /// Steps without a time on either side.
    pub unanswered: usize,
    /// The least and the largest change of a time, as shares of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Steps of which the planner could say the power, and can.
    pub power: [usize; 2],
    /// The steps that moved most, one of each model and layout, most first.
    pub movers: Vec<PredictedMove>,
    /// Why answers became errors.
    pub losses: Vec<String>,
    /// Why nothing could be predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A step that moved.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PredictedMove {
    /// System, backend and version, model and layout, phase, requests and tokens.
    pub step: String,
    /// Its time before, ms.
    pub before_ms: f64,
    /// Its time, ms.
    pub after_ms: f64,
    /// The change as people read it.
    pub change: String,
    /// The operation that moved most, with table, key and how it was answered.
    pub because: Option<String>,
}

/// A line of the section.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PredictionLine {
    /// What it is about, with words from data; empty where it is about all.
    pub of: String,
    /// Figures and words of this program.
    pub said: String,
    /// Why, with words from data.
    pub because: String,
}

impl PredictionLine {
    fn said(said: String) -> Self {
        Self { said, ..Self::default() }
    }

    /// The line as one text.
    pub fn text(&self) -> String {
        let parts = [&self.of, &self.said, &self.because];
        let parts: Vec<&str> =
            parts.into_iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
        parts.join(": ")
    }
}

impl Predictions {
    /// The section, most important first, without a title.
    pub fn lines(&self) -> Vec<PredictionLine> {
        if let Some(why) = &self.failed {
            let said = "predictions are not possible".to_owned();
            return vec![PredictionLine { because: why.clone(), ..PredictionLine::said(said) }];
        }
        if self.versions == 0 {
            return vec![PredictionLine::said(
                "no default model reads the changed rows".to_owned(),
            )];
        }
        let mut lines = vec![PredictionLine::said(self.headline())];
        let more = self.losses.len().saturating_sub(LOSSES);
        let losses = self.losses.iter().take(LOSSES).cloned();
        lines.extend(losses.map(|because| PredictionLine { because, ..PredictionLine::default() }));
        if more > 0 {
            lines.push(PredictionLine::said(format!("and {} more", plural(more, "reason"))));
        }
        if self.power[0] != self.power[1] {
            let [before, after] = self.power.map(count);
            let said =
                format!("the planner knows the power of {after} steps; before it was {before}");
            lines.push(PredictionLine::said(said));
        }
        for mover in self.movers.iter().take(LINES - lines.len()) {
            lines.push(PredictionLine {
                of: mover.step.clone(),
                said: format!(
                    "{:.3} → {:.3} ms, {}",
                    Figure(mover.before_ms),
                    Figure(mover.after_ms),
                    mover.change
                ),
                because: mover.because.clone().unwrap_or_default(),
            });
        }
        lines
    }

    fn headline(&self) -> String {
        let range = match (self.movers.is_empty(), self.range) {
            (false, Some([low, high])) if low == high => format!(" ({})", percent(low)),
            (false, Some([low, high])) => format!(" ({} … {})", percent(low), percent(high)),
            _ => String::new(),
        };
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

/// A share as people read it.
pub fn percent(change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    let size = change.abs() * 100.0;
    // A move too small for one decimal is not shown as none.
    if size < 0.05 { format!("{sign}{size:.1e} %") } else { format!("{sign}{:.1} %", Figure(size)) }
}
