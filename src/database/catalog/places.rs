//! The meaning of paths in a database, by their names alone.

use std::collections::{BTreeMap, BTreeSet};

use super::links::is_within;
use super::{Catalog, Format, SystemFile};
use crate::database::source::Entry;

/// The locations of a catalog's systems.
pub(super) struct Places {
    /// The system of each data directory.
    owners: BTreeMap<String, String>,
    /// The system of each folder that is a data directory or above one. If a folder belongs to several
    /// systems, it has the first one by name.
    above: BTreeMap<String, String>,
    /// The data directories and their parent folders.
    data_folders: BTreeSet<String>,
    /// The paths of the systems' YAML files.
    pub(super) yaml: BTreeSet<String>,
}

impl Places {
    pub(super) fn of(systems: &BTreeMap<String, SystemFile>) -> Self {
        let mut places = Self {
            owners: BTreeMap::new(),
            above: BTreeMap::new(),
            data_folders: BTreeSet::new(),
            yaml: BTreeSet::new(),
        };
        for system in systems.values() {
            let (dir, name) = (&system.data_dir, &system.name);
            places.yaml.insert(system.yaml.clone());
            places.owners.insert(dir.clone(), name.clone());
            places.data_folders.insert(dir.clone());
            let above = dir.rsplit_once('/').map(|(above, _)| above);
            places.data_folders.extend(above.map(str::to_owned));
            let folders = dir.match_indices('/').map(|(at, _)| &dir[..at]).chain([dir.as_str()]);
            for folder in folders {
                places.above.entry(folder.to_owned()).or_insert_with(|| name.clone());
            }
        }
        places
    }

    /// Returns the system whose data directory contains the file, with the byte position in `path` where the
    /// part inside that directory starts. The deepest such data directory wins.
    pub(super) fn owner(&self, path: &str) -> Option<(usize, &str)> {
        let owner = |at: usize| Some((at + 1, self.owners.get(&path[..at])?.as_str()));
        path.rmatch_indices('/').find_map(|(at, _)| owner(at))
    }

    /// Returns true if a path belongs to the root: it is in the folder of the systems' YAML, is a system's
    /// data directory, or is in or beside one.
    pub(super) fn has(&self, root: &Catalog, path: &str) -> bool {
        let in_folder = !root.folder.is_empty() && is_within(path, &root.folder);
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        in_folder || above.chain([path]).any(|folder| self.data_folders.contains(folder))
    }

    /// Returns the system whose files a reader misses if it does not follow a link or submodule at `path`.
    /// The name is empty if all systems may be affected.
    pub(super) fn hidden_by(&self, path: &str) -> Option<String> {
        if let Some(system) = self.above.get(path) {
            return Some(system.clone());
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // The data of several systems is usually in one folder.
        if self.data_folders.contains(folder) && !self.owners.contains_key(folder) {
            return Some(String::new());
        }
        let in_systems = folder == "systems" || folder.ends_with("/systems");
        let read = name.ends_with(".yaml") || name == "data" || name == "support_matrix";
        (name == "systems" || in_systems && read).then(String::new)
    }
}

/// Returns the two conventional data directories of a system: below the folder of its YAML, and beside that
/// folder.
pub(super) fn usual_places(folder: &str, name: &str) -> [String; 2] {
    [format!("data/{name}"), format!("../data/{name}")].map(|dir| join(folder, &dir))
}

/// Returns true if a file is in a hidden folder of a possible database. The database itself may be in a
/// hidden folder.
pub(super) fn in_hidden_folder(path: &str) -> bool {
    let mut parts = path.split('/').rev().skip(1).skip_while(|part| !is_hidden(part)).skip(1);
    parts.any(|part| part == "systems" || part == "data")
}

/// Returns true if the loader skips a file because of a folder's name: a hidden folder, or a version
/// directory that was put aside with an underscore.
pub(crate) fn is_passed_over(path: &str) -> bool {
    let version = path.rsplit('/').nth(1).unwrap_or_default();
    in_hidden_folder(path) || version.starts_with('_')
}

/// Returns true if a folder's name is hidden; `.` and `..` are not.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && !name.trim_matches('.').is_empty()
}

/// Returns true if any file is below a folder. `files` must be sorted by path.
pub(super) fn holds_files(files: &[Entry], dir: &str) -> bool {
    let below = format!("{dir}/");
    let first = files.partition_point(|f| f.path < below);
    files.get(first).is_some_and(|f| f.path.starts_with(&below))
}

/// Returns true if a table's ending is spelt in a way that the loader does not accept: `.Parquet`,
/// `_perf.TXT`.
pub(crate) fn is_misspelt(path: &str) -> bool {
    format_of(path).is_none() && format_of(&path.to_ascii_lowercase()).is_some()
}

/// Returns the table format of a file name, or `None` if the name is not a table's.
pub(super) fn format_of(path: &str) -> Option<Format> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.ends_with(".parquet") {
        Some(Format::Parquet)
    } else if name.ends_with("_perf.txt") || name.ends_with("_perf.csv") {
        Some(Format::Csv)
    } else {
        None
    }
}

/// Joins a relative path to a folder and resolves `.` and `..`.
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

/// Returns true if a relative path from a folder leads out of the source.
pub(super) fn leaves(folder: &str, relative: &str) -> bool {
    let mut depth = folder.split('/').filter(|p| !p.is_empty()).count();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
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
