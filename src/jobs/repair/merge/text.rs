//! A merge, for people.

use super::ledger::EarlierMerge;
use super::made::{Merged, MergedRow, key_text};
use super::shards::RunFile;
use super::{Merge, MergePolicy};
use crate::base::stats::quantile;
use crate::base::words::{Figure, plural, plural_verb};

/// Keys that are shown, the ones whose latency changes most.
const SHOWN: usize = 5;

impl Merge {
    /// What a person reads; `written` says whether it was done.
    pub fn text(&self, written: bool) -> String {
        let path = self.options.table.display();
        let mut out = format!("{path}\n  with {}\n", run_names(&self.run));
        let mut line = |text: String| out += &format!("  {text}\n");
        if let EarlierMerge::WithoutSidecar { path, .. } = &self.standing {
            let path = path.display();
            line(format!("an earlier merge was stopped before {path} was written"));
        }
        for objection in &self.objections {
            line(format!("not merged: {objection}"));
        }
        let Some(merged) = self.merged.as_ref().filter(|_| self.objections.is_empty()) else {
            line(if self.objections.is_empty() {
                "nothing to merge: all files of the run are empty".to_owned()
            } else {
                "nothing was written".to_owned()
            });
            return out;
        };
        self.facts(merged).into_iter().for_each(&mut line);
        line(self.end(merged, written));
        out
    }

    fn facts(&self, merged: &Merged) -> Vec<String> {
        let mut facts = vec![format!(
            "{}; {} of the table keep every cell",
            merged.counts(),
            plural(merged.others(), "other row")
        )];
        if self.options.append {
            let (rows, added) = (
                plural(merged.own, "row"),
                plural_verb(merged.added.len(), "new row", ["follows", "follow"]),
            );
            facts.push(format!(
                "append-only: the {rows} of the table come first, in their order; {added}"
            ));
        }
        if merged.kept > 0 {
            let why = match self.options.policy {
                MergePolicy::Last => "the run has the same values",
                MergePolicy::Min => "the row of the table is at least as fast",
                MergePolicy::Median => "the row of the table is the median",
            };
            facts.push(format!("{} kept: {why}", plural(merged.kept, "measurement")));
        }
        facts.extend(ratios(&merged.replaced));
        for (a, b, keys) in merged.overlaps.iter().take(SHOWN) {
            facts.push(format!("{a} and {b} overlap in {}", plural(*keys, "key")));
        }
        if merged.overlaps.len() > SHOWN {
            let more = plural(merged.overlaps.len() - SHOWN, "more pair");
            facts.push(format!("{more} of files overlap, too"));
        }
        for (column, before, after) in &merged.origins {
            facts.push(format!("{column}: {before} → {after}"));
        }
        if merged.unserved > 0 {
            facts.push(format!(
                "for {}, the loader uses another row of the table instead of the merged one",
                plural(merged.unserved, "key")
            ));
        }
        if merged.left_out > 0 {
            let rows = plural_verb(merged.left_out, "row", ["is", "are"]);
            facts.push(format!("{rows} left out, because the list does not contain them"));
        }
        if merged.absent > 0 {
            facts.push(format!("the run lacks {} of the list", plural(merged.absent, "key")));
        }
        facts
    }

    fn end(&self, merged: &Merged, written: bool) -> String {
        match (merged.changes(), written) {
            (false, _) => "nothing to write".to_owned(),
            (true, false) => "dry run: nothing was written; add --write to merge".to_owned(),
            (true, true) => {
                let beside = if self.recorded { ", and in the sidecar" } else { "" };
                format!("merged; recorded in {}{beside}", self.options.ledger.display())
            }
        }
    }
}

/// New over old latency of what is replaced: its middle and ends, and the keys of which it is furthest
/// from 1.
fn ratios(replaced: &[MergedRow]) -> Vec<String> {
    let ratio = |c: &MergedRow| {
        let ratio = c.after / c.before?;
        (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
    };
    let mut known: Vec<(f64, &MergedRow)> =
        replaced.iter().filter_map(|c| Some((ratio(c)?, c))).collect();
    if known.is_empty() {
        return Vec::new();
    }
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sorted: Vec<f64> = known.iter().map(|(ratio, _)| *ratio).collect();
    let mut lines = vec![format!(
        "new over old latency: {:.3} in the median, from {:.3} to {:.3}",
        Figure(quantile(&sorted, 0.5)),
        Figure(sorted[0]),
        Figure(sorted[sorted.len() - 1])
    )];
    known.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()).then(a.1.at.cmp(&b.1.at)));
    for (ratio, change) in known.iter().filter(|(ratio, _)| *ratio != 1.0).take(SHOWN) {
        lines.push(format!(
            "  {:.4} → {:.4} ms, {:.3}×: {}",
            Figure(change.before.unwrap_or(f64::NAN)),
            Figure(change.after),
            Figure(*ratio),
            key_text(&change.key)
        ));
    }
    lines
}

/// A run's files in words: the only one, or the first and the number of others.
pub fn run_names(run: &[RunFile]) -> String {
    match run {
        [] => "nothing".to_owned(),
        [one] => one.shown(),
        [first, rest @ ..] => format!("{} and {} more", first.shown(), plural(rest.len(), "file")),
    }
}
