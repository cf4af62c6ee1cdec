//! Assigns the files of a source to their places in the catalog.

use std::collections::BTreeSet;

use super::files::{format_of, is_misspelt};
use super::paths::{is_hidden, is_passed_over, join, leaves, relative, usual_places};
use super::places::holds_files;
use super::{Catalog, Place, Role, SystemFile, TableFile, VersionDir};
use crate::base::error::Reason;
use crate::database::source::{Entry, Source, named_like_a_table};
use crate::specs::Specs;
use crate::specs::layout::Layout;
use crate::specs::system::System;

/// The names of the files that describe a version directory.
const SIDECARS: [&str; 2] = ["collection_meta.yaml", "reuse.yaml"];

/// The names of the files that older databases have instead of `collection_meta.yaml` and `reuse.yaml`.
const MARKERS: [&str; 2] = ["INCOMPLETE.txt", "SHARED_LAYER_REUSE.txt"];

impl Catalog {
    /// Adds a system that was read from a YAML file.
    pub(super) fn add_system(&mut self, entry: &Entry, system: SystemFile) {
        self.other_files.push((entry.clone(), Role::System));
        self.systems.insert(system.name.clone(), system);
    }

    /// Adds the support matrix of each system whose matrix is among `files`.
    pub(super) fn add_claims(&mut self, files: &[Entry]) {
        let find = |path: String| {
            let at = files.binary_search_by(|f| f.path.as_str().cmp(&path)).ok()?;
            Some(files[at].clone())
        };
        for (name, system) in &self.systems {
            self.support.extend(find(system.matrix()).map(|m| (name.clone(), m)));
        }
    }

