//! Where files of a database lie, by their paths alone.

use std::collections::{BTreeMap, BTreeSet};

use super::links::is_within;
use super::{Catalog, Format, SystemFile};
use crate::database::source::Entry;

/// Where the systems of a catalog have their files.
pub(super) struct Places {
    /// Systems by their data directory.
    owners: BTreeMap<String, String>,
    /// Systems by the folders at and above their data directory; of several, the first by name.
    above: BTreeMap<String, String>,
    /// The data directories, and the folders that are directly above them.
    data_folders: BTreeSet<String>,
    /// Paths of their YAML.
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

    /// The system whose data directory holds the file, the deepest such, and where the path inside
    /// that begins.
    pub(super) fn owner(&self, path: &str) -> Option<(usize, &str)> {
        let owner = |at: usize| Some((at + 1, self.owners.get(&path[..at])?.as_str()));
        path.rmatch_indices('/').find_map(|(at, _)| owner(at))
    }

    /// Whether a path is in a root of these places: in the folder of its YAML, or at, in or beside the data directory of a
    /// system.
    pub(super) fn has(&self, root: &Catalog, path: &str) -> bool {
        let in_folder = !root.folder.is_empty() && is_within(path, &root.folder);
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        in_folder || above.chain([path]).any(|folder| self.data_folders.contains(folder))
    }

    /// The system that a link or submodule at `path` would hide from a reader that does not follow
    /// it. The name is empty where it hides all of them, whatever they are.
    pub(super) fn hidden_by(&self, path: &str) -> Option<String> {
        if let Some(system) = self.above.get(path) {
            return Some(system.clone());
        }
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // Where the data of one system is, others' may be.
        if self.data_folders.contains(folder) && !self.owners.contains_key(folder) {
            return Some(String::new());
        }
        let in_systems = folder == "systems" || folder.ends_with("/systems");
        let read = name.ends_with(".yaml") || name == "data" || name == "support_matrix";
        (name == "systems" || in_systems && read).then(String::new)
    }
}

/// Where the data of a system lies by convention: below the folder of its YAML, or beside that.
pub(super) fn usual_places(folder: &str, name: &str) -> [String; 2] {
    [format!("data/{name}"), format!("../data/{name}")].map(|dir| join(folder, &dir))
}

/// Whether a file is in a hidden folder of what may be a database. A database may be in a hidden folder itself.
pub(super) fn in_hidden_folder(path: &str) -> bool {
    let mut parts = path.split('/').rev().skip(1).skip_while(|part| !is_hidden(part)).skip(1);
    parts.any(|part| part == "systems" || part == "data")
}

/// Whether a loader passes over a file of a database for the name of a folder: one that is hidden, or a version that was put
/// aside with an underscore.
pub(crate) fn is_passed_over(path: &str) -> bool {
    let version = path.rsplit('/').nth(1).unwrap_or_default();
    in_hidden_folder(path) || version.starts_with('_')
}

/// Whether a folder is hidden; `.` and `..` are not.
pub(super) fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && !name.trim_matches('.').is_empty()
}

/// Whether any file lies below a folder; `files` are in the order of their paths.
pub(super) fn holds_files(files: &[Entry], dir: &str) -> bool {
    let below = format!("{dir}/");
    let first = files.partition_point(|f| f.path < below);
    files.get(first).is_some_and(|f| f.path.starts_with(&below))
}

/// Whether a table's ending is spelt as the loader does not look for it: `.Parquet`, `_perf.TXT`.
pub(crate) fn is_misspelt(path: &str) -> bool {
    format_of(path).is_none() && format_of(&path.to_ascii_lowercase()).is_some()
}

/// The table format of a file name, or `None` where it is not a table.
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

/// Whether a relative path from a folder leads above the top.
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
