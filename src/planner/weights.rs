//! The effect of changed tables on predicted step times.

use hashbrown::HashMap;

use super::change::{Impact, StepEffect};
use crate::findings::{Finding, ModelReach};
use crate::report::predictions::percent;

/// The smallest relative change of a step's time that a finding mentions.
const MENTIONED: f64 = 0.005;

/// For each changed table, the effect on the step whose predicted time the table changes most. The map's keys are the
/// paths of the tables.
#[derive(Default)]
pub(crate) struct TableWeights(HashMap<String, TableWeight>);

#[derive(Default)]
struct TableWeight {
    /// The time in ms that the table's change adds to the predicted time of `step`; negative if the step becomes
    /// faster.
    ms: f64,
    /// `ms` divided by the predicted time of `step` before the change, such as 0.1 for 10 % slower.
    relative: f64,
    /// The name of the step on whose time the table has the largest relative effect.
    step: String,
    /// The number of steps whose prediction fails only after the change, with an error that names the table.
    lost: usize,
}

impl TableWeights {
    /// Computes the effect of each changed table on step times. If several tables serve an operation, the change of the
    /// operation's time is divided equally among these tables.
    pub(crate) fn of(impact: &Impact) -> Self {
        let mut found = Self::default();
        for (case, point) in impact.points() {
            let Some(Ok(before)) = &point.before else { continue };
            for op in &point.ops {
                let share = op.delta() / op.cause.tables.len().max(1) as f64;
                for path in &op.cause.tables {
                    let weight = found.0.entry_ref(path.as_str()).or_default();
                    if (share / before.ms).abs() > weight.relative.abs() {
                        weight.ms = share;
                        weight.relative = share / before.ms;
                        weight.step = format!("{} of {}", point.point.words(), case.subject());
                    }
                }
            }
            if let (StepEffect::Lost, Err(error)) = (point.effect(), &point.after) {
                let asked = impact.asked.iter().find(|asked| asked.version == case.version);
                let tables = asked.into_iter().flat_map(|asked| &asked.changed);
                for (_, table) in tables.filter(|(name, _)| error.text.contains(name.as_str())) {
                    for path in &table.paths {
                        found.0.entry_ref(path.as_str()).or_default().lost += 1;
                    }
                }
            }
        }
        found
    }

    /// Adds the effect of a finding's table on predicted step times to the finding.
    pub(crate) fn weigh(&self, finding: &mut Finding) {
        let Some(weight) = self.0.get(finding.path.as_str()).filter(|_| finding.table.is_some())
        else {
            return;
        };
        let is_mentioned = weight.relative.abs() >= MENTIONED;
        let moves = is_mentioned
            .then(|| format!("its table moves {} by {}", weight.step, percent(weight.relative)));
        finding.evidence.models =
            Some(ModelReach { moves_ms: weight.ms.abs(), moves, loses: weight.lost });
    }
}