    /// Adds a system for each data directory that belongs to no YAML file of a system.
    pub(super) fn add_orphans(&mut self, files: &[Entry]) {
        // A folder with one system's data may contain that of others: the loader's folder, or the one beside
        // `systems`.
        let above = self.systems.values().filter_map(|s| s.data_dir.rsplit_once('/'));
        let above: BTreeSet<String> = above.map(|(parent, _)| format!("{parent}/")).collect();
        let mut owned: BTreeSet<String> =
            self.systems.values().map(|s| s.data_dir.clone()).collect();
        for entry in files.iter().filter(|e| format_of(&e.path).is_some()) {
            let at = entry.path.find("systems/data/");
            let at = at.filter(|at| *at == 0 || entry.path.as_bytes()[at - 1] == b'/');
            // A folder named `data` may contain more than systems. A file counts only if it is four or five
            // levels below that folder, as a table is.
            let deep = |names: usize| entry.path.rmatch_indices('/').nth(names - 1);
            let beside = || {
                let starts = [deep(5), deep(4)].into_iter().flatten().map(|(at, _)| at + 1);
                starts.into_iter().find(|start| above.contains(&entry.path[..*start]))
            };
            // The data directories of another root are added there.
            let home = at.map(|at| &entry.path[..at + "systems".len()]);
            let at = at.filter(|_| home == Some(self.folder.as_str()));
            let start = at.map(|at| at + "systems/data/".len()).or_else(beside);
            let Some(start) = start else { continue };
            let Some(end) = entry.path[start..].find('/') else { continue };
            let (dir, name) = (&entry.path[..start + end], &entry.path[start..start + end]);
            if !owned.insert(dir.to_owned()) {
                continue;
            }
            // A system with this name may have its data elsewhere.
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
                        "{} says {}, so the loader cannot find this data; `data_dir: {}` names it",
                        other.path,
                        declared(other),
                        relative(other.folder(), dir)
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
                refused: Vec::new(),
            };
            self.systems.insert(name.to_owned(), file);
        }
    }

    /// Adds a file that is below a system's data directory. `inside` is the file's path within that directory.
    pub(super) fn add_file(&mut self, entry: Entry, inside: &str, system: &str, layout: &Layout) {
        if is_misspelt(inside) {
            return self.add_stray(entry, system);
        }
        let (folders, file) = inside.rsplit_once('/').unwrap_or(("", inside));
        let folders: Vec<&str> = folders.split('/').collect();
        let Some((family, backend, version)) = layout.place(&folders) else {
            if format_of(inside).is_some() {
                return self.add_stray(entry, system);
            }
            return self.other_files.push((entry, Role::Other));
        };
        let (format, marker) = (format_of(file), MARKERS.contains(&file));
        let known = format.is_some() || marker || SIDECARS.contains(&file);
        let is_passed_over = is_passed_over(&entry.path);
        if is_passed_over && format.is_some() {
            return self.add_stray(entry, system);
        }
        if !known || is_passed_over {
            return self.other_files.push((entry, Role::Other));
        }
        if format.is_none() {
            self.other_files.push((entry.clone(), Role::Sidecar));
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

    /// Sets [`SystemFile::unread`] for each system whose YAML names a data directory that is not read. An empty
    /// directory at a usual path is not a problem, since many systems have no data.
    pub(super) fn add_unread(&mut self) {
        let mut full: BTreeSet<&str> = BTreeSet::new();
        let inside =
            self.tables.iter().map(|t| &t.entry).chain(self.other_files.iter().map(|(e, _)| e));
        for entry in inside {
            // If a folder is already in the set, the folders above it are too.
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
        self.other_files.push((entry.clone(), Role::Other));
        self.strays.push((entry, system.to_owned()));
    }
}

/// Reads a system from its YAML file; `None` if the file does not describe a system.
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
    let system = text.as_ref().map_err(Clone::clone).and_then(|t| System::parse(name, t));
    let [own_data, beside] = usual_places(folder, name);
    let holds = |dir: &str| holds_files(files, dir);
    let has_data = holds(&own_data);
    // The YAML of a machine in a database of another kind names its layout, for example in perfdb-gate's own
    // repository. Such a YAML is a system here only if the system has data here. A YAML without that field always is,
    // since the loader reads every YAML beside the systems.
    let is_elsewhere = |system: &System| {
        let named = system.texts.get("layout").is_some_and(|name| specs.layouts.is_declared(name));
        named && !system.texts.contains_key("data_dir")
    };
    if system.as_ref().is_ok_and(is_elsewhere) && !has_data && !holds(&beside) {
        return None;
    }
    // A manifest beside the systems is not a system: it lacks a system's fields, and its name is not a known
    // system.
    let reads_like_one = system.as_ref().is_ok_and(System::is_system);
    if !reads_like_one && facts.is_none() && !has_data {
        return None;
    }
    let data_dir = system.as_ref().ok().and_then(|s| s.texts.get("data_dir").cloned());
    // An unreadable YAML does not name its data directory.
    let unsaid = || if !has_data && holds(&beside) { beside } else { own_data };
    let data_dir = data_dir.map_or_else(unsaid, |dir| join(folder, &dir));
    let readable = text.iter().filter(|_| system.is_ok());
    Some(SystemFile {
        name: name.to_owned(),
        path: entry.path.clone(),
        yaml: entry.path.clone(),
        refused: readable.flat_map(|text| specs.loader.yaml.system.refusals(text)).collect(),
        system: system.map(|s| s.with_facts(facts)),
        data_dir,
        unread: None,
    })
}

/// Returns the reason why the data directory that a system's YAML names is not read, for example that it does not
/// exist. `None` if the directory is at a usual path or in `full`, the set of folders that contain files.
fn why_unread(system: &SystemFile, full: &BTreeSet<&str>) -> Option<String> {
    let declared = data_dir_of(system)?;
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
    if usual.contains(dir) || full.contains(dir.as_str()) {
        return None;
    }
    let meant = usual
        .iter()
        .find(|place| full.contains(place.as_str()))
        .map(|place| format!("; `data_dir: {}` names its data", relative(system.folder(), place)));
    Some(format!(
        "its data_dir {declared} is {dir}, which is empty or does not exist{}",
        meant.unwrap_or_default()
    ))
}

/// Returns the value of `data_dir` in a system's YAML; `None` if the YAML lacks this field or cannot be read.
fn data_dir_of(system: &SystemFile) -> Option<&str> {
    Some(system.system.as_ref().ok()?.texts.get("data_dir")?)
}

/// Describes a system's data directory for a message, as in `data_dir: data/x, which is systems/data/x`. The first path
/// is written in the system's YAML; the second is the resolved path.
fn declared(system: &SystemFile) -> String {
    match data_dir_of(system) {
        Some(declared) => format!("data_dir: {declared}, which is {}", system.data_dir),
        None => format!("no data_dir, which means {}", system.data_dir),
    }
}

/// Returns the path where the YAML of a system is expected. `folder` is the folder with the system's data directory,
/// such as `systems/data/`.
fn yaml_of(folder: &str, name: &str) -> String {
    let above = folder.trim_end_matches('/').rsplit_once('/').map_or("", |(above, _)| above);
    let systems = if above.ends_with("systems") { "" } else { "systems" };
    join(above, &format!("{systems}/{name}.yaml"))
}
