//! The finding on slices that deviate from their peers.

use std::collections::BTreeMap;

use super::kept::RelativeLatencies;
use super::peers::{NEARBY, OTHER_KERNELS};
use crate::base::words::{Figure, plural_verb};
use crate::checks::compare::sketch::{slice_id, slice_words};
use crate::checks::context::CrossContext;
use crate::checks::rule_head::RuleHead;
use crate::database::catalog::TableFile;
use crate::findings::{Finding, Severity, SliceEvidence};

/// The name of the reference that predicts a slice from the ratios of the same tables on other systems.
pub(super) const ELSEWHERE: &str = "differences on other systems";

/// The name of the reference that predicts the shortest points of a slice from other systems.
pub(super) const ELSEWHERE_SHORT: &str = "differences of short points on other systems";

/// Returns a finding on slices and their references; `why` ends its sentence.
pub(super) fn finding(
    rule: RuleHead<'_>,
    severity: Severity,
    at: &CrossContext<'_>,
    file: &TableFile,
    slices: RelativeLatencies,
    why: &str,
) -> Option<Finding> {
    let far =
        |refs: &BTreeMap<String, f64>| refs.values().map(|r| r.ln().abs()).fold(0.0, f64::max);
    let (worst, refs) = slices.iter().max_by(|a, b| far(a.1).total_cmp(&far(b.1)))?;
    let sketch = at.sketches.by_path.get(&file.entry.path)?;
    // The sketch of a large table is a sample, so the share of its points estimates the share of rows.
    let by_slice = sketch.slices.iter().zip(&sketch.counts);
    let within: u32 = by_slice.filter(|(s, _)| slices.contains_key(s)).map(|(_, n)| *n).sum();
    let all: u32 = sketch.counts.iter().sum();
    let rows = (f64::from(within) / f64::from(all.max(1)) * sketch.rows as f64).round() as usize;
    let worst = if worst.is_empty() { "the table".to_owned() } else { slice_words(worst) };
    let backend = &file.place.backend;
    let message = format!(
        "{} from the same data of other backends, versions or systems: at {worst}, {backend} {}{why}",
        plural_verb(slices.len(), "slice", ["deviates", "deviate"]),
        sides(backend, refs),
    );
    let parts: Vec<String> = slices.keys().map(slice_id).collect();
    let evidence = slices.iter().map(|(slice, ratios)| SliceEvidence {
        slice: slice.clone(),
        figure: ("ratio_over".into(), serde_json::json!(ratios)),
    });
    let finding = Finding::on_table(rule.id, severity, file, message);
    Some(finding.rows(rows).parts(parts).slices(evidence))
}

/// Returns a text such as `is 11.55× slower than trtllm, 5.25× slower than its other versions, as fast as other systems`,
/// with the largest ratios first.
fn sides(backend: &str, refs: &BTreeMap<String, f64>) -> String {
    /// The ratio up to which two latencies are called equal.
    const LEVEL: f64 = 1.05;
    let named = |name: &str| match name {
        NEARBY => "this version on other systems".to_owned(),
        OTHER_KERNELS => "its versions with another kernel".to_owned(),
        ELSEWHERE => "its differences from the others on other systems predict".to_owned(),
        ELSEWHERE_SHORT => "these differences predict for its shortest points".to_owned(),
        same if same == backend => "its other versions".to_owned(),
        other => other.to_owned(),
    };
    let side = |keep: &dyn Fn(f64) -> bool| {
        let mut side: Vec<(f64, String)> = refs
            .iter()
            .filter(|(_, ratio)| keep(**ratio))
            .map(|(name, ratio)| (ratio.max(1.0 / ratio), named(name)))
            .collect();
        side.sort_by(|a, b| b.0.total_cmp(&a.0));
        side
    };
    let listed = |how: &str, side: Vec<(f64, String)>| {
        let each =
            side.iter().map(|(ratio, name)| format!("{:.2}× {how} than {name}", Figure(*ratio)));
        each.collect::<Vec<_>>().join(", ")
    };
    let slower = listed("slower", side(&|r| r > LEVEL));
    let faster = listed("faster", side(&|r| r < 1.0 / LEVEL));
    let level = side(&|r| (1.0 / LEVEL..=LEVEL).contains(&r));
    let mut said: Vec<String> = [slower, faster].into_iter().filter(|s| !s.is_empty()).collect();
    if !level.is_empty() {
        let names: Vec<String> = level.into_iter().map(|(_, name)| name).collect();
        said.push(format!("as fast as {}", names.join(" and ")));
    }
    format!("is {}", said.join(", "))
}
