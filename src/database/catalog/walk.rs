//! The files of a source, each to its place in the catalog.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use super::{Catalog, Format, Place, Role, SystemFile, TableFile, VersionDir};
use crate::base::error::{Error, Result};
use crate::base::reason::Reason;
use crate::database::source::{Entry, EntryKind, Source};
use crate::specs::Specs;
use crate::specs::system::System;

/// What is said of the tables of a directory.
const SIDECARS: [&str; 2] = ["collection_meta.yaml", "reuse.yaml"];

/// Files of the scheme before `collection_meta.yaml` and `reuse.yaml`.
const MARKERS: [&str; 2] = ["INCOMPLETE.txt", "SHARED_LAYER_REUSE.txt"];

impl Catalog {
    /// Walks a source that may hold none, as a commit before the first data does.
    ///
    /// # Errors
    ///
    /// When the files cannot be listed, or there are two databases.
    pub fn walk(source: &dyn Source, specs: &Specs) -> Result<Self> {
        let files = source.files()?;
        let mut catalog = Self::default();
        for entry in &files {
            catalog.add_system(source, specs, entry, &files)?;
        }
        catalog.add_orphans(&files);
        catalog.add_claims(&files);
        let mut by_dir: BTreeMap<String, String> = BTreeMap::new();
        for system in catalog.systems.values() {
            by_dir.insert(format!("{}/", system.data_dir), system.name.clone());
        }
        for entry in files {
            // The longest data directory that holds the file: the last one not after it.
            let owner = by_dir
                .range(..=entry.path.clone())
                .rev()
                .find(|(dir, _)| entry.path.starts_with(dir.as_str()));
            // A link above data hides all of it.
            let above = |s: &SystemFile| {
                let rest = s.data_dir.strip_prefix(&entry.path);
                matches!(entry.kind, EntryKind::Link(_))
                    && rest.is_some_and(|r| r.is_empty() || r.starts_with('/'))
            };
            if let Some(system) = catalog.systems.values().find(|s| above(s)) {
                let name = system.name.clone();
                catalog.add_stray(entry, &name);
            } else if let Some((dir, system)) = owner {
                let (inside, system) = (entry.path[dir.len()..].to_owned(), system.clone());
                catalog.add_file(entry, &inside, &system);
            } else if !catalog.systems.values().any(|s| s.yaml == entry.path) {
                catalog.others.push(entry);
            }
        }
        Ok(catalog)
    }

    fn add_system(
        &mut self,
        source: &dyn Source,
        specs: &Specs,
        entry: &Entry,
        files: &[Entry],
    ) -> Result<()> {
        let Some(stem) = entry.path.strip_suffix(".yaml") else { return Ok(()) };
        let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        if folder != "systems" && !folder.ends_with("/systems") && !folder.is_empty() {
            return Ok(());
        }
        let facts = specs.systems.get(name);
        let text = source.read(entry).map(|b| String::from_utf8_lossy(&b).into_owned());
        let text = text.map_err(Reason::from);
        let system = text.and_then(|t| System::parse(name, &t));
        let own_data = join(folder, &format!("data/{name}"));
        let beside = join(folder, &format!("../data/{name}"));
        let holds = |dir: &str| {
            let inside = |f: &Entry| f.path.strip_prefix(dir).is_some_and(|r| r.starts_with('/'));
            files.iter().any(inside)
        };
        let has_data = holds(&own_data);
        // A manifest beside the systems is none: it neither reads like one nor goes by one's name.
        let reads_like_one = system.as_ref().is_ok_and(System::is_system);
        if !reads_like_one && facts.is_none() && !has_data {
            return Ok(());
        }
        let data_dir = system.as_ref().ok().and_then(|s| s.texts.get("data_dir").cloned());
        // What cannot be read does not say where its data is.
        let unsaid = || if !has_data && holds(&beside) { beside } else { own_data };
        let data_dir = data_dir.map_or_else(unsaid, |dir| join(folder, &dir));
        let file = SystemFile {
            name: name.to_owned(),
            path: entry.path.clone(),
            yaml: entry.path.clone(),
            system: system.map(|s| s.with_facts(facts)),
            data_dir,
        };
        self.beside.push((entry.clone(), Role::System));
        match self.systems.entry(name.to_owned()) {
            Slot::Vacant(slot) => drop(slot.insert(file)),
            Slot::Occupied(first) => {
                return Err(Error::new(
                    format!("two databases below one root: {} and {}", first.get().path, file.path),
                    "point --root at one of them",
                ));
            }
        }
        Ok(())
    }

