//! The files that serve a version, compared between two states.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::SourcesReply;
use super::tree::PlannerTree;
use super::{AskedVersion, Question, ServingFiles};

/// Names of files from which the planner only learns which versions exist and which files serve them. Lists of changed
/// files leave these names out, because the planner's answers already show the effect.
const RESOLVED: [&str; 6] = [
    "collection_meta.yaml",
    "reuse.yaml",
    "INCOMPLETE.txt",
    "op_kernel_source_manifest.yaml",
    "perf_data_reuse_manifest.yaml",
    "query_versions.yaml",
];

impl AskedVersion {
    /// Records the files that serve each table of the version before and after the change, and the tables whose files
    /// differ. `sources` contains the planner's reply for each state, and `others` the paths of changed files that are
    /// not tables.
    pub(super) fn compare(
        &mut self,
        question: &Question<'_>,
        (trees, others): (&[PlannerTree<'_>], &[String]),
        sources: &[SourcesReply],
    ) {
        for (tree, sources) in trees.iter().zip(sources) {
            let mut paths = sources.tables.values().flatten().map(|(path, _)| tree.path_of(path));
            let absent = paths.find_map(|path| Some((tree.absent.get(&path)?, path)));
            let absent = absent.map(|(why, path)| format!("{path}: {why}"));
            self.absent = self.absent.take().or(absent);
        }
        let paths = |tree: &PlannerTree<'_>, sources: &SourcesReply, name: &str| -> Vec<String> {
            let files = sources.tables.get(name).into_iter().flatten();
            files.map(|(path, _)| tree.path_of(path)).collect()
        };
        let ([before, after], [then, now]) = (trees, sources) else {
            for (tree, sources) in trees.iter().zip(sources) {
                let table = |name: &String| ServingFiles {
                    after: paths(tree, sources, name),
                    ..ServingFiles::default()
                };
                let names = sources.tables.keys();
                self.changed.extend(names.map(|name| (name.clone(), table(name))));
            }
            return;
        };
        let names: BTreeSet<&String> = then.tables.keys().chain(now.tables.keys()).collect();
        let mut folders = BTreeSet::new();
        for name in names {
            let sides = (paths(before, then, name), paths(after, now, name));
            let both = sides.0.iter().chain(&sides.1);
            let folder = |path: &String| Some(path.rsplit_once('/')?.0.to_owned());
            folders.extend(both.clone().filter_map(folder));
            let differs = |path: &&String| {
                before.id(path) != after.id(path)
                    || sides.0.contains(path) != sides.1.contains(path)
            };
            let differing: BTreeSet<String> = both.filter(differs).cloned().collect();
            if then.tables.get(name) != now.tables.get(name) || !differing.is_empty() {
                let table = ServingFiles { before: sides.0, after: sides.1, paths: differing };
                self.changed.insert(name.clone(), table);
            }
        }
        let is_read = |path: &&String| is_read(question, path, &self.version.system, &folders);
        self.facts = others.iter().filter(is_read).cloned().collect();
    }
}

/// Assigns each changed file to one version, for which the engine then loads the file. No file is loaded twice. The
/// version is the one whose folder contains the file, or else the first version that uses the file.
pub(super) fn assign_loads(asked: &mut [AskedVersion]) {
    let mut claimed: BTreeSet<String> = BTreeSet::new();
    for is_own in [true, false] {
        for AskedVersion { version, changed, loads, .. } in asked.iter_mut() {
            let own = format!("/{}/{}/", version.backend, version.version);
            for (name, table) in changed.iter() {
                let is_all = table.paths.is_empty();
                let files = table.after.iter().filter(|path| is_all || table.paths.contains(*path));
                for path in files.filter(|path| !is_own || path.contains(&own)) {
                    if claimed.insert(path.clone()) {
                        loads.insert(name.clone());
                    }
                }
            }
        }
    }
}

/// Lists the changed files that are not tables. Files named in [`RESOLVED`] are left out.
pub(super) fn changed_others(trees: &[PlannerTree<'_>]) -> Vec<String> {
    let [before, after] = trees else { return Vec::new() };
    let [then, now] = [before, after].map(|tree| tree.others().collect::<BTreeMap<_, _>>());
    let paths: BTreeSet<&str> = then.keys().chain(now.keys()).copied().collect();
    let is_resolved = |path: &str| RESOLVED.contains(&path.rsplit('/').next().unwrap_or(path));
    let changed = paths.into_iter().filter(|path| then.get(path) != now.get(path));
    changed.filter(|path| !is_resolved(path)).map(str::to_owned).collect()
}

/// Returns true if the planner reads the file `path` for a version of `system`. The planner reads all files in
/// `folders`, the folders of the version's tables. The planner also reads all files in the folder of systems, except
/// the YAML of other systems.
fn is_read(question: &Question<'_>, path: &str, system: &str, folders: &BTreeSet<String>) -> bool {
    let states = question.states();
    let mut systems = states.iter().flat_map(|state| state.catalog.systems.values());
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_top = folder == question.after.catalog.folder;
    let is_of_other = is_top && systems.any(|file| file.yaml == path && file.name != system);
    folders.contains(folder) || (is_top && !is_of_other)
}
