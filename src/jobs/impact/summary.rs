//! Sums up an impact in words, and finds the largest moves.

use std::collections::BTreeMap;

use crate::base::group::grouped;
use crate::base::words::{Figure, count, plural, plural_verb};
use crate::jobs::first_lines;
use crate::planner::{Impact, ImpactCase, OpMove, PointImpact, Slot, StepEffect};
use crate::report::Predictions;
use crate::report::predictions::{PredictedMove, percent};

/// Effects that the predicted times leave out.
pub(crate) const LEFT_OUT: [&str; 5] = [
    "scheduling and batching over time",
    "memory capacity",
    "speculative decoding",
    "pipeline and context parallelism",
    "corrections that the planner applies above its tables",
];

/// The maximum number of lines on predictions that became errors.
const LOST: usize = 10;

/// The maximum number of steps with a changed time that a report lists.
const MOVERS: usize = 8;

/// A step counts as slower in the next version if it takes at least this many times as long as in the current version.
const SLOWER: f64 = 2.0;

/// Returns a one-line summary of the predictions.
pub(super) fn headline(impact: &Impact) -> String {
    if let Some(why) = &impact.failure {
        return format!("predictions are not possible: {why}");
    }
    let values = impact.points().count();
    let missing = impact.count(StepEffect::Missing);
    let unanswered = match missing {
        0 => String::new(),
        n => format!("; {} have no answer", count(n)),
    };
    let versions = plural(impact.asked.len(), "version");
    if !impact.compared {
        return format!("{} predicted on {versions}{unanswered}", plural(values, "step time"));
    }
    let factors = impact.factors();
    let range = range(&factors).map(|r| format!(" ({r})")).unwrap_or_default();
    format!(
        "{} of {} move{range} on {versions}; {} became errors, {} were errors before{unanswered}",
        count(factors.len()),
        plural(values, "predicted step time"),
        count(impact.count(StepEffect::Lost)),
        count(impact.count(StepEffect::Gained)),
    )
}

/// Returns the minimum and the maximum of some numbers; `None` if there are none.
fn extremes(numbers: &[f64]) -> Option<[f64; 2]> {
    let low = numbers.iter().copied().min_by(f64::total_cmp)?;
    let high = numbers.iter().copied().max_by(f64::total_cmp)?;
    Some([low, high])
}

/// Renders the range of some ratios of times as a text such as `−3 % … +12 %`, which stands for ratios from 0.97 to
/// 1.12. Returns `None` if there are no ratios.
pub(super) fn range(factors: &[f64]) -> Option<String> {
    let [low, high] = extremes(factors)?.map(|factor| percent(factor - 1.0));
    Some(if low == high { low } else { format!("{low} … {high}") })
}

/// Renders the quantisation of a case, for matrix products, cache and attention. If the quantisation of attention
/// changed, both values are shown.
pub(super) fn quant(case: &ImpactCase) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "unknown".to_owned());
    let q = &case.quant;
    let attention = match &case.quant_before {
        Some(before) if before.fmha != q.fmha => {
            format!("attention {} → {}", name(&before.fmha), name(&q.fmha))
        }
        _ => format!("attention {}", name(&q.fmha)),
    };
    format!("{}, cache {}, {attention}", name(&q.gemm), name(&q.kvcache))
}

/// The step whose predicted time changed most, among all steps that changed for one cause. The field `steps` counts all
/// of these steps.
pub(super) struct MovedSteps<'a> {
    pub case: &'a ImpactCase,
    pub point: &'a PointImpact,
    pub steps: usize,
}

/// Groups the steps with a changed time by cause, and returns the most changed step of each group. The cause of a step
/// is the cause of its most changed operation.
pub(super) fn movers(impact: &Impact) -> Vec<MovedSteps<'_>> {
    let mut causes: BTreeMap<(&[String], &str), MovedSteps<'_>> = BTreeMap::new();
    for (case, point) in impact.points().filter(|(_, point)| point.effect() == StepEffect::Moved) {
        let cause = point.ops.first().map(|op| (&op.cause.tables[..], op.cause.words.as_str()));
        let mover =
            causes.entry(cause.unwrap_or_default()).or_insert(MovedSteps { case, point, steps: 0 });
        mover.steps += 1;
        if point.distance() > mover.point.distance() {
            (mover.case, mover.point) = (case, point);
        }
    }
    let mut movers: Vec<MovedSteps<'_>> = causes.into_values().collect();
    movers.sort_by(|a, b| b.point.distance().total_cmp(&a.point.distance()));
    movers
}

impl MovedSteps<'_> {
    /// Renders the version, model, parallel layout and step.
    pub(crate) fn title(&self) -> String {
        format!("{}, {}, {}", self.case.version, self.case.subject(), self.point.point.words())
    }

    /// Returns the step's times before and after the change, with the cause, as a row of a report.
    pub(crate) fn row(&self) -> PredictedMove {
        let Self { case, point, .. } = self;
        let op = point.ops.first();
        let time = |step: Option<&crate::planner::Step>| {
            step.and_then(|s| s.as_ref().ok()).map_or(0.0, |t| t.ms)
        };
        PredictedMove {
            step: self.title(),
            subject: format!("{}, {}, {}", case.version, case.subject(), quant(case)),
            point: point.point.words(),
            before_ms: time(point.before.as_ref()),
            after_ms: time(Some(&point.after)),
            change: point.factor().map(|factor| percent(factor - 1.0)).unwrap_or_default(),
            because: op.map(delta),
            cause: op.map(|op| op.cause.words.clone()).filter(|words| !words.is_empty()),
        }
    }
}

