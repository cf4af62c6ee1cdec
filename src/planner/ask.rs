//! Asks the planner about the versions of one or two states, in processes of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::answer::{LoadReply, PointReply, PredictReply, StateAnswer};
use super::asked::{AskedVersion, PlannedVersion, Slot};
use super::cases::{Case, StepPoint};
use super::change::{Impact, Neighbour};
use super::interpreter::Planner;
use super::session::{Failure, Session};
use super::tree::PlannerTree;
use super::versions::{Chosen, Survey, choose, request, systems};
use super::{ANSWER, Question};
use crate::base::error::Result;
use crate::base::progress::Progress;

/// The most processes at a time; each needs up to 400 MB.
const PROCESSES: usize = 4;

/// Longest time for all answers of a process.
const LONGEST: Duration = Duration::from_secs(300);

/// Number of answers in a row for which a process is started again.
const LOST: usize = 2;

/// Asks the planner about the versions that a question concerns.
///
/// # Errors
///
/// If the question names something unknown, or a state cannot be written to the temporary folder. A planner that
/// gives no answer is part of the result.
pub(crate) fn ask(
    planner: &Planner,
    question: &Question<'_>,
    progress: &dyn Progress,
) -> Result<Impact> {
    let start = Instant::now();
    let mut impact = Impact::new(planner, question);
    let concerned = systems(question)?;
    if concerned.is_empty() {
        return Ok(impact);
    }
    let mut trees: Vec<PlannerTree<'_>> =
        question.states().into_iter().map(PlannerTree::new).collect::<Result<_>>()?;
    for tree in &mut trees {
        tree.add(concerned.iter().map(String::as_str))?;
    }
    let surveys: std::result::Result<Vec<Survey>, Failure> =
        trees.iter().map(|tree| Survey::of(planner.session()?, tree, &concerned)).collect();
    let chosen = match surveys {
        Ok(mut surveys) => choose(question, &trees, &mut surveys)?,
        Err(why) => Err(why),
    };
    let Chosen { asked, left } = match chosen {
        Ok(chosen) => chosen,
        Err(why) if planner.is_named() => return Err(planner.failed(&why)),
        Err(why) => {
            impact.failed = Some(why.to_string());
            return Ok(impact);
        }
    };
    impact.not_asked = left;
    let absent = |version: &AskedVersion| Some((version.version.clone(), version.absent.clone()?));
    impact.not_asked.extend(asked.iter().filter_map(absent));
    let asked: Vec<AskedVersion> = asked.into_iter().filter(|v| v.absent.is_none()).collect();
    // A version whose files are the same in both states is asked about once. What the engine loads after the change
    // need not be loaded before.
    let last = trees.len() - 1;
    let tasks: Vec<Task<'_>> = asked
        .iter()
        .flat_map(|version| {
            let first = if version.is_changed() { 0 } else { last };
            (first..trees.len()).map(move |number| (version, number))
        })
        .map(|(version, number)| {
            let loads = if question.loads && number == last {
                version.loads.clone()
            } else {
                BTreeSet::new()
            };
            Task { version, tree: &trees[number], question, cases: &question.cases.cases, loads }
        })
        .collect();
    let mut answers = in_parallel(&tasks, progress, |task| task.run(planner)).into_iter();
    let mut answered: Vec<(Option<StateAnswer>, StateAnswer)> = Vec::new();
    for version in &asked {
        let first = answers.next().unwrap_or_default();
        answered.push(match question.before {
            Some(_) if version.is_changed() => (Some(first), answers.next().unwrap_or_default()),
            Some(_) => (Some(first.clone()), first),
            None => (None, first),
        });
    }
    drop(tasks);
    load_before(planner, question, &trees, &asked, &mut answered, progress);
    for (version, (before, after)) in asked.into_iter().zip(answered) {
        impact.add(version, before, after, question);
    }
    impact.neighbours = neighbours(planner, question, &mut trees, &impact, progress)?;
    impact.elapsed = start.elapsed();
    Ok(impact)
}

