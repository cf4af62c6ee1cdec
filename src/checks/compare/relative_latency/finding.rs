//! The finding on slices that deviate from their peers.

use std::collections::BTreeMap;

use super::kept::RelativeLatencies;
use super::peers::{NEARBY, OTHER_KERNELS};
use crate::base::stats::times_off;
use crate::base::words::{Figure, plural_verb};
use crate::checks::compare::sketch::{slice_id, slice_name};
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
    let sketch = at.sketches.get(&file.entry.path)?;
    let is_found = |index: &usize| slices.contains_key(&sketch.slices[*index]);
    let rows = sketch.rows_of((0..sketch.counts.len()).filter(is_found));
    let worst = slice_name(worst);
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

/// Returns a text such as `is 11.55× slower than trtllm, 5.25× slower than its other versions`: the largest ratio to
/// other backends, and the largest to the table's own kin or else the next. The evidence has all ratios.
fn sides(backend: &str, refs: &BTreeMap<String, f64>) -> String {
    let is_kin = |name: &str| [NEARBY, OTHER_KERNELS, backend].contains(&name);
    let mut by_ratio: Vec<(&str, f64)> = refs.iter().map(|(name, r)| (name.as_str(), *r)).collect();
    by_ratio.sort_by(|a, b| b.1.ln().abs().total_cmp(&a.1.ln().abs()).then(a.0.cmp(b.0)));
    let (kin, others): (Vec<_>, Vec<_>) = by_ratio.into_iter().partition(|(name, _)| is_kin(name));
    let (first, second) = others.split_at(others.len().min(1));
    let (own, more_kin) = kin.split_at(kin.len().min(1));
    let two = first.iter().chain(own).chain(second).chain(more_kin).take(2);
    let said: Vec<String> = two.map(|(name, ratio)| ratio_words(backend, name, *ratio)).collect();
    format!("is {}", said.join(", "))
}

/// Words a ratio to a reference, such as `5.25× slower than its other versions`.
fn ratio_words(backend: &str, name: &str, ratio: f64) -> String {
    /// The ratio up to which two latencies are called equal.
    const LEVEL: f64 = 1.05;
    let name = match name {
        NEARBY => "this version on other systems",
        OTHER_KERNELS => "its versions with another kernel",
        ELSEWHERE => "its differences from the others on other systems predict",
        ELSEWHERE_SHORT => "these differences predict for its shortest points",
        same if same == backend => "its other versions",
        other => other,
    };
    let times = Figure(times_off(ratio));
    if times.0 <= LEVEL {
        format!("as fast as {name}")
    } else if ratio > 1.0 {
        format!("{times:.2}× slower than {name}")
    } else {
        format!("{times:.2}× faster than {name}")
    }
}