    /// What is said beside the systems: of what can be planned on them, and of what backends share.
    fn add_claims(&mut self, files: &[Entry]) {
        let find = |path: String| files.iter().find(|f| f.path == path).cloned();
        for (name, system) in &self.systems {
            self.support.extend(find(system.matrix()).map(|m| (name.clone(), m)));
            let folder = system.folder();
            if self.manifest.is_none() {
                self.manifest = find(join(folder, "perf_data_reuse_manifest.yaml"));
            }
        }
    }

    /// Data directories that no system's YAML names.
    fn add_orphans(&mut self, files: &[Entry]) {
        // Where one system's data lies, others' may: the loader's place, or beside `systems`.
        let above = self.systems.values().filter_map(|s| s.data_dir.rsplit_once('/'));
        let above: BTreeSet<String> = above.map(|(parent, _)| format!("{parent}/")).collect();
        for entry in files {
            let at = entry.path.find("systems/data/");
            let at = at.filter(|at| *at == 0 || entry.path.as_bytes()[at - 1] == b'/');
            // A folder named data may hold more than systems: only what lies as a table does counts.
            let deep = |a: &&String| (4..=5).contains(&entry.path[a.len()..].split('/').count());
            let beside =
                || above.iter().filter(|a| entry.path.starts_with(*a)).find(deep).map(String::len);
            let start = at.map(|at| at + "systems/data/".len()).or_else(beside);
            let Some(start) = start else { continue };
            let Some(end) = entry.path[start..].find('/') else { continue };
            let (dir, name) = (&entry.path[..start + end], &entry.path[start..start + end]);
            let owned = self.systems.values().any(|s| s.data_dir == dir);
            if owned || format_of(&entry.path).is_none() {
                continue;
            }
            // The name may be that of a system whose data lies elsewhere.
            let (name, why) = match self.systems.get(name) {
                None => {
                    (name, format!("there is no systems/{name}.yaml, so nothing loads this data"))
                }
                Some(other) => (
                    dir,
                    format!(
                        "{} has {} for its data_dir, so nothing loads this data",
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
            };
            self.systems.insert(name.to_owned(), file);
        }
    }

    fn add_file(&mut self, entry: Entry, inside: &str, system: &str) {
        if let EntryKind::Link(_) = entry.kind {
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
        // The loader passes over versions that are hidden or put aside so.
        if !known || version.starts_with(['.', '_']) {
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

    fn add_stray(&mut self, entry: Entry, system: &str) {
        self.beside.push((entry.clone(), Role::Other));
        self.strays.push((entry, system.to_owned()));
    }
}

/// Where the YAML of a system is looked for whose data lies in a folder: `systems/data/` or the `data/`
/// beside `systems/`.
fn yaml_of(folder: &str, name: &str) -> String {
    let above = folder.trim_end_matches('/').rsplit_once('/').map_or("", |(above, _)| above);
    let systems = if above.ends_with("systems") { "" } else { "systems" };
    join(above, &format!("{systems}/{name}.yaml"))
}

/// The table format of a file name, or `None` where it is no table.
fn format_of(path: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.ends_with(".parquet") {
        Some(Format::Parquet)
    } else if name.ends_with("_perf.txt") || name.ends_with("_perf.csv") {
        Some(Format::Csv)
    } else {
        None
    }
}

/// Joins a relative path to a folder, resolving `.` and `..`.
pub(super) fn join(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_dirs_are_relative_to_their_yaml() {
        assert_eq!(join("a/systems", "data/x"), "a/systems/data/x");
        assert_eq!(join("systems", "../data/x/"), "data/x");
        assert_eq!(join("", "data/x"), "data/x");
    }

    #[test]
    fn only_tables_are_tables() {
        assert_eq!(format_of("a/gemm_perf.parquet"), Some(Format::Parquet));
        assert_eq!(format_of("a/gemm_perf.txt"), Some(Format::Csv));
        assert_eq!(format_of("a/INCOMPLETE.txt"), None);
    }
}