/// Lets the engine load the earlier state of the tables that it refuses after the change.
fn load_before(
    planner: &Planner,
    question: &Question<'_>,
    trees: &[PlannerTree<'_>],
    asked: &[AskedVersion],
    answered: &mut [(Option<StateAnswer>, StateAnswer)],
    progress: &dyn Progress,
) {
    let [tree, _] = trees else { return };
    let refused = answered.iter().enumerate().filter_map(|(number, (_, after))| {
        let version = &asked[number];
        let is_there =
            |name: &&String| version.changed.get(*name).is_some_and(|t| !t.before.is_empty());
        let names = after.loads.iter().filter(|(_, error)| error.is_some()).map(|(name, _)| name);
        let loads: BTreeSet<String> = names.filter(is_there).cloned().collect();
        let task = Task { version, tree, question, cases: &[], loads };
        (!task.loads.is_empty()).then_some((number, task))
    });
    let (numbers, tasks): (Vec<usize>, Vec<Task<'_>>) = refused.unzip();
    let loaded = in_parallel(&tasks, progress, |task| task.run(planner));
    for (number, answer) in numbers.into_iter().zip(loaded) {
        if let (Some(before), _) = &mut answered[number] {
            before.loads = answer.loads;
        }
    }
}

/// A version of a state, about which one process is asked.
struct Task<'a> {
    version: &'a AskedVersion,
    tree: &'a PlannerTree<'a>,
    question: &'a Question<'a>,
    cases: &'a [Case],
    /// The tables to load, by file name.
    loads: BTreeSet<String>,
}

impl Task<'_> {
    /// Asks for everything, and starts the process again where it gives no answer.
    fn run(&self, planner: &Planner) -> StateAnswer {
        let start = Instant::now();
        let mut answer = StateAnswer::default();
        let mut session = None;
        let mut lost = 0;
        if !self.loads.is_empty() {
            match self.answer(planner, &mut session, self.load()) {
                Ok(LoadReply { tables }) => answer.loads = tables,
                // A version that cannot be opened is known from the files that serve it.
                Err(Failure::Refused(_)) => {}
                Err(why) => {
                    lost += 1;
                    answer.failed = Some(why.to_string());
                }
            }
        }
        for case in self.cases.iter().filter(|_| self.version.is_queried) {
            if lost >= LOST {
                break;
            }
            if start.elapsed() > LONGEST {
                answer.failed = Some(format!("no more answers in {} s", LONGEST.as_secs()));
                break;
            }
            let reply = self.answer(planner, &mut session, self.prediction(case));
            let reply: std::result::Result<PredictReply, Failure> = reply;
            answer.cases.push(match reply {
                Ok(reply) if reply.points.len() == self.question.cases.points.len() => Some(reply),
                Ok(_) => {
                    answer.failed = Some("a reply with another number of steps".to_owned());
                    None
                }
                Err(Failure::Refused(error)) => Some(PredictReply::refused(error, self.question)),
                Err(why) => {
                    lost += 1;
                    answer.failed = Some(why.to_string());
                    None
                }
            });
        }
        answer
    }

    /// Sends a request to the running process, or to a new one. A process that gives no answer is stopped.
    fn answer<R: serde::de::DeserializeOwned>(
        &self,
        planner: &Planner,
        session: &mut Option<Session>,
        request: serde_json::Value,
    ) -> std::result::Result<R, Failure> {
        let mut running = match session.take() {
            Some(running) => running,
            None => planner.session()?,
        };
        let reply = running.ask(&request, ANSWER);
        if matches!(reply, Ok(_) | Err(Failure::Refused(_))) {
            *session = Some(running);
        }
        reply
    }

    fn load(&self) -> serde_json::Value {
        let mut request = request("load", self.tree, &self.version.version);
        request["tables"] = json!(self.loads);
        request
    }

    fn prediction(&self, case: &Case) -> serde_json::Value {
        let mut request = request("predict", self.tree, &self.version.version);
        request["model"] = json!(case.model);
        request["parallel"] = json!(case.parallel);
        request["quant"] = json!(case.quant);
        request["points"] = json!(self.question.cases.points);
        request
    }
}

