//! The files of a source, each to its place in the catalog.

use std::collections::BTreeSet;

use super::places::{
    format_of, holds_files, is_hidden, is_misspelt, is_passed_over, join, leaves, usual_places,
};
use super::{Catalog, Place, Role, SystemFile, TableFile, VersionDir};
use crate::base::reason::Reason;
use crate::database::source::{Entry, Source, named_like_a_table};
use crate::specs::Specs;
use crate::specs::system::System;

/// What is said of the tables of a directory.
const SIDECARS: [&str; 2] = ["collection_meta.yaml", "reuse.yaml"];

/// Files of the scheme before `collection_meta.yaml` and `reuse.yaml`.
const MARKERS: [&str; 2] = ["INCOMPLETE.txt", "SHARED_LAYER_REUSE.txt"];

impl Catalog {
    /// Adds the system of a YAML.
    pub(super) fn add_system(&mut self, entry: &Entry, system: SystemFile) {
        self.beside.push((entry.clone(), Role::System));
        self.systems.insert(system.name.clone(), system);
    }

    /// What is said beside the systems: of what can be planned on them, and of what backends share.
    pub(super) fn add_claims(&mut self, files: &[Entry]) {
        let find = |path: String| {
            let at = files.binary_search_by(|f| f.path.as_str().cmp(&path)).ok()?;
            Some(files[at].clone())
        };
        for (name, system) in &self.systems {
            self.support.extend(find(system.matrix()).map(|m| (name.clone(), m)));
            let folder = system.folder();
            if self.manifest.is_none() {
                self.manifest = find(join(folder, "perf_data_reuse_manifest.yaml"));
            }
        }
    }

    /// Data directories of the root that no system's YAML names.
    pub(super) fn add_orphans(&mut self, files: &[Entry]) {
        // Where one system's data lies, others' may: the loader's place, or beside `systems`.
        let above = self.systems.values().filter_map(|s| s.data_dir.rsplit_once('/'));
        let above: BTreeSet<String> = above.map(|(parent, _)| format!("{parent}/")).collect();
        let mut owned: BTreeSet<String> =
            self.systems.values().map(|s| s.data_dir.clone()).collect();
        for entry in files.iter().filter(|e| format_of(&e.path).is_some()) {
            let at = entry.path.find("systems/data/");
            let at = at.filter(|at| *at == 0 || entry.path.as_bytes()[at - 1] == b'/');
            // A folder named data may hold more than systems: only what lies as a table does counts,
            // four or five names below it.
            let deep = |names: usize| entry.path.rmatch_indices('/').nth(names - 1);
            let beside = || {
                let starts = [deep(5), deep(4)].into_iter().flatten().map(|(at, _)| at + 1);
                starts.into_iter().find(|start| above.contains(&entry.path[..*start]))
            };
            // Another root's are that root's to tell.
            let home = at.map(|at| &entry.path[..at + "systems".len()]);
            let at = at.filter(|_| home == Some(self.folder.as_str()));
            let start = at.map(|at| at + "systems/data/".len()).or_else(beside);
            let Some(start) = start else { continue };
            let Some(end) = entry.path[start..].find('/') else { continue };
            let (dir, name) = (&entry.path[..start + end], &entry.path[start..start + end]);
            if !owned.insert(dir.to_owned()) {
                continue;
            }
            // The name may be that of a system whose data lies elsewhere.
            let (name, why) = match self.systems.get(name) {
                None => (
                    name,
                    format!(
                        "systems/{name}.yaml does not exist, so the loader cannot find this data"
                    ),
                ),
                Some(other) => (
                    dir,
                    format!(
                        "the data_dir of {} is {}, so the loader cannot find this data",
                        other.path, other.data_dir
                    ),
                ),
            };
            let file = SystemFile {
                name: name.to_owned(),
                path: dir.to_owned(),
                yaml: yaml_of(&entry.path[..start], &entry.path[start..start + end]),
                system: Err(why.into()),
                data_dir: dir.to_owned(),
                unread: None,
            };
            self.systems.insert(name.to_owned(), file);
        }
    }

