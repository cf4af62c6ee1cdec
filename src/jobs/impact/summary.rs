//! Describes cases and steps of an impact in words, and finds the largest changes.

use std::collections::BTreeMap;

use super::OpMove;
use super::case::{Fate, Impact, ImpactCase, PointImpact};
use crate::base::words::{count, plural};
use crate::jobs::first_lines;
use crate::planner::{Step, StepPoint, TableLookup};
use crate::report::predictions::{PredictedMove, percent};

/// The maximum number of reasons shown for lost answers.
const LOST: usize = 10;

/// Sums up the impact in one line.
pub(super) fn headline(impact: &Impact) -> String {
    let values = impact.points().count();
    let missing = impact.count(Fate::Missing);
    let unanswered = match missing {
        0 => String::new(),
        n => format!("; {} have no answer", count(n)),
    };
    let versions = plural(impact.versions.len(), "version");
    if !impact.compared {
        return format!("{} predicted on {versions}{unanswered}", plural(values, "step time"));
    }
    let changes = impact.changes();
    let range = range(&changes).map(|r| format!(" ({r})")).unwrap_or_default();
    format!(
        "{} of {} move{range} on {versions}; {} became errors, {} were errors before{unanswered}",
        count(changes.len()),
        plural(values, "predicted step time"),
        count(impact.count(Fate::Lost)),
        count(impact.count(Fate::Gained)),
    )
}

/// Returns the smallest and the largest of some changes.
pub(super) fn extremes(changes: &[f64]) -> Option<[f64; 2]> {
    let low = changes.iter().copied().min_by(f64::total_cmp)?;
    let high = changes.iter().copied().max_by(f64::total_cmp)?;
    Some([low, high])
}

/// Renders the smallest and the largest of some relative changes, such as `−3 % … +12 %`.
pub(super) fn range(changes: &[f64]) -> Option<String> {
    let [low, high] = extremes(changes)?.map(percent);
    Some(if low == high { low } else { format!("{low} … {high}") })
}

/// Renders the layout of a case, such as `tp 8 dp 2 ep 8`; degrees of 1 are left out except for tp.
pub(super) fn layout(case: &ImpactCase) -> String {
    let p = case.parallel;
    let mut text = format!("tp {}", p.tp);
    if p.dp > 1 {
        text += &format!(" dp {}", p.dp);
    }
    if p.moe_ep > 1 {
        text += &format!(" ep {}", p.moe_ep);
    }
    text
}

/// Renders the quantisation of a case, with the change of attention's precision.
pub(super) fn quant(case: &ImpactCase) -> String {
    let q = &case.quant;
    let attention = match &case.quant_before {
        Some(before) if before.fmha != q.fmha => {
            format!("attention {} → {}", before.fmha, q.fmha)
        }
        _ => format!("attention {}", q.fmha),
    };
    format!("{}, cache {}, {attention}", q.gemm, q.kvcache)
}

/// Renders a step, such as `decode 64 × 1024`.
pub(super) fn step(point: StepPoint) -> String {
    format!("{} {} × {}", point.phase.word(), point.batch, point.isl)
}

/// Renders the version, model, layout and step.
pub(super) fn title(case: &ImpactCase, point: StepPoint) -> String {
    format!("{}, {}, {}", case.version, subject(case), step(point))
}

/// Renders the model and its layout.
pub(super) fn subject(case: &ImpactCase) -> String {
    format!("{} {}", case.model, layout(case))
}

/// A case with its most changed step, the relative change, and other versions with the same change.
pub(super) type Worst<'a> = (&'a ImpactCase, &'a PointImpact, f64, Vec<String>);

