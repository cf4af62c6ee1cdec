//! Latencies that change in a pull request that does not say that they were measured again.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::expr::ExprError;
use crate::base::stats::times_off;
use crate::base::words::{Figure, plural};
use crate::checks::{ChangeContext, CheckInputs, Found, Input, Judge, RuleHead};
use crate::database::catalog::TableFile;
use crate::database::diff::{ServedDiff, SliceDiff, SliceLatency, TableDiff};
use crate::database::sidecar::TableMeta;
use crate::database::state::State;
use crate::findings::Finding;

/// The limits above which a slice's latencies count as changed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveLimits {
    /// A slice counts as changed as a whole only if the median ratio of its latencies, head to base, is at least this
    /// factor, or at most 1 divided by this factor.
    factor: f64,
    /// A slice is reported as changed as a whole only if the latencies of at least this many keys changed by more than
    /// reruns do. A slice is reported for single changed latencies only if it has at least this many keys.
    keys: u64,
}

impl Judge for MoveLimits {
    fn needs(&self) -> CheckInputs {
        CheckInputs::of(&[Input::Changes])
    }

    /// Returns up to two findings per table: one on slices whose latencies changed as a whole, and one on single
    /// latencies that changed.
    fn change(&self, rule: RuleHead<'_>, at: &ChangeContext<'_>) -> Result<Found, ExprError> {
        let mut found = Found::new();
        for table in at.diff.tables.iter().filter_map(|diff| ServedChange::of(at, diff)) {
            let (moved, others): (Vec<&SliceDiff>, Vec<&SliceDiff>) =
                table.served.slices.iter().partition(|slice| self.is_moved(slice));
            let cells: Vec<&SliceDiff> =
                others.into_iter().filter(|slice| self.has_single_cells(slice)).collect();
            found.extend(table.moved(rule, &moved, self.factor));
            found.extend(table.single_cells(rule, &cells));
        }
        Ok(found)
    }
}

impl MoveLimits {
    /// Returns true if most latencies of a slice changed beyond rerun noise, and the median ratio of all its latencies
    /// reaches the limit `factor`.
    fn is_moved(&self, slice: &SliceDiff) -> bool {
        let Some(latency) = slice.latency else { return false };
        let is_most = 2 * latency.beyond_noise >= slice.common;
        latency.beyond_noise >= self.keys && is_most && times_off(latency.ratio) >= self.factor
    }

    /// Returns true if some latencies of a slice changed beyond rerun noise, while most did not change at all. A new
    /// measurement would change nearly all latencies.
    fn has_single_cells(&self, slice: &SliceDiff) -> bool {
        let moved =
            |l: SliceLatency| l.keys >= self.keys && l.beyond_noise > 0 && 2 * l.changed < l.keys;
        slice.latency.is_some_and(moved)
    }
}

/// Returns how many keys of the slices have latencies that changed by more than reruns do.
fn moved_keys(slices: &[&SliceDiff]) -> u64 {
    slices.iter().filter_map(|slice| slice.latency).map(|latency| latency.beyond_noise).sum()
}

/// Joins the descriptions of the first slices, and says how many more there are.
fn shown(said: &[String]) -> String {
    const SHOWN: usize = 3;
    let more = said.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; {more} slices more") } else { String::new() };
    format!("{}{more}", said.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; "))
}

/// A table that a pull request changes without a move to another system, backend or version. `before` and `after` are
/// the sidecar's entries on the table in base and head.
struct ServedChange<'a> {
    diff: &'a TableDiff,
    served: &'a ServedDiff,
    head: &'a TableFile,
    before: Option<&'a TableMeta>,
    after: Option<&'a TableMeta>,
}

impl<'a> ServedChange<'a> {
    fn of(at: &ChangeContext<'a>, diff: &'a TableDiff) -> Option<Self> {
        let base = at.base.catalog.table(diff.old_path.as_ref().unwrap_or(&diff.path))?;
        let head = at.head.catalog.table(&diff.path)?;
        let entry = |state: &State<'a>, file: &TableFile| state.meta(file)?.tables.get(&file.table);
        let served = diff.served.as_ref().filter(|_| base.place == head.place)?;
        let before = entry(&at.base, base);
        Some(Self { diff, served, head, before, after: entry(&at.head, head) })
    }

    /// Returns a finding on slices that moved as a whole, by a factor of `factor` or more.
    fn moved(&self, rule: RuleHead<'_>, slices: &[&SliceDiff], factor: f64) -> Option<Finding> {
        let ratios = |SliceLatency { low, high, .. }| {
            format!(", after over before {:.2} to {:.2}", Figure(low), Figure(high))
        };
        self.finding(rule, slices, &format!("latencies move by {} or more", Figure(factor)), ratios)
    }

    /// Returns a finding on slices in which only single latencies changed. Its examples are the rows that changed
    /// most.
    fn single_cells(&self, rule: RuleHead<'_>, slices: &[&SliceDiff]) -> Option<Finding> {
        let [low, high] = [self.served.ratios.first(), self.served.ratios.last()]
            .map(|ratio| Figure(ratio.copied().unwrap_or(1.0)));
        let keys = plural(moved_keys(slices) as usize, "single key");
        let what = format!(
            "the latency of {keys} changes (after over before {low:.2} to {high:.2}) while most others stay the same"
        );
        let worst = self.diff.ratios.iter().flat_map(|ratios| ratios.worst.clone()).collect();
        Some(self.finding(rule, slices, &what, |_| String::new())?.examples(worst))
    }

    /// Creates a finding on slices; `None` if there are no slices, or if the sidecar states a new collection, which
    /// explains the changed latencies. The message starts with `what`. `ratios` formats a slice's latency ratios.
    fn finding(
        &self,
        rule: RuleHead<'_>,
        slices: &[&SliceDiff],
        what: &str,
        ratios: impl Fn(SliceLatency) -> String,
    ) -> Option<Finding> {
        let (keys, rows) = (moved_keys(slices), self.diff.head_rows.unwrap_or(u64::MAX));
        let is_new = |after: &TableMeta| after.adds_collection(self.before, keys, rows);
        if slices.is_empty() || self.after.is_some_and(is_new) {
            return None;
        }
        let say = |slice: &&SliceDiff| {
            let texts = slice.slice.iter().map(|(name, text)| format!("{name} {text}"));
            let (name, latency) = (texts.collect::<Vec<_>>().join(", "), slice.latency?);
            let keys = plural(latency.beyond_noise as usize, "key");
            Some(format!("{name} ({keys}{})", ratios(latency)))
        };
        let said: Vec<String> = slices.iter().filter_map(say).collect();
        let message = format!(
            "{what}, but neither the version nor a new collection in the sidecar says that they were measured \
             again{}: {}",
            self.notes(),
            shown(&said)
        );
        Some(rule.on_table(self.head, message).rows(keys as usize).parts(&said).about_change())
    }

    /// Returns a phrase for the message: the notes and the status that the pull request adds to the sidecar's entry on
    /// the table. Returns an empty text if it adds none.
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
