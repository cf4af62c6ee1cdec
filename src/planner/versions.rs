//! The versions about which the planner is asked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::answer::{BackendVersions, SourcesReply, VersionsReply};
use super::session::{RunnerSession, SessionFailure};
use super::sources::{assign_loads, changed_others};
use super::tree::PlannerTree;
use super::{ANSWER, AskedVersion, PlannedVersion, Planner, PlannerError, Question, Slot};
use crate::base::error::{Error, Result};
use crate::database::catalog::{Place, Role};
use crate::database::diff::{Diff, TableDiff};
use crate::database::selection::NamePatterns;

/// The versions that the planner offers for one state of the database.
pub(super) struct QueryVersionsOf {
    pub backends: Vec<BackendVersions>,
    session: RunnerSession,
}

impl QueryVersionsOf {
    /// Asks the planner which versions it offers for the given systems.
    pub(crate) fn of(
        planner: &Planner,
        tree: &PlannerTree<'_>,
        systems: &BTreeSet<String>,
    ) -> Result<Self, SessionFailure> {
        let mut session = planner.session()?;
        let request = json!({"do": "versions", "root": tree.root(), "systems": systems});
        let VersionsReply { backends } = session.ask(&request, ANSWER)?;
        Ok(Self { backends, session })
    }

    pub(crate) fn backend(&self, system: &str, backend: &str) -> Option<&BackendVersions> {
        self.backends.iter().find(|b| b.system == system && b.backend == backend)
    }

    /// Asks the planner which files serve a version. The inner error means that the planner refuses to open the
    /// version.
    fn sources(
        &mut self,
        tree: &PlannerTree<'_>,
        version: &PlannedVersion,
    ) -> Result<Result<SourcesReply, PlannerError>, SessionFailure> {
        match self.session.ask(&request("sources", tree, version), ANSWER) {
            Ok(sources) => Ok(Ok(sources)),
            Err(SessionFailure::Refused(why)) => Ok(Err(why)),
            Err(why) => Err(why),
        }
    }
}

/// Creates a request to the planner about a version. `what` is the name of the request, such as `sources`.
pub(super) fn request(
    what: &str,
    tree: &PlannerTree<'_>,
    at: &PlannedVersion,
) -> serde_json::Value {
    let PlannedVersion { system, backend, version } = at;
    json!({"do": what, "root": tree.root(), "system": system, "backend": backend, "version": version})
}

impl BackendVersions {
    /// Returns the version that the planner uses for a query without a version; `None` if there is none.
    pub(crate) fn current(&self) -> Option<&str> {
        let slot = self.slots.as_ref().and_then(|slots| slots.get("current"));
        slot.or(self.latest.as_ref()).map(String::as_str)
    }

    fn next(&self) -> Option<&str> {
        self.slots.as_ref()?.get("next").map(String::as_str)
    }

    fn is_queried(&self, version: &str) -> bool {
        self.slots.as_ref().is_none_or(|slots| slots.values().any(|v| v == version))
    }
}

/// Returns the systems to ask the planner about: the systems that the question names, or else the systems with a
/// changed file.
pub(super) fn systems(question: &Question<'_>) -> Result<BTreeSet<String>> {
    let states = question.states();
    let catalogs = states.iter().map(|state| state.catalog);
    let known: BTreeSet<&str> =
        catalogs.flat_map(|c| c.systems.keys().map(String::as_str)).collect();
    let wanted = NamePatterns::known(question.systems, "system", known.iter().copied())?;
    let is_changed = |system: &&str| match &question.diff {
        Some(diff) if question.systems.is_empty() => concerns(question, diff, system),
        _ => true,
    };
    let found = known.into_iter().filter(|system| wanted.has(system)).filter(is_changed);
    Ok(found.map(str::to_owned).collect())
}

