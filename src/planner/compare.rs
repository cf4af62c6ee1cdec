//! Compares the planner's answers before and after a change, operation by operation.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{PointReply, PredictReply, StateAnswer};
use super::findings::age;
use super::{
    AskedVersion, Case, Impact, ImpactCase, MoveCause, OpMove, PlannedVersion, Planner,
    PlannerView, PointImpact, Quant, Question, Refusal, Source, Step, StepTime,
};
use crate::database::catalog::VersionDir;

impl Impact {
    /// Creates an empty result, to which the planner's answers are added.
    pub(super) fn new(planner: &Planner, question: &Question<'_>) -> Self {
        Self {
            planner: PlannerView {
                name: planner.to_string(),
                package: planner.package(),
                age: age(planner, question.after),
            },
            compared: question.before.is_some(),
            ..Self::default()
        }
    }

    /// Adds the planner's answers about one version, before and after the change, to this result.
    pub(super) fn add(
        &mut self,
        asked: AskedVersion,
        before: Option<StateAnswer>,
        after: StateAnswer,
        question: &Question<'_>,
    ) {
        let states = [before.as_ref(), Some(&after)];
        let failed = states.into_iter().flatten().find_map(|state| state.failure.clone());
        self.not_asked.extend(failed.map(|why| (asked.version.clone(), why)));
        let mut refusals = Refusal::of_version(&asked, before.as_ref(), &after);
        // A version that is new had no errors before.
        let is_of = |dir: &VersionDir| PlannedVersion::of(&dir.place) == asked.version;
        let existed = question.before.is_some_and(|state| state.catalog.dirs.values().any(is_of));
        let then = before.filter(|_| existed).map(|state| state.cases);
        for (number, (case, now)) in question.cases.cases.iter().zip(after.cases).enumerate() {
            let was = match &then {
                Some(then) => match then.get(number) {
                    Some(Some(reply)) => Some(reply),
                    // Without an answer about one state there is nothing to compare.
                    _ => continue,
                },
                None => None,
            };
            let Some(now) = now else { continue };
            refusals.extend(Refusal::of_prediction(&asked, was, &now, question));
            self.cases.push(compare(&asked, case, was, &now, question));
        }
        // A refused table is listed once, even if several versions read it.
        let mut known: BTreeSet<Option<String>> =
            self.refusals.iter().map(|r| r.path.clone()).collect();
        refusals.retain(|r| r.path.is_none() || known.insert(r.path.clone()));
        self.refusals.extend(refusals);
        self.asked.push(asked);
    }
}

/// Compares the predictions for a model before and after a change.
fn compare(
    asked: &AskedVersion,
    case: &Case,
    was: Option<&PredictReply>,
    now: &PredictReply,
    question: &Question<'_>,
) -> ImpactCase {
    let is_known = |quant: &Quant| *quant != Quant::default();
    let quant =
        if is_known(&now.quant) { &now.quant } else { was.map_or(&now.quant, |was| &was.quant) };
    let quant_before = was.map(|was| was.quant.clone()).filter(|was| is_known(was) && was != quant);
    let points =
        question.cases.points.iter().zip(&now.points).enumerate().map(|(at, (point, after))| {
            let before = was.and_then(|was| was.points.get(at));
            let ops =
                before.map(|before| moved(asked, now, before, after, question)).unwrap_or_default();
            PointImpact {
                point: *point,
                before: before.map(PointReply::step),
                after: after.step(),
                ops,
            }
        });
    let points = points.collect();
    ImpactCase {
        version: asked.version.clone(),
        case: case.clone(),
        quant: quant.clone(),
        quant_before,
        points,
    }
}

impl PointReply {
    fn step(&self) -> Step {
        match self {
            Self::Time { ms, power, .. } => Ok(StepTime { ms: *ms, power: *power }),
            Self::Error { error } => Err(error.clone()),
        }
    }

    /// Returns the time in ms and the origin of each operation, by the operation's name. The planner lists an operation
    /// twice if it occurs in two kinds of layers. The two times are then added, and the less trustworthy origin is
    /// kept.
    fn ops(&self) -> BTreeMap<&str, (f64, Option<Source>)> {
        let mut found = BTreeMap::new();
        if let Self::Time { ops, .. } = self {
            for (name, ms, source) in ops {
                let (sum, worst) = found.entry(name.as_str()).or_insert((0.0, *source));
                *sum += ms;
                *worst = worst.zip(*source).map(|(a, b)| a.max(b));
            }
        }
        found
    }
}

/// Returns the operations of a step whose time or source changed, largest change first.
fn moved(
    asked: &AskedVersion,
    reply: &PredictReply,
    before: &PointReply,
    after: &PointReply,
    question: &Question<'_>,
) -> Vec<OpMove> {
    let (then, now) = (before.ops(), after.ops());
    let both = now.iter().filter_map(|(name, now)| Some((name, then.get(name)?, now)));
    let changed = both.filter(|(_, then, now)| then != now);
    let moves = changed.map(|(name, (before, source_before), (after, source_after))| {
        let kinds = reply.operations.get(*name).map(Vec::as_slice).unwrap_or_default();
        OpMove {
            name: (*name).to_owned(),
            before: *before,
            after: *after,
            source_before: *source_before,
            source_after: *source_after,
            cause: MoveCause::of(asked, kinds, question),
        }
    });
    let mut moves: Vec<OpMove> = moves.collect();
    moves.sort_by(|a, b| {
        b.delta().abs().total_cmp(&a.delta().abs()).then_with(|| a.name.cmp(&b.name))
    });
    moves
}
