//! Slices that become much slower or faster in a change that does not say that they were measured again.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::words::{Figure, count};
use crate::checks::context::ChangeContext;
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::database::diff::{SliceDiff, TableDiff};
use crate::database::state::State;
use crate::findings::Finding;

/// When a slice moved.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveLimits {
    /// The factor between the latencies before and after, in the median of a slice's keys.
    factor: f64,
    /// The least number of keys that move by more than honest reruns do.
    keys: u64,
}

impl Judge for MoveLimits {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes])
    }

    /// One finding per table with slices that moved.
    fn change(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Result<Found, ExprError> {
        let mut found = Found::new();
        for diff in &at.diff.tables {
            let base = at.base.catalog.table(diff.old_path.as_ref().unwrap_or(&diff.path));
            let head = at.head.catalog.table(&diff.path);
            let (Some(base), Some(head)) = (base, head) else { continue };
            if base.place == head.place && !is_measured_again(at, base, head) {
                found.extend(self.finding(rule, diff, head));
            }
        }
        Ok(found)
    }
}

impl MoveLimits {
    fn finding(&self, rule: RuleHead<'_>, diff: &TableDiff, file: &TableFile) -> Option<Finding> {
        let slices = diff.served.iter().flat_map(|served| &served.slices);
        let moved: Vec<&SliceDiff> = slices.filter(|slice| self.is_moved(slice)).collect();
        let say = |slice: &&SliceDiff| {
            let texts = slice.slice.iter().map(|(name, text)| format!("{name} {text}"));
            let name = texts.collect::<Vec<_>>().join(", ");
            let latency = slice.latency?;
            let (low, high) = (Figure(latency.low), Figure(latency.high));
            Some(format!(
                "{name} ({} keys, after over before {low:.2} to {high:.2})",
                count(latency.beyond_noise as usize)
            ))
        };
        const SHOWN: usize = 3;
        let said: Vec<String> = moved.iter().filter_map(say).collect();
        let more = said.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!("; {more} slices more") } else { String::new() };
        let keys: u64 = moved.iter().filter_map(|s| s.latency).map(|l| l.beyond_noise).sum();
        let message = format!(
            "latencies move by {} or more, but the version and the sidecar are unchanged, so nothing \
             says that they were measured again: {}{more}",
            Figure(self.factor),
            said.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; ")
        );
        let finding = rule.on_table(file, message).rows(keys as usize).parts(&said).of_change();
        (!moved.is_empty()).then_some(finding)
    }

    /// Returns true if most keys of a slice moved beyond noise and the median ratio of all its keys reaches the factor.
    fn is_moved(&self, slice: &SliceDiff) -> bool {
        let Some(latency) = slice.latency else { return false };
        let is_most = 2 * latency.beyond_noise >= slice.common;
        latency.beyond_noise >= self.keys
            && is_most
            && latency.ratio.max(1.0 / latency.ratio) >= self.factor
    }
}

/// Returns true if the sidecar's entry of a table changed, or if a sidecar came.
fn is_measured_again(at: &ChangeContext<'_>, base: &TableFile, head: &TableFile) -> bool {
    let entry = |state: &State<'_>, file: &TableFile| {
        state.meta(file).and_then(|meta| meta.tables.get(&file.table)).cloned()
    };
    entry(&at.base, base) != entry(&at.head, head)
}
