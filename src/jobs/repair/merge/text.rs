//! Renders a merge for people.

use std::collections::BTreeSet;

use super::groups::StackRows;
use super::made::{MergedRow, MergedTable};
use super::options::{ListComparison, MergeOptions, MergePolicy};
use super::shards::RunFile;
use super::stack::ORIGIN;
use crate::base::stats::quantile;
use crate::base::words::{Figure, plural, plural_verb};

/// The maximum number of keys that the report of a merge shows. Keys with the largest change of latency are chosen.
const SHOWN: usize = 5;

/// Returns sentences on the effects of a merge.
pub(super) fn facts(
    options: &MergeOptions,
    rows: &StackRows<'_>,
    listed: &ListComparison,
    merged: &MergedTable,
) -> Vec<String> {
    let others = plural(merged.others, "other row");
    let mut facts = vec![format!("{}; {others} of the table keep every cell", merged.counts)];
    if merged.kept > 0 {
        let why = match options.policy {
            MergePolicy::Last => "the run has the same values",
            MergePolicy::Min => "the row of the table is at least as fast",
            MergePolicy::Median => "the row of the table is the median",
        };
        facts.push(format!("{} kept: {why}", plural(merged.kept, "measurement")));
    }
    facts.extend(ratios(rows, &merged.replaced));
    facts.extend(merged.overlap.clone());
    facts.extend(changed_origins(rows, &merged.replaced));
    if merged.unserved > 0 {
        facts.push(format!(
            "for {}, the loader uses another row of the table instead of the merged one",
            plural(merged.unserved, "key")
        ));
    }
    if !listed.left_out.is_empty() {
        let rows = plural_verb(listed.left_out.len(), "row", ["is", "are"]);
        facts.push(format!("{rows} left out, because the list does not contain them"));
    }
    if listed.absent > 0 {
        facts.push(format!("the run lacks {} of the list", plural(listed.absent, "key")));
    }
    facts
}

/// Describes the ratios of new to old latency of replaced rows: median, range, and the keys with the largest changes.
fn ratios(rows: &StackRows<'_>, replaced: &[MergedRow]) -> Vec<String> {
    let ratio = |row: &MergedRow| {
        let ratio = row.after / row.before?;
        (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
    };
    let mut known: Vec<(f64, &MergedRow)> =
        replaced.iter().filter_map(|row| Some((ratio(row)?, row))).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sorted: Vec<f64> = known.iter().map(|(ratio, _)| *ratio).collect();
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return Vec::new() };
    let mut lines = vec![format!(
        "new over old latency: {:.3} in the median, from {:.3} to {:.3}",
        Figure(quantile(&sorted, 0.5)),
        Figure(*first),
        Figure(*last)
    )];
    known.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()).then(a.1.at.cmp(&b.1.at)));
    for (ratio, row) in known.iter().filter(|(ratio, _)| *ratio != 1.0).take(SHOWN) {
        lines.push(format!(
            "  {:.4} → {:.4} ms, {:.3}×: {}",
            Figure(row.before.unwrap_or(f64::NAN)),
            Figure(row.after),
            Figure(*ratio),
            rows.key_text(row.row)
        ));
    }
    lines
}

/// Returns one line per changed device, framework or version, such as `version: 0.1 → 0.2`. The first value is the
/// table's, the second is the run's.
fn changed_origins(rows: &StackRows<'_>, replaced: &[MergedRow]) -> Vec<String> {
    let mut changed = BTreeSet::new();
    for name in ORIGIN {
        let Some(column) = rows.stack.table.column(name) else { continue };
        let text = |row: usize| column.text(row).unwrap_or("");
        for row in replaced {
            let others = row.own.iter().filter(|own| text(**own) != text(row.row));
            changed.extend(others.map(|own| format!("{name}: {} → {}", text(*own), text(row.row))));
        }
    }
    changed.into_iter().collect()
}

/// Returns a short text for the files of a run, such as `a.parquet and 2 files more`.
pub(super) fn run_names(run: &[RunFile]) -> String {
    match run {
        [] => "nothing".to_owned(),
        [one] => one.shown(),
        [first, rest @ ..] => format!("{} and {} more", first.shown(), plural(rest.len(), "file")),
    }
}