/// Groups cases that differ only in the version and have the same times: such versions take their
/// rows from one donor.
fn alike<'a>(worst: Vec<(&'a ImpactCase, &'a PointImpact, f64)>) -> Vec<Worst<'a>> {
    let mut found: Vec<Worst<'a>> = Vec::new();
    for (case, point, change) in worst {
        let same = found.iter_mut().find(|(other, p, ..)| {
            (&other.model, other.parallel, &other.quant)
                == (&case.model, case.parallel, &case.quant)
                && (p.point, &p.before, &p.after) == (point.point, &point.before, &point.after)
        });
        match same {
            Some((.., others)) => others.push(case.version.to_string()),
            None => found.push((case, point, change, Vec::new())),
        }
    }
    found
}

/// Returns the most changed step of each case, largest relative change first.
pub(super) fn worst(impact: &Impact) -> Vec<Worst<'_>> {
    let mut worst: Vec<(&ImpactCase, &PointImpact, f64)> = Vec::new();
    for case in &impact.cases {
        let moved = case.points.iter().filter(|p| p.fate() == Fate::Moved);
        let changes = moved.filter_map(|p| Some((p, p.change()?)));
        let most = changes.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        worst.extend(most.map(|(point, change)| (case, point, change)));
    }
    worst.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    alike(worst)
}

/// Returns the most changed steps for a report, one per case, with the cause of the operation that moved most.
pub(super) fn moves(
    impact: &Impact,
    most: usize,
    cause: impl Fn(&OpMove) -> String,
) -> Vec<PredictedMove> {
    let moved = worst(impact).into_iter().take(most);
    let caused = moved.map(|worst| {
        let cause = worst.1.ops.first().map(&cause);
        PredictedMove { cause, ..predicted_move(worst) }
    });
    caused.collect()
}

/// Renders the most changed step of a case.
pub(super) fn predicted_move((case, point, change, others): Worst<'_>) -> PredictedMove {
    let time = |step: Option<&Step>| step.and_then(|s| s.as_ref().ok()).map_or(0.0, |t| t.ms);
    let mut step = title(case, point.point);
    if !others.is_empty() {
        step += &format!(" (and {})", others.join(", "));
    }
    PredictedMove {
        step,
        subject: format!("{}, {}, {}", case.version, subject(case), quant(case)),
        point: self::step(point.point),
        before_ms: time(point.before.as_ref()),
        after_ms: time(Some(&point.after)),
        change: percent(change),
        because: point.ops.first().and_then(because),
        cause: None,
    }
}

/// Names the operation and the lookup that changed its time most: table, key and kind of answer.
pub(super) fn because(op: &OpMove) -> Option<String> {
    let (_, lookup) = most_moved(op)?;
    Some(format!("{}: {}, {}, {}", op.name, lookup.table, lookup.key, lookup.how.word()))
}

/// Returns the most changed lookup of an operation, after the lookup of the same key before the
/// change. A lookup without an earlier one counts with its whole time.
pub(super) fn most_moved(op: &OpMove) -> Option<(Option<&TableLookup>, &TableLookup)> {
    let same =
        |a: &TableLookup, b: &TableLookup| a.op == b.op && a.table == b.table && a.key == b.key;
    let paired = op.lookups_after.iter().map(|after| {
        let before = op.lookups_before.iter().find(|before| same(before, after));
        (before, after)
    });
    let moved = |(before, after): &(Option<&TableLookup>, &TableLookup)| {
        (after.ms - before.map_or(0.0, |b| b.ms)).abs()
    };
    let most = paired.max_by(|a, b| moved(a).total_cmp(&moved(b)));
    most.or_else(|| op.lookups_before.first().map(|gone| (None, gone)))
}

/// Lists answers that became errors, by case and reason.
pub(super) fn lost(impact: &Impact) -> Vec<String> {
    let mut reasons: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (case, point) in impact.points().filter(|(_, p)| p.fate() == Fate::Lost) {
        let Err(why) = &point.after else { continue };
        let case = format!("{}, {} {}", case.version, case.model, layout(case));
        *reasons.entry((case, why.to_string())).or_default() += 1;
    }
    let line = |((case, why), n): ((String, String), usize)| {
        format!("{case}: {} lost: {why}", plural(n, "answer"))
    };
    first_lines(reasons.into_iter().map(line), LOST, "case")
}