impl PredictReply {
    /// The reply for a case that the package refuses as a whole.
    fn refused(error: super::PlannerError, question: &Question<'_>) -> Self {
        let points = question
            .cases
            .points
            .iter()
            .map(|_: &StepPoint| PointReply::Error { error: error.clone() });
        Self {
            quant: super::Quant::default(),
            operations: BTreeMap::new(),
            points: points.collect(),
        }
    }
}

/// Works on all items with at most [`PROCESSES`] at a time, and returns the results in the items' order.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    progress: &dyn Progress,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let take = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { break };
            let result = work(item);
            *results[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            progress.step(done.fetch_add(1, Ordering::Relaxed) + 1, items.len());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads().clamp(1, PROCESSES).min(items.len()) {
            scope.spawn(take);
        }
    });
    results
        .into_iter()
        .filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Asks the nearest system about the models that the current version of a backend refuses.
fn neighbours(
    planner: &Planner,
    question: &Question<'_>,
    trees: &mut [PlannerTree<'_>],
    impact: &Impact,
    progress: &dyn Progress,
) -> Result<Vec<Neighbour>> {
    let Some(tree) = trees.last_mut() else { return Ok(Vec::new()) };
    let current = impact.asked.iter().filter(|asked| asked.slot == Slot::Current);
    let refused = current.filter_map(|asked| {
        let cases: Vec<Case> = impact.refused_on(&asked.version).cloned().collect();
        let system = nearest(question, &asked.version.system).filter(|_| !cases.is_empty());
        Some((asked, system?, cases))
    });
    let refused: Vec<(&AskedVersion, String, Vec<Case>)> = refused.collect();
    let systems: BTreeSet<String> = refused.iter().map(|(_, system, _)| system.clone()).collect();
    if systems.is_empty() {
        return Ok(Vec::new());
    }
    let survey = planner.session().and_then(|session| Survey::of(session, tree, &systems));
    let Ok(survey) = survey else { return Ok(Vec::new()) };
    tree.add(systems.iter().map(String::as_str))?;
    let mut found: Vec<(&AskedVersion, AskedVersion, Vec<Case>)> = Vec::new();
    for (asked, system, cases) in refused {
        let backend = survey.backend(&system, &asked.version.backend);
        let Some(version) = backend.and_then(|backend| backend.current()) else { continue };
        let version =
            PlannedVersion { version: version.to_owned(), system, ..asked.version.clone() };
        found.push((asked, AskedVersion { version, ..asked.clone() }, cases));
    }
    let tree = &*tree;
    let tasks: Vec<Task<'_>> = found
        .iter()
        .map(|(_, version, cases)| Task { version, tree, question, cases, loads: BTreeSet::new() })
        .collect();
    let answers = in_parallel(&tasks, progress, |task| task.run(planner));
    drop(tasks);
    let accepted = found.iter().zip(answers).map(|((asked, other, cases), answer)| {
        let replies =
            answer.cases.into_iter().map(|reply| reply.is_some_and(|reply| reply.has_time()));
        let cases = cases.iter().zip(replies).filter(|(_, has_time)| *has_time);
        let cases = cases.map(|(case, _)| case.clone()).collect();
        Neighbour { version: asked.version.clone(), other: other.version.clone(), cases }
    });
    Ok(accepted.collect())
}

/// Returns the first other system of the same generation that has data.
fn nearest(question: &Question<'_>, system: &str) -> Option<String> {
    let catalog = question.after.catalog;
    let generation = |name: &str| catalog.system(name, question.after.specs)?.generation();
    let own = generation(system)?;
    let with_data: BTreeSet<&str> =
        catalog.tables.iter().map(|table| table.place.system.as_str()).collect();
    let mut others = with_data.into_iter().filter(|name| *name != system);
    others.find(|name| generation(name) == Some(own)).map(str::to_owned)
}

impl PredictReply {
    /// Returns true if a step has a time.
    fn has_time(&self) -> bool {
        self.points.iter().any(|point| matches!(point, PointReply::Time { .. }))
    }
}
