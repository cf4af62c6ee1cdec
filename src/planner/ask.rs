//! Asks the planner about the versions of one or two states, in processes of their own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answer::{LoadReply, PredictReply, StateAnswer};
use super::session::{RunnerSession, SessionFailure};
use super::tree::PlannerTree;
use super::versions::{ChoiceError, QueryVersionsOf, VersionChoice, choose, request, systems};
use super::{
    ANSWER, AskedVersion, Case, Impact, Neighbour, PlannedVersion, Planner, Question, Slot,
};
use crate::base::error::Result;
use crate::base::progress::Progress;
use crate::base::threads;

/// The maximum number of planner processes that run at the same time. Each process needs up to 400 MB.
const PROCESSES: usize = 4;

/// The time limit for loading the tables and predicting the models of one version. After this time, the remaining
/// models are skipped.
const LONGEST: Duration = Duration::from_secs(300);

/// The number of unanswered requests about a version after which the remaining models are skipped.
const LOST: usize = 2;

/// Asks the planner which tables its engine cannot load and which step times it predicts. `question` selects the
/// versions.
///
/// # Errors
///
/// If the question names a system, backend or version that does not exist, or if a state cannot be written to the
/// temporary folder. A planner that gives no answer is part of the result.
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
    let states = question.states().into_iter();
    let mut trees: Vec<PlannerTree<'_>> =
        states.map(|state| PlannerTree::new(state, &concerned)).collect::<Result<_>>()?;
    let VersionChoice { asked, left } = match choose(planner, question, &trees, &concerned) {
        Ok(chosen) => chosen,
        Err(ChoiceError::Question(error)) => return Err(error),
        Err(ChoiceError::Planner(why)) if planner.is_named() => return Err(planner.failed(&why)),
        Err(ChoiceError::Planner(why)) => {
            impact.failure = Some(why.to_string());
            return Ok(impact);
        }
    };
    impact.not_asked = left;
    let absent = |version: &AskedVersion| Some((version.version.clone(), version.absent.clone()?));
    impact.not_asked.extend(asked.iter().filter_map(absent));
    let asked: Vec<AskedVersion> = asked.into_iter().filter(|v| v.absent.is_none()).collect();
    let asking = Asker { planner, question, progress };
    for (version, before, after) in asking.versions(&trees, asked) {
        impact.add(version, before, after, question);
    }
    impact.neighbours = asking.neighbours(&mut trees, &impact)?;
    impact.elapsed = start.elapsed();
    Ok(impact)
}

/// Asks a planner one question about several versions, and displays the progress.
struct Asker<'a> {
    planner: &'a Planner,
    question: &'a Question<'a>,
    progress: &'a dyn Progress,
}

/// The work of one planner process: the tables to load and the models to predict, for one version in one state of the
/// database.
struct Task<'a> {
    version: &'a PlannedVersion,
    tree: &'a PlannerTree<'a>,
    cases: &'a [Case],
    /// The tables to load, by file name.
    loads: BTreeSet<String>,
}

