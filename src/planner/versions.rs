//! The versions about which the planner is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde_json::json;

use super::answer::{BackendVersions, SourcesReply, VersionsReply};
use super::session::{Failure, Session};
use super::tree::PlannerTree;
use super::{ANSWER, Question};
use crate::base::error::{Error, Result, unknown};
use crate::database::catalog::Role;
use crate::database::diff::{Diff, TableDiff};
use crate::database::selection::Names;

/// Files that only decide which versions a query can name and which files serve them, both of which the planner has
/// answered.
const RESOLVED: [&str; 5] = [
    "collection_meta.yaml",
    "reuse.yaml",
    "INCOMPLETE.txt",
    "perf_data_reuse_manifest.yaml",
    "query_versions.yaml",
];

/// A version of a backend on a system.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, JsonSchema)]
pub struct PlannedVersion {
    /// The system's name.
    pub system: String,
    /// The backend's name.
    pub backend: String,
    /// The version's name.
    pub version: String,
}

impl fmt::Display for PlannedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.system, self.backend, self.version)
    }
}

/// The slot of queries that a version fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The version of a query that names none.
    Current,
    /// The version that follows.
    Next,
    /// Any other version.
    Other,
}

/// A version about which the planner is asked.
#[derive(Debug, Clone)]
pub struct AskedVersion {
    /// The version.
    pub version: PlannedVersion,
    /// Its slot after the change.
    pub slot: Slot,
    /// True if a query can ask for the version, so that steps are predicted on it.
    pub is_queried: bool,
    /// The tables whose files differ between the states, by file name.
    pub changed: BTreeMap<String, ChangedTable>,
    /// The tables that the engine loads one by one for this version, by file name. A file that serves several versions
    /// is loaded for one of them.
    pub loads: BTreeSet<String>,
    /// Other files that differ and that the planner reads for the version.
    pub facts: Vec<String>,
    /// The reason why the version cannot be asked about; `None` if it can.
    pub absent: Option<String>,
}

/// The files that serve a table before and after a change, in the order in which the planner reads them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChangedTable {
    /// The paths before the change.
    pub before: Vec<String>,
    /// The paths after the change.
    pub after: Vec<String>,
    /// The paths whose bytes differ, or that are on one side only.
    pub paths: BTreeSet<String>,
}

impl AskedVersion {
    /// Returns true if a file that the planner reads for the version differs between the states.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty() || !self.facts.is_empty()
    }
}

/// What a state offers to queries.
pub(super) struct Survey {
    pub backends: Vec<BackendVersions>,
    session: Session,
}

impl Survey {
    /// Asks for the versions of systems in a state.
    pub fn of(
        mut session: Session,
        tree: &PlannerTree<'_>,
        systems: &BTreeSet<String>,
    ) -> Result<Self, Failure> {
        let request = json!({"do": "versions", "root": tree.root(), "systems": systems});
        let VersionsReply { backends } = session.ask(&request, ANSWER)?;
        Ok(Self { backends, session })
    }

    /// Returns the versions of a backend.
    pub fn backend(&self, system: &str, backend: &str) -> Option<&BackendVersions> {
        self.backends.iter().find(|b| b.system == system && b.backend == backend)
    }

    /// Asks for the files that serve a version; none if the planner does not open it.
    fn sources(
        &mut self,
        tree: &PlannerTree<'_>,
        version: &PlannedVersion,
    ) -> Result<SourcesReply, Failure> {
        match self.session.ask(&request("sources", tree, version), ANSWER) {
            Err(Failure::Refused(_)) => Ok(SourcesReply::default()),
            answer => answer,
        }
    }
}

/// A request about a version.
pub(super) fn request(
    what: &str,
    tree: &PlannerTree<'_>,
    at: &PlannedVersion,
) -> serde_json::Value {
    let PlannedVersion { system, backend, version } = at;
    json!({"do": what, "root": tree.root(), "system": system, "backend": backend, "version": version})
}