    pub(super) fn add_file(&mut self, entry: Entry, inside: &str, system: &str) {
        if is_misspelt(inside) {
            return self.add_stray(entry, system);
        }
        let parts: Vec<&str> = inside.split('/').collect();
        let (family, backend, version, file) = match parts[..] {
            [backend, version, file] => (None, backend, version, file),
            [family, backend, version, file] => (Some(family), backend, version, file),
            _ if format_of(inside).is_some() => return self.add_stray(entry, system),
            _ => return self.beside.push((entry, Role::Other)),
        };
        let (format, marker) = (format_of(file), MARKERS.contains(&file));
        let known = format.is_some() || marker || SIDECARS.contains(&file);
        let is_passed_over = is_passed_over(&entry.path);
        if is_passed_over && format.is_some() {
            return self.add_stray(entry, system);
        }
        if !known || is_passed_over {
            return self.beside.push((entry, Role::Other));
        }
        if format.is_none() {
            self.beside.push((entry.clone(), Role::Sidecar));
        }
        let place = Place {
            system: system.to_owned(),
            family: family.map(str::to_owned),
            backend: backend.to_owned(),
            version: version.to_owned(),
        };
        let path = entry.path[..entry.path.len() - file.len() - 1].to_owned();
        let dir = self.dirs.entry(path.clone()).or_insert_with(|| VersionDir {
            place: place.clone(),
            path,
            meta: None,
            reuse: None,
            markers: Vec::new(),
            tables: Vec::new(),
        });
        match (file, format) {
            ("collection_meta.yaml", _) => dir.meta = Some(entry),
            ("reuse.yaml", _) => dir.reuse = Some(entry),
            (_, None) => dir.markers.push(entry),
            (_, Some(format)) => {
                let table = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned();
                dir.tables.push(self.tables.len());
                self.tables.push(TableFile { entry, place, table, format });
            }
        }
    }

    /// Says of each system whose data directory holds nothing why that is not read.
    ///
    /// A system without data is usual: its YAML is there before anybody measures on it. But a
    /// directory that is not the usual one was named for its data.
    pub(super) fn add_unread(&mut self) {
        let mut full: BTreeSet<&str> = BTreeSet::new();
        let inside = self.tables.iter().map(|t| &t.entry).chain(self.beside.iter().map(|(e, _)| e));
        for entry in inside {
            // The folders of a path that were met are those of all that are above them.
            let folders = entry.path.rmatch_indices('/').map(|(at, _)| &entry.path[..at]);
            folders.take_while(|folder| full.insert(folder)).for_each(drop);
        }
        let unread: Vec<Option<String>> =
            self.systems.values().map(|system| why_unread(system, &full)).collect();
        for (system, why) in self.systems.values_mut().zip(unread) {
            system.unread = why;
        }
    }

    pub(super) fn add_stray(&mut self, entry: Entry, system: &str) {
        self.beside.push((entry.clone(), Role::Other));
        self.strays.push((entry, system.to_owned()));
    }
}

/// The system of a YAML, if it is one.
pub(super) fn read_system(
    source: &dyn Source,
    specs: &Specs,
    entry: &Entry,
    files: &[Entry],
) -> Option<SystemFile> {
    let stem = entry.path.strip_suffix(".yaml")?;
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let facts = specs.systems.get(name);
    let text = source.text(entry).map_err(Reason::from);
    let system = text.and_then(|t| System::parse(name, &t));
    let [own_data, beside] = usual_places(folder, name);
    let holds = |dir: &str| holds_files(files, dir);
    let has_data = holds(&own_data);
    // A manifest beside the systems is none: it neither reads like one nor goes by one's name.
    let reads_like_one = system.as_ref().is_ok_and(System::is_system);
    if !reads_like_one && facts.is_none() && !has_data {
        return None;
    }
    let data_dir = system.as_ref().ok().and_then(|s| s.texts.get("data_dir").cloned());
    // What cannot be read does not say where its data is.
    let unsaid = || if !has_data && holds(&beside) { beside } else { own_data };
    let data_dir = data_dir.map_or_else(unsaid, |dir| join(folder, &dir));
    Some(SystemFile {
        name: name.to_owned(),
        path: entry.path.clone(),
        yaml: entry.path.clone(),
        system: system.map(|s| s.with_facts(facts)),
        data_dir,
        unread: None,
    })
}

/// Why the data directory that a system's YAML declares is not read; none where it is one of the `full`
/// folders, or a usual one.
fn why_unread(system: &SystemFile, full: &BTreeSet<&str>) -> Option<String> {
    let declared = system.system.as_ref().ok()?.texts.get("data_dir")?;
    let dir = &system.data_dir;
    if declared.starts_with('/') || leaves(system.folder(), declared) {
        return Some(format!("its data_dir {declared} is outside the database"));
    }
    if let Some(hidden) = declared.split('/').find(|part| is_hidden(part)) {
        return Some(format!(
            "its data_dir {dir} is in the hidden folder {hidden}, and hidden folders are not read"
        ));
    }
    if let Some(table) = declared.split('/').find(|part| named_like_a_table(part)) {
        return Some(format!("its data_dir {dir} is in {table}, which has the name of a table"));
    }
    let usual = usual_places(system.folder(), &system.name);
    (!usual.contains(dir) && !full.contains(dir.as_str()))
        .then(|| format!("its data_dir {dir} is empty or does not exist"))
}

/// Where the YAML of a system is looked for whose data lies in a folder: `systems/data/` or the `data/`
/// beside `systems/`.
fn yaml_of(folder: &str, name: &str) -> String {
    let above = folder.trim_end_matches('/').rsplit_once('/').map_or("", |(above, _)| above);
    let systems = if above.ends_with("systems") { "" } else { "systems" };
    join(above, &format!("{systems}/{name}.yaml"))
}
