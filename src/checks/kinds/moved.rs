//! Latencies that change in a pull request that does not say that they were measured again.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::stats::times_off;
use crate::base::words::{Figure, plural};
use crate::checks::context::ChangeContext;
use crate::checks::inputs::{CheckInputs, Input};
use crate::checks::judge::{Found, Judge};
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::database::diff::{ServedDiff, SliceDiff, SliceLatency};
use crate::database::sidecar::TableMeta;
use crate::database::state::State;

/// When a slice moved.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveLimits {
    /// The factor between the latencies before and after, in the median of a slice's keys.
    factor: f64,
    /// The least number of keys of a slice: of those that move by more than honest reruns do, and of all where single
    /// ones move.
    keys: u64,
}

impl Judge for MoveLimits {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes])
    }

    /// One finding per table with slices that moved, and one per table with single latencies that changed.
    fn change(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Result<Found, ExprError> {
        let mut found = Found::new();
        for diff in &at.diff.tables {
            let base = at.base.catalog.table(diff.old_path.as_ref().unwrap_or(&diff.path));
            let head = at.head.catalog.table(&diff.path);
            let (Some(base), Some(head), Some(served)) = (base, head, &diff.served) else {
                continue;
            };
            if base.place != head.place {
                continue;
            }
            let (moved, others): (Vec<&SliceDiff>, Vec<&SliceDiff>) =
                served.slices.iter().partition(|slice| self.is_moved(slice));
            let cells: Vec<&SliceDiff> =
                others.into_iter().filter(|slice| self.has_single_cells(slice)).collect();
            let entries = Entries::of(at, base, head);
            for (slices, is_whole) in [(moved, true), (cells, false)] {
                let keys = slices.iter().filter_map(|s| s.latency).map(|l| l.beyond_noise).sum();
                if slices.is_empty() || entries.add_collection(keys, diff.head_rows) {
                    continue;
                }
                let said: Vec<String> =
                    slices.iter().filter_map(|slice| words(slice, is_whole)).collect();
                let what = if is_whole {
                    format!("latencies move by {} or more", Figure(self.factor))
                } else {
                    format!("{} while most others stay the same", single(keys, served))
                };
                let message = format!(
                    "{what}, but neither the version nor a new collection in the sidecar says that they were measured \
                     again{}: {}",
                    entries.notes(),
                    shown(&said)
                );
                let finding = rule.on_table(head, message).rows(keys as usize).parts(&said);
                let worst = diff.ratios.as_ref().filter(|_| !is_whole).map(|r| r.worst.clone());
                found.push(finding.examples(worst.unwrap_or_default()).of_change());
            }
        }
        Ok(found)
    }
}

impl MoveLimits {
    /// Returns true if most keys of a slice moved beyond noise and the median ratio of all its keys reaches the factor.
    fn is_moved(&self, slice: &SliceDiff) -> bool {
        let Some(latency) = slice.latency else { return false };
        let is_most = 2 * latency.beyond_noise >= slice.common;
        latency.beyond_noise >= self.keys && is_most && times_off(latency.ratio) >= self.factor
    }

    /// Returns true if latencies of a slice moved beyond noise while most others stay the same to the last bit, as no
    /// rerun leaves them.
    fn has_single_cells(&self, slice: &SliceDiff) -> bool {
        let moved =
            |l: SliceLatency| l.keys >= self.keys && l.beyond_noise > 0 && 2 * l.changed < l.keys;
        slice.latency.is_some_and(moved)
    }
}

/// Names a slice with its moved keys, and their ratios if it moved as a whole.
fn words(slice: &SliceDiff, is_whole: bool) -> Option<String> {
    let texts = slice.slice.iter().map(|(name, text)| format!("{name} {text}"));
    let name = texts.collect::<Vec<_>>().join(", ");
    let latency = slice.latency?;
    let keys = plural(latency.beyond_noise as usize, "key");
    let (low, high) = (Figure(latency.low), Figure(latency.high));
    let ratios =
        if is_whole { format!(", after over before {low:.2} to {high:.2}") } else { String::new() };
    Some(format!("{name} ({keys}{ratios})"))
}

/// Words the number of keys whose latency changed alone, with the extreme ratios of the table.
fn single(keys: u64, served: &ServedDiff) -> String {
    let [low, high] = [served.ratios.first(), served.ratios.last()]
        .map(|ratio| Figure(ratio.copied().unwrap_or(1.0)));
    let keys = plural(keys as usize, "single key");
    format!("the latency of {keys} changes (after over before {low:.2} to {high:.2})")
}

/// Joins the first slices.
fn shown(said: &[String]) -> String {
    const SHOWN: usize = 3;
    let more = said.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; {more} slices more") } else { String::new() };
    format!("{}{more}", said.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; "))
}

/// The entries of a table in the sidecars of both states.
struct Entries<'a> {
    before: Option<&'a TableMeta>,
    after: Option<&'a TableMeta>,
}

impl<'a> Entries<'a> {
    fn of(at: &ChangeContext<'a>, base: &TableFile, head: &TableFile) -> Self {
        let entry = |state: &State<'a>, file: &TableFile| state.meta(file)?.tables.get(&file.table);
        Self { before: entry(&at.base, base), after: entry(&at.head, head) }
    }

    /// Returns true if the head states a new collection whose rows fit the moved keys and the table.
    fn add_collection(&self, keys: u64, rows: Option<u64>) -> bool {
        let rows = rows.unwrap_or(u64::MAX);
        self.after.is_some_and(|after| after.adds_collection(self.before, keys, rows))
    }

    /// Quotes the notes and the status that the change adds, which explain nothing.
    fn notes(&self) -> String {
        let Some(after) = self.after else { return String::new() };
        let before: Vec<String> = self.before.into_iter().flat_map(TableMeta::notes).collect();
        let mut said: Vec<String> = after.notes().filter(|note| !before.contains(note)).collect();
        if self.before.is_none_or(|before| before.status != after.status) {
            said.push(format!("status: {}", after.status));
        }
        if said.is_empty() { String::new() } else { format!(" (it adds {})", said.join(", ")) }
    }
}