impl BackendVersions {
    /// Returns the version of a query that names none.
    pub fn current(&self) -> Option<&str> {
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

/// The systems that a question concerns: those it names, or else those with a changed file.
pub(super) fn systems(question: &Question<'_>) -> Result<BTreeSet<String>> {
    let states = question.states();
    let catalogs = states.iter().map(|state| state.catalog);
    let known: BTreeSet<&str> =
        catalogs.flat_map(|c| c.systems.keys().map(String::as_str)).collect();
    let wanted = Names::known(&question.systems, "system", known.iter().copied())?;
    let is_changed = |system: &&str| match &question.diff {
        Some(diff) if question.systems.is_empty() => concerns(question, diff, system),
        _ => true,
    };
    let found = known.into_iter().filter(|system| wanted.has(system)).filter(is_changed);
    Ok(found.map(str::to_owned).collect())
}

/// Returns true if a file of a system changed, or a file that the planner reads for all systems.
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

/// The versions to ask about, and those that are left out, each with the reason.
pub(super) struct Chosen {
    pub asked: Vec<AskedVersion>,
    pub left: Vec<(PlannedVersion, String)>,
}

/// Chooses the versions: the current and the next one of each backend, then changed versions by the number of
/// rows that they serve. Of two states, a version whose files are the same in both is left out, since its
/// predictions are too. Named versions are chosen instead and always asked about.
pub(super) fn choose(
    question: &Question<'_>,
    trees: &[PlannerTree<'_>],
    surveys: &mut [Survey],
) -> Result<Result<Chosen, Failure>> {
    let of_all = surveys.iter().flat_map(|survey| &survey.backends);
    let backends: BTreeSet<(String, String)> =
        of_all.map(|b| (b.system.clone(), b.backend.clone())).collect();
    let names = backends.iter().map(|(_, backend)| backend.as_str());
    let wanted = Names::known(&question.backends, "backend", names)?;
    let mut candidates: Vec<(PlannedVersion, Slot, bool)> = Vec::new();
    let mut left = Vec::new();
    let mut more: Vec<(u64, PlannedVersion, bool)> = Vec::new();
    let mut named = BTreeSet::new();
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
        let there = |version: &str| {
            let tables = question.states().into_iter().flat_map(|state| &state.catalog.dirs);
            let mut places = tables.map(|(_, dir)| &dir.place);
            places
                .any(|p| (&p.system, &p.backend, p.version.as_str()) == (system, backend, version))
        };
        if !question.versions.is_empty() {
            let versions = question.versions.iter().map(String::as_str);
            for version in versions.filter(|v| there(v) || slot(v) != Slot::Other) {
                named.insert(version);
                candidates.push((at(version), slot(version), true));
            }
            continue;
        }
        let slots: BTreeSet<&str> =
            [offered.current(), offered.next()].into_iter().flatten().collect();
        candidates.extend(slots.iter().map(|version| (at(version), slot(version), true)));
        let changed = changed_versions(question, system, backend);
        let others = changed.into_iter().filter(|(version, _)| !slots.contains(version));
        more.extend(others.map(|(version, rows)| (rows, at(version), offered.is_queried(version))));
    }
    if let Some(version) = question.versions.iter().find(|v| !named.contains(v.as_str())) {
        return Err(no_version(question, version));
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
    let mut asked = Vec::new();
    for (version, slot, is_queried) in candidates {
        match compared(question, trees, surveys, version, slot, is_queried) {
            Ok(version) => asked.extend(version),
            Err(why) => return Ok(Err(why)),
        }
    }
    share_loads(&mut asked);
    Ok(Ok(Chosen { asked, left }))
}

/// Decides for which version each changed file is loaded: its own, or else the first one that it serves.
fn share_loads(asked: &mut [AskedVersion]) {
    let mut claimed: BTreeSet<String> = BTreeSet::new();
    for is_own in [true, false] {
        for AskedVersion { version, changed, loads, .. } in asked.iter_mut() {
            let own = format!("/{}/{}/", version.backend, version.version);
            for (name, table) in changed.iter() {
                let files = if table.paths.is_empty() {
                    table.after.iter().collect()
                } else {
                    Vec::from_iter(&table.paths)
                };
                for path in files.into_iter().filter(|path| !is_own || path.contains(&own)) {
                    if table.after.contains(path) && claimed.insert(path.clone()) {
                        loads.insert(name.clone());
                    }
                }
            }
        }
    }
}

/// Compares the files that serve a version in both states; `None` if they are the same and the version was not
/// named.
fn compared(
    question: &Question<'_>,
    trees: &[PlannerTree<'_>],
    surveys: &mut [Survey],
    version: PlannedVersion,
    slot: Slot,
    is_queried: bool,
) -> Result<Option<AskedVersion>, Failure> {
    let mut sources = Vec::new();
    for (survey, tree) in surveys.iter_mut().zip(trees) {
        sources.push(survey.sources(tree, &version)?);
    }
    let mut asked = AskedVersion {
        version,
        slot,
        is_queried,
        changed: BTreeMap::new(),
        loads: BTreeSet::new(),
        facts: Vec::new(),
        absent: None,
    };
    for (tree, sources) in trees.iter().zip(&sources) {
        let mut paths = sources.tables.values().flatten().map(|(path, _)| tree.path_of(path));
        let absent = paths.find_map(|path| Some((tree.absent.get(&path)?, path)));
        asked.absent = asked.absent.or(absent.map(|(why, path)| format!("{path}: {why}")));
    }
    let paths = |tree: &PlannerTree<'_>, sources: &SourcesReply, name: &str| -> Vec<String> {
        let files = sources.tables.get(name).into_iter().flatten();
        files.map(|(path, _)| tree.path_of(path)).collect()
    };
    let ([before, after], [then, now]) = (trees, &sources[..]) else {
        let of_one = trees.first().zip(sources.first()).into_iter();
        let tables = of_one.flat_map(|(tree, sources)| {
            sources.tables.keys().map(|name| (name.clone(), paths(tree, sources, name)))
        });
        let table = |after| ChangedTable { after, ..ChangedTable::default() };
        asked.changed = tables.map(|(name, after)| (name, table(after))).collect();
        return Ok(Some(asked));
    };
    let names: BTreeSet<&String> = then.tables.keys().chain(now.tables.keys()).collect();
    let mut folders = BTreeSet::new();
    for name in names {
        let (before_paths, after_paths) = (paths(before, then, name), paths(after, now, name));
        let both = before_paths.iter().chain(&after_paths);
        folders.extend(both.clone().filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned())));
        let is_other = |path: &&String| before.id(path) != after.id(path);
        let mut differing: BTreeSet<String> = both.filter(is_other).cloned().collect();
        if before_paths != after_paths {
            let only = |a: &[String], b: &[String]| {
                a.iter().filter(|p| !b.contains(p)).cloned().collect::<Vec<_>>()
            };
            differing.extend(only(&before_paths, &after_paths));
            differing.extend(only(&after_paths, &before_paths));
        }
        if then.tables.get(name) != now.tables.get(name) || !differing.is_empty() {
            let table = ChangedTable { before: before_paths, after: after_paths, paths: differing };
            asked.changed.insert(name.clone(), table);
        }
    }
    asked.facts = changed_facts(question, before, after, &asked.version.system, &folders);
    let is_same = asked.changed.is_empty() && asked.facts.is_empty();
    Ok((!is_same || !question.versions.is_empty()).then_some(asked))
}

/// Lists the changed files other than tables that the planner reads for a version: those beside the systems' YAML
/// except the YAML of other systems, and those in the folders of its tables.
fn changed_facts(
    question: &Question<'_>,
    before: &PlannerTree<'_>,
    after: &PlannerTree<'_>,
    system: &str,
    folders: &BTreeSet<String>,
) -> Vec<String> {
    let [then, now] = [before, after].map(|tree| tree.others().collect::<BTreeMap<_, _>>());
    let paths: BTreeSet<&str> = then.keys().chain(now.keys()).copied().collect();
    let yaml_of_other = |path: &str| {
        let states = question.states();
        let systems = states.iter().flat_map(|state| state.catalog.systems.values());
        systems.into_iter().any(|file| file.yaml == path && file.name != system)
    };
    let is_read = |path: &&str| {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_top = folder == after.state.catalog.folder && !yaml_of_other(path);
        is_top || (folders.contains(folder) && !RESOLVED.contains(&name))
    };
    let differ = |path: &&str| then.get(path) != now.get(path);
    paths.into_iter().filter(differ).filter(is_read).map(str::to_owned).collect()
}

/// The changed versions of a backend, each with the number of rows that it serves in changed tables.
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

fn no_version(question: &Question<'_>, version: &str) -> Error {
    let states = question.states();
    let dirs = states.iter().flat_map(|state| state.catalog.dirs.values());
    let known: Vec<&str> = dirs.map(|dir| dir.place.version.as_str()).collect();
    unknown("version", version, known)
}