/// Renders the name of an operation with the change of its time in ms.
pub(super) fn delta(op: &OpMove) -> String {
    let sign = if op.delta() < 0.0 { "−" } else { "+" };
    format!("{} {sign}{:.3} ms", op.name, Figure(op.delta().abs()))
}

/// Returns one line for each case and error message, with the number of steps that lost their predicted time because of
/// this error.
pub(super) fn lost(impact: &Impact) -> Vec<String> {
    let mut reasons: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (case, point) in impact.points().filter(|(_, p)| p.effect() == StepEffect::Lost) {
        let Err(why) = &point.after else { continue };
        let case = format!("{}, {}", case.version, case.subject());
        *reasons.entry((case, why.to_string())).or_default() += 1;
    }
    let line = |((case, why), n): ((String, String), usize)| {
        format!("{case}: {} lost: {why}", plural(n, "answer"))
    };
    first_lines(reasons.into_iter().map(line), LOST, "case")
}

/// Returns remarks on the predictions, one sentence each, such as on an outdated planner or on times that are no longer
/// based on measurements.
pub(super) fn notes(impact: &Impact) -> Vec<String> {
    let mut notes: Vec<String> = impact.planner.age.iter().cloned().collect();
    for (fell, to) in [
        (OpMove::is_lost as fn(&OpMove) -> bool, "a guess"),
        (OpMove::becomes_empirical, "a fitted formula"),
    ] {
        let mut steps = impact.points().filter(|(_, point)| point.ops.iter().any(fell)).peekable();
        if let Some((case, point)) = steps.peek().copied() {
            let op = point.ops.iter().find(|op| fell(op)).map(OpMove::words).unwrap_or_default();
            let steps = plural_verb(steps.count(), "step", ["takes", "take"]);
            notes.push(format!(
                "{steps} a time from {to} that was measured before, for example {}: {op}",
                case.subject()
            ));
        }
    }
    notes.extend(slower(impact));
    notes
}

/// Returns one line for each backend with a step that takes at least twice as long in its next version as in its
/// current version. The line names the step with the largest ratio.
fn slower(impact: &Impact) -> Vec<String> {
    let in_slot = |slot: Slot| impact.asked.iter().filter(move |asked| asked.slot == slot);
    let mut lines = Vec::new();
    for next in in_slot(Slot::Next) {
        let same = |a: &&crate::planner::AskedVersion| {
            (&a.version.system, &a.version.backend) == (&next.version.system, &next.version.backend)
        };
        let Some(current) = in_slot(Slot::Current).find(same) else { continue };
        let of = |version: &crate::planner::PlannedVersion| -> Vec<(&ImpactCase, &PointImpact)> {
            impact.points().filter(|(case, _)| case.version == *version).collect()
        };
        let (then, now) = (of(&current.version), of(&next.version));
        let factor = |(case, point): &(&ImpactCase, &PointImpact)| {
            let same = |(c, p): &&(&ImpactCase, &PointImpact)| {
                c.case == case.case && p.point == point.point
            };
            let (_, was) = then.iter().find(same)?;
            let (was, is) = (was.after.as_ref().ok()?.ms, point.after.as_ref().ok()?.ms);
            (was > 0.0).then(|| is / was)
        };
        let factors = now.iter().filter_map(|step| Some((factor(step)?, step)));
        let Some((worst, (case, point))) = factors.max_by(|a, b| a.0.total_cmp(&b.0)) else {
            continue;
        };
        if worst >= SLOWER {
            lines.push(format!(
                "{} is slower than the current version {}: {} of {} takes {:.1} times as long",
                next.version,
                current.version.version,
                point.point.words(),
                case.subject(),
                Figure(worst)
            ));
        }
    }
    lines
}

/// Returns one line for each reason why versions have no predictions. The line names the first of these versions and
/// the number of further ones.
pub(super) fn gaps(impact: &Impact) -> Vec<String> {
    let not_asked = impact.not_asked.iter();
    let reasons = grouped(not_asked.map(|(version, why)| (why.as_str(), version.to_string())));
    let line = |(why, versions): (&str, Vec<String>)| {
        let more = if versions.len() > 1 {
            format!(" and {} more", count(versions.len() - 1))
        } else {
            String::new()
        };
        format!("{}{more} not asked: {why}", versions[0])
    };
    reasons.into_iter().map(line).collect()
}

/// Converts predictions to a report's section on predictions.
pub(crate) fn section(impact: &Impact) -> Predictions {
    let power = |side: fn(&PointImpact) -> Option<&crate::planner::Step>| {
        let times = impact.points().filter_map(|(_, point)| side(point)?.as_ref().ok());
        times.filter(|time| time.has_power()).count()
    };
    let changes: Vec<f64> = impact.factors().iter().map(|factor| factor - 1.0).collect();
    Predictions {
        planner: Some(impact.planner.name.clone()),
        compared: impact.compared,
        versions: impact.asked.len(),
        values: impact.points().count(),
        moved: impact.count(StepEffect::Moved),
        lost: impact.count(StepEffect::Lost),
        gained: impact.count(StepEffect::Gained),
        unanswered: impact.count(StepEffect::Missing),
        range: extremes(&changes),
        power: [power(|point| point.before.as_ref()), power(|point| Some(&point.after))],
        movers: movers(impact).iter().take(MOVERS).map(MovedSteps::row).collect(),
        losses: lost(impact),
        notes: notes(impact),
        gaps: gaps(impact),
        not_asked: None,
        failed: impact.failure.clone(),
    }
}