/// Returns true if a change concerns a system: a file of the system changed, or a file that the planner reads for every
/// system changed.
fn concerns(question: &Question<'_>, diff: &Diff, system: &str) -> bool {
    let state = question.after;
    let folder = &state.catalog.folder;
    let of_system = |path: &str| {
        let files = question.states().into_iter().filter_map(|s| s.catalog.systems.get(system));
        files.into_iter().any(|file| {
            let below = path.strip_prefix(file.data_dir.as_str());
            path == file.yaml || below.is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let of_all = |path: &str, role: Role| {
        let is_top = path.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
        is_top && role != Role::System
    };
    diff.tables.iter().any(|table| table.place.system == system)
        || diff.files.iter().any(|file| of_system(&file.path) || of_all(&file.path, file.role))
}

/// The versions that the planner is asked about, and the versions that are left out, each with the reason.
pub(super) struct VersionChoice {
    pub asked: Vec<AskedVersion>,
    pub left: Vec<VersionLeftOut>,
}

/// The reason why the choice of versions failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChoiceError {
    /// The question names a system, backend or version that does not exist.
    #[error(transparent)]
    Question(#[from] Error),
    /// The planner gives no answer.
    #[error(transparent)]
    Planner(#[from] SessionFailure),
}

/// Chooses the versions that the planner is asked about: the current and the next version of each backend, then the
/// versions with the most rows in changed tables. Versions whose files did not change are left out, because their
/// predictions did not change. If the current or the next version of a backend changed, both are chosen. If the
/// question names versions, exactly these are chosen.
pub(super) fn choose(
    planner: &Planner,
    question: &Question<'_>,
    trees: &[PlannerTree<'_>],
    systems: &BTreeSet<String>,
) -> Result<VersionChoice, ChoiceError> {
    let surveys = trees.iter().map(|tree| QueryVersionsOf::of(planner, tree, systems));
    let mut surveys: Vec<QueryVersionsOf> = surveys.collect::<Result<_, SessionFailure>>()?;
    let (candidates, left) = candidates(question, &surveys, systems)?;
    let others = changed_others(trees);
    let mut asked = Vec::new();
    for candidate in candidates {
        asked.push(compared(question, (trees, &others), &mut surveys, candidate)?);
    }
    // The next version is compared with the current one, so that they are asked about together.
    let backend =
        |asked: &AskedVersion| (asked.version.system.clone(), asked.version.backend.clone());
    let changed: BTreeSet<_> =
        asked.iter().filter(|a| a.is_changed() && a.slot != Slot::Other).map(backend).collect();
    asked.retain(|a| {
        let is_beside = a.slot != Slot::Other && changed.contains(&backend(a));
        a.is_changed() || a.refused.is_some() || is_beside || !question.versions.is_empty()
    });
    if question.loads {
        assign_loads(&mut asked);
    }
    Ok(VersionChoice { asked, left })
}

/// A version that the planner may be asked about, and its slot: current, next or other. The flag is true if a query can
/// name the version.
type VersionCandidate = (PlannedVersion, Slot, bool);

/// A version that the planner is not asked about, with the reason.
type VersionLeftOut = (PlannedVersion, String);

/// Lists the versions that the planner may be asked about, and the versions that are left out, each with the reason.
fn candidates(
    question: &Question<'_>,
    surveys: &[QueryVersionsOf],
    systems: &BTreeSet<String>,
) -> Result<(Vec<VersionCandidate>, Vec<VersionLeftOut>)> {
    let of_all = surveys.iter().flat_map(|survey| &survey.backends);
    let backends: BTreeSet<(String, String)> =
        of_all.map(|b| (b.system.clone(), b.backend.clone())).collect();
    let names = backends.iter().map(|(_, backend)| backend.as_str());
    let wanted = NamePatterns::known(question.backends, "backend", names)?;
    let states = question.states();
    let dirs = states.iter().flat_map(|state| state.catalog.dirs.values());
    let is_wanted = |place: &Place| systems.contains(&place.system) && wanted.has(&place.backend);
    let places: BTreeSet<PlannedVersion> = dirs
        .filter(|dir| is_wanted(&dir.place))
        .map(|dir| PlannedVersion::of(&dir.place))
        .collect();
    let names = places.iter().map(|place| place.version.as_str());
    let slots =
        surveys.iter().flat_map(|survey| &survey.backends).filter(|b| wanted.has(&b.backend));
    let slots: Vec<&str> = slots.flat_map(|b| [b.current(), b.next()]).flatten().collect();
    let versions =
        NamePatterns::known(question.versions, "version", names.chain(slots.iter().copied()))?;
    let mut candidates: Vec<VersionCandidate> = Vec::new();
    let mut left = Vec::new();
    let mut more: Vec<(u64, PlannedVersion, bool)> = Vec::new();
    for (system, backend) in backends.iter().filter(|(_, backend)| wanted.has(backend)) {
        let offered = surveys.iter().rev().find_map(|survey| survey.backend(system, backend));
        let Some(offered) = offered else { continue };
        let at = |version: &str| PlannedVersion {
            system: system.clone(),
            backend: backend.clone(),
            version: version.to_owned(),
        };
        let slot = |version: &str| match version {
            v if Some(v) == offered.current() => Slot::Current,
            v if Some(v) == offered.next() => Slot::Next,
            _ => Slot::Other,
        };
        let slots: BTreeSet<&str> =
            [offered.current(), offered.next()].into_iter().flatten().collect();
        if !question.versions.is_empty() {
            let places = places.iter().filter(|p| p.system == *system && p.backend == *backend);
            let there: BTreeSet<&str> =
                places.map(|place| place.version.as_str()).chain(slots.iter().copied()).collect();
            let named = there.into_iter().filter(|version| versions.has(version));
            candidates.extend(named.map(|version| (at(version), slot(version), true)));
            continue;
        }
        candidates.extend(slots.iter().map(|version| (at(version), slot(version), true)));
        let changed = changed_versions(question, system, backend);
        let others = changed.into_iter().filter(|(version, _)| !slots.contains(version));
        more.extend(others.map(|(version, rows)| (rows, at(version), offered.is_queried(version))));
    }
    more.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    for (place, (_, version, is_queried)) in more.into_iter().enumerate() {
        if place < question.most_versions {
            candidates.push((version, Slot::Other, is_queried));
        } else {
            let most = question.most_versions;
            left.push((version, format!("more than {most} changed versions (--planner-versions)")));
        }
    }
    candidates.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((candidates, left))
}

/// Asks the planner which files serve a version before and after the change, and records which of these files differ.
fn compared(
    question: &Question<'_>,
    (trees, others): (&[PlannerTree<'_>], &[String]),
    surveys: &mut [QueryVersionsOf],
    (version, slot, is_queried): VersionCandidate,
) -> Result<AskedVersion, SessionFailure> {
    let mut answers = Vec::new();
    for (survey, tree) in surveys.iter_mut().zip(trees) {
        answers.push(survey.sources(tree, &version)?);
    }
    let dirs = question.after.catalog.dirs.values();
    let is_there = dirs.map(|dir| PlannedVersion::of(&dir.place)).any(|place| place == version);
    let error = answers.last().and_then(|answer| answer.as_ref().err()).filter(|_| is_there);
    let is_new =
        answers.first().and_then(|answer| answer.as_ref().err()) != error || answers.len() == 1;
    let was_opened = answers.len() > 1 && answers[0].is_ok();
    let refused = error.filter(|_| is_new).map(|error| (error.clone(), was_opened));
    let mut asked = AskedVersion {
        version,
        slot,
        is_queried,
        changed: BTreeMap::new(),
        loads: BTreeSet::new(),
        facts: Vec::new(),
        absent: None,
        refused,
    };
    let sources: Vec<SourcesReply> = answers.into_iter().map(Result::unwrap_or_default).collect();
    asked.compare(question, (trees, others), &sources);
    Ok(asked)
}

/// Returns the changed versions of a backend, each with the number of rows of its changed tables.
fn changed_versions<'q>(
    question: &'q Question<'_>,
    system: &str,
    backend: &str,
) -> BTreeMap<&'q str, u64> {
    let mut versions: BTreeMap<&str, u64> = BTreeMap::new();
    let tables = question.diff.iter().flat_map(|diff| &diff.tables);
    let rows = |table: &TableDiff| match &table.served {
        Some(served) => served.common + served.gained.max(served.lost),
        None => table.head_rows.or(table.base_rows).unwrap_or(0),
    };
    for table in tables.filter(|t| t.place.system == system && t.place.backend == backend) {
        *versions.entry(&table.place.version).or_default() += rows(table);
    }
    versions
}