impl Asker<'_> {
    /// Asks the planner about each version before and after the change. If the change does not affect the files of a
    /// version, the planner is asked only once. If the engine refuses a table after the change, the engine also loads
    /// the table as it was before.
    fn versions(
        &self,
        trees: &[PlannerTree<'_>],
        asked: Vec<AskedVersion>,
    ) -> Vec<(AskedVersion, Option<StateAnswer>, StateAnswer)> {
        let Some((after, before)) = trees.split_last() else { return Vec::new() };
        let latest = asked.iter().map(|version| self.task(version, after, version.loads.clone()));
        let mut tasks: Vec<Task<'_>> = latest.collect();
        let changed = asked.iter().filter(|version| version.is_changed());
        for tree in before {
            tasks.extend(changed.clone().map(|version| self.task(version, tree, BTreeSet::new())));
        }
        let mut answers = self.answers(&tasks).into_iter();
        let after: Vec<StateAnswer> = answers.by_ref().take(asked.len()).collect();
        let mut befores: Vec<Option<StateAnswer>> = asked
            .iter()
            .zip(&after)
            .map(|(version, after)| {
                before.first()?;
                if version.is_changed() { answers.next() } else { Some(after.clone()) }
            })
            .collect();
        drop(tasks);
        for tree in before {
            self.load_before(tree, &asked, &after, &mut befores);
        }
        let answered = asked.into_iter().zip(befores).zip(after);
        answered.map(|((version, before), after)| (version, before, after)).collect()
    }

    /// Creates the task for a version in one state, with the tables to load.
    fn task<'t>(
        &'t self,
        version: &'t AskedVersion,
        tree: &'t PlannerTree<'t>,
        loads: BTreeSet<String>,
    ) -> Task<'t> {
        let cases = if version.is_queried { &self.question.cases.cases[..] } else { &[] };
        Task { version: &version.version, tree, cases, loads }
    }

    /// Loads tables as they were before the change. Only tables that the engine refuses after the change are loaded.
    fn load_before<'t>(
        &self,
        tree: &'t PlannerTree<'t>,
        asked: &'t [AskedVersion],
        after: &[StateAnswer],
        before: &mut [Option<StateAnswer>],
    ) {
        let task = |(version, after): (&'t AskedVersion, &StateAnswer)| {
            let was = |name: &&String| {
                version.changed.get(*name).is_some_and(|table| !table.before.is_empty())
            };
            let refused = after.loads.iter().filter(|(_, error)| error.is_some());
            let loads = refused.map(|(name, _)| name).filter(was).cloned().collect();
            Task { version: &version.version, tree, cases: &[], loads }
        };
        let tasks: Vec<Task<'_>> = asked.iter().zip(after).map(task).collect();
        for (before, answer) in before.iter_mut().zip(self.answers(&tasks)) {
            before.iter_mut().for_each(|before| before.loads.clone_from(&answer.loads));
        }
    }

    /// Finds models that the current version of a backend refuses on one system and accepts on another system with GPUs
    /// of the same generation.
    fn neighbours(&self, trees: &mut [PlannerTree<'_>], impact: &Impact) -> Result<Vec<Neighbour>> {
        let Some(tree) = trees.last_mut() else { return Ok(Vec::new()) };
        let current = impact.asked.iter().filter(|asked| asked.slot == Slot::Current);
        let refused = current.filter_map(|asked| {
            let cases: Vec<Case> = impact.refused_on(&asked.version).cloned().collect();
            let system = self.nearest(&asked.version.system).filter(|_| !cases.is_empty());
            Some((&asked.version, system?, cases))
        });
        let refused: Vec<(&PlannedVersion, String, Vec<Case>)> = refused.collect();
        let systems: BTreeSet<String> =
            refused.iter().map(|(_, system, _)| system.clone()).collect();
        if systems.is_empty() {
            return Ok(Vec::new());
        }
        let Ok(survey) = QueryVersionsOf::of(self.planner, tree, &systems) else {
            return Ok(Vec::new());
        };
        tree.add(&systems)?;
        let mut near = Vec::new();
        for (version, system, cases) in refused {
            let backend = survey.backend(&system, &version.backend);
            let Some(current) = backend.and_then(|backend| backend.current()) else { continue };
            let other = PlannedVersion { version: current.to_owned(), system, ..version.clone() };
            near.push(Neighbour { version: version.clone(), other, cases });
        }
        let (mut known, mut near): (Vec<_>, Vec<_>) = near
            .into_iter()
            .partition(|near| impact.asked.iter().any(|asked| asked.version == near.other));
        for near in &mut known {
            near.cases.retain(|case| impact.has_time(&near.other, case));
        }
        let tasks: Vec<Task<'_>> = near
            .iter()
            .map(|Neighbour { other: version, cases, .. }| Task {
                version,
                tree,
                cases,
                loads: BTreeSet::new(),
            })
            .collect();
        let answers = self.answers(&tasks);
        for (near, answer) in near.iter_mut().zip(answers) {
            let mut replies = answer.cases.into_iter();
            near.cases.retain(|_| replies.next().flatten().is_some_and(|reply| reply.has_time()));
        }
        known.append(&mut near);
        Ok(known)
    }

    /// Returns another system that has tables and GPUs of the same generation as `system`; `None` if there is none. Of
    /// several such systems, returns the alphabetically first.
    fn nearest(&self, system: &str) -> Option<String> {
        let state = self.question.after;
        let generation = |name: &str| state.catalog.system(name, state.specs)?.generation();
        let own = generation(system)?;
        let with_data: BTreeSet<&str> =
            state.catalog.tables.iter().map(|table| table.place.system.as_str()).collect();
        let mut others = with_data.into_iter().filter(|name| *name != system);
        others.find(|name| generation(name) == Some(own)).map(str::to_owned)
    }

    /// Runs all tasks, at most [`PROCESSES`] at the same time, and returns the answers in the order of the tasks.
    fn answers(&self, tasks: &[Task<'_>]) -> Vec<StateAnswer> {
        let done = AtomicUsize::new(0);
        threads::map_in_order(tasks, PROCESSES, |task| {
            let answer = self.run(task);
            self.progress.step(done.fetch_add(1, Ordering::Relaxed) + 1, tasks.len());
            answer
        })
    }

    /// Loads the tables and predicts the models of a task. If a process gives no answer, the next request goes to a new
    /// process.
    fn run(&self, task: &Task<'_>) -> StateAnswer {
        let start = Instant::now();
        let points = &self.question.cases.points;
        let mut answer = StateAnswer::default();
        let mut session = None;
        let mut lost = 0;
        if !task.loads.is_empty() {
            let mut load = request("load", task.tree, task.version);
            load["tables"] = json!(task.loads);
            match self.reply(&mut session, &load) {
                Ok(LoadReply { tables }) => answer.loads = tables,
                // The request for the version's files has already reported why the version cannot be opened.
                Err(SessionFailure::Refused(_)) => {}
                Err(why) => {
                    lost += 1;
                    answer.failure = Some(why.to_string());
                }
            }
        }
        let mut predict = request("predict", task.tree, task.version);
        predict["points"] = json!(points);
        for case in task.cases {
            if lost >= LOST {
                break;
            }
            if start.elapsed() > LONGEST {
                answer.failure = Some(format!("no more answers in {} s", LONGEST.as_secs()));
                break;
            }
            predict["model"] = json!(case.model);
            predict["parallel"] = json!(case.parallel);
            predict["quant"] = json!(case.quant);
            let reply: std::result::Result<PredictReply, SessionFailure> =
                self.reply(&mut session, &predict);
            let reply = match reply {
                Ok(reply) if reply.points.len() == points.len() => Ok(reply),
                Ok(_) => Err("a reply with another number of steps".to_owned()),
                Err(SessionFailure::Refused(error)) => {
                    Ok(PredictReply::refused(&error, points.len()))
                }
                Err(why) => {
                    lost += 1;
                    Err(why.to_string())
                }
            };
            answer.failure = reply.as_ref().err().cloned().or(answer.failure);
            answer.cases.push(reply.ok());
        }
        answer
    }

    /// Sends a request to the running process, or to a new one. A process that gives no answer is stopped.
    fn reply<R: DeserializeOwned>(
        &self,
        session: &mut Option<RunnerSession>,
        request: &Value,
    ) -> std::result::Result<R, SessionFailure> {
        let mut running = match session.take() {
            Some(running) => running,
            None => self.planner.session()?,
        };
        let reply = running.ask(request, ANSWER);
        if matches!(reply, Ok(_) | Err(SessionFailure::Refused(_))) {
            *session = Some(running);
        }
        reply
    }
}
