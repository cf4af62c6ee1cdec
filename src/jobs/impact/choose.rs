//! Chooses the versions to predict.

use std::collections::{BTreeMap, BTreeSet};

use super::options::ImpactOptions;
use super::planned_version::{PlannedVersion, States};
use crate::base::error::{Error, Result, unknown};
use crate::base::glob::{Of, matcher};
use crate::database::catalog::VersionDir;
use crate::planner::{Models, Snapshot};

/// A list of globs over names; an empty list matches every name.
pub(crate) struct NameFilter(Vec<globset::GlobMatcher>);

impl NameFilter {
    /// Returns true if a name matches.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|glob| glob.is_match(name))
    }
}

/// Compiles globs and returns an error if one of them matches none of the `known` names.
pub(crate) fn names(globs: &[String], what: &str, known: Vec<&str>) -> Result<NameFilter> {
    let mut compiled = Vec::new();
    for glob in globs {
        let matcher =
            matcher(glob, Of::Names).map_err(|why| Error::new(why, "* matches any characters"))?;
        if !known.iter().any(|name| matcher.is_match(name)) {
            return Err(unknown(what, glob, known));
        }
        compiled.push(matcher);
    }
    Ok(NameFilter(compiled))
}

/// The options, models and states from which versions are chosen.
pub(super) struct Choice<'c, 'a> {
    pub options: &'c ImpactOptions,
    pub models: &'c Models,
    pub states: &'c States<'a>,
}

impl Choice<'_, '_> {
    /// Returns the versions to predict, sorted, each with true if it is the current version of its
    /// backend.
    pub(super) fn versions(&self) -> Result<Vec<(PlannedVersion, bool)>> {
        let states: Vec<&Snapshot<'_>> = self.states.all().collect();
        let systems: BTreeSet<&str> =
            states.iter().flat_map(|s| s.catalog().systems.keys().map(String::as_str)).collect();
        let wanted = names(&self.options.systems, "system", systems.iter().copied().collect())?;
        let known = self.known(&states, |system| wanted.has(system));
        let backends: BTreeSet<&str> = known.keys().map(|(_, backend)| backend.as_str()).collect();
        let wanted = names(&self.options.backends, "backend", backends.into_iter().collect())?;
        let mut found = Vec::new();
        let changed = self.changed();
        let after = &self.states.after;
        for ((system, backend), versions) in known.iter().filter(|((_, b), _)| wanted.has(b)) {
            let slots = after.slots(system, backend);
            let current = slots.map(|slots| slots.current).or(versions.last().map(String::as_str));
            // Nobody plans with a version that no query can reach.
            let is_queried =
                |version: &str| slots.is_none_or(|s| s.versions().any(|v| v == version));
            let of = |version: &str| PlannedVersion {
                system: system.clone(),
                backend: backend.clone(),
                version: version.to_owned(),
            };
            let asked = &self.options.versions;
            let mut chosen: BTreeSet<&str> = asked.iter().map(String::as_str).collect();
            if asked.is_empty() {
                chosen.extend(current);
                let names = versions.iter().map(String::as_str);
                let queried = names.filter(|version| is_queried(version));
                chosen.extend(queried.filter(|version| changed.contains(&of(version))));
            }
            found.extend(chosen.iter().map(|v| (of(v), Some(*v) == current)));
        }
        self.check_versions(&known)?;
        found.sort();
        Ok(found)
    }

    /// Returns the versions per system and backend in either state, oldest first, for backends with
    /// a planned model.
    fn known(
        &self,
        states: &[&Snapshot<'_>],
        wanted: impl Fn(&str) -> bool,
    ) -> BTreeMap<(String, String), Vec<String>> {
        let planned = |backend: &str| self.models.lists.iter().any(|m| m.plan(backend).is_some());
        let mut known: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for snapshot in states {
            for name in snapshot.catalog().systems.keys().filter(|name| wanted(name)) {
                let Some(system) = snapshot.system(name) else { continue };
                for (backend, versions) in system.versions().filter(|(b, _)| planned(b)) {
                    let all = known.entry((name.clone(), backend.to_owned())).or_default();
                    // Versions that only the earlier state has come first, then those of the later
                    // state.
                    all.retain(|v| !versions.contains(&v.as_str()));
                    all.extend(versions.into_iter().map(str::to_owned));
                }
            }
        }
        known
    }

    /// Returns an error if an option names a version that no backend has.
    fn check_versions(&self, known: &BTreeMap<(String, String), Vec<String>>) -> Result<()> {
        for version in &self.options.versions {
            if !known.values().flatten().any(|v| v == version) {
                let all = known.values().flatten().map(String::as_str);
                return Err(unknown("version", version, all));
            }
        }
        Ok(())
    }

    /// Returns the versions whose directories differ between the states.
    fn changed(&self) -> BTreeSet<PlannedVersion> {
        let mut changed = BTreeSet::new();
        let Some(before) = &self.states.before else { return changed };
        let after = &self.states.after;
        let paths = before.catalog().dirs.keys().chain(after.catalog().dirs.keys());
        for path in paths.collect::<BTreeSet<_>>() {
            let dirs = [before, after].map(|state| (state, state.catalog().dirs.get(path)));
            let [old, new] = dirs.map(|(state, dir)| dir.map(|dir| content(state, dir)));
            let place = dirs.iter().find_map(|(_, dir)| Some(&dir.as_ref()?.place));
            changed.extend(place.filter(|_| old != new).map(PlannedVersion::of));
        }
        changed
    }
}

/// Maps the paths of the files that decide what a directory serves to the ids of their bytes.
fn content(state: &Snapshot<'_>, dir: &VersionDir) -> BTreeMap<String, Option<git2::Oid>> {
    let tables = dir.tables.iter().filter_map(|i| state.catalog().tables.get(*i));
    let entries = tables.map(|t| &t.entry).chain(&dir.reuse).chain(&dir.meta).chain(&dir.markers);
    entries.map(|e| (e.path.clone(), state.source().id(e))).collect()
}
