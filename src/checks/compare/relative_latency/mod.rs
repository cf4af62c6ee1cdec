//! The latencies of a table's slices over those of its peers: the same slices of other backends and
//! versions on the same machine, and of the same version on the other systems of the generation.
//!
//! [`peers`] takes the ratios; two kinds of check judge them: slices that deviate from their peers, and
//! slices that are off by the factor of a unit.

mod deviation;
mod peers;
mod unit_shift;

use std::collections::{BTreeMap, BTreeSet};

pub use self::deviation::DeviationBand;
pub use self::peers::{NEARBY, RelativeLatencies, relative_latencies};
pub use self::unit_shift::UnitFactors;
use crate::base::words::plural;
use crate::checks::CrossContext;
use crate::checks::compare::sketch::{Slice, slice_id, slice_words};
use crate::checks::rule::Rule;
use crate::database::catalog::TableFile;
use crate::findings::{Finding, Severity, SliceEvidence};

/// The slices of a table that `choose` picks by their references.
fn chosen(
    own: &RelativeLatencies,
    choose: impl Fn(&Slice, &BTreeMap<String, f64>) -> bool,
) -> RelativeLatencies {
    own.iter()
        .filter(|(slice, refs)| choose(slice, refs))
        .map(|(slice, refs)| (slice.clone(), refs.clone()))
        .collect()
}

fn finding(
    rule: &Rule,
    severity: Severity,
    at: &CrossContext<'_>,
    file: &TableFile,
    slices: RelativeLatencies,
    peers: &str,
) -> Option<Finding> {
    let far =
        |refs: &BTreeMap<String, f64>| refs.values().map(|r| r.ln().abs()).fold(0.0, f64::max);
    let (worst, refs) = slices.iter().max_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    let sketch = at.sketches.by_path.get(&file.entry.path)?;
    // Of a large table the sketch holds a part; the share of its points stands for all rows.
    let chosen: BTreeSet<&Slice> = slices.keys().collect();
    let within =
        sketch.points.iter().filter(|p| chosen.contains(&sketch.slices[p.slice as usize])).count();
    let rows =
        (within as f64 / sketch.points.len().max(1) as f64 * sketch.rows as f64).round() as usize;
    let ratios: Vec<String> = refs.iter().map(|(name, r)| format!("{r:.2}× {name}")).collect();
    let worst = if worst.is_empty() { "the table".to_owned() } else { slice_words(worst) };
    let message = format!(
        "{} apart from {peers}: {worst} stands at {} (median)",
        plural(slices.len(), "slice"),
        ratios.join(", ")
    );
    let parts: Vec<String> = slices.keys().map(slice_id).collect();
    let evidence = slices.iter().map(|(slice, ratios)| SliceEvidence {
        slice: slice.clone(),
        figure: ("ratio_over", serde_json::json!(ratios)),
    });
    let finding = Finding::on_table(&rule.id, severity, file, message);
    Some(finding.rows(rows).parts(parts).slices(evidence))
}
