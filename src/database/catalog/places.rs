//! The meaning of paths in a database, by their names alone, and the place of a table that is given by its path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Place, SystemFile, is_within};
use crate::database::source::Entry;
use crate::specs::Specs;

/// The paths of the YAML files and data directories of a catalog's systems.
#[derive(Default)]
pub(crate) struct Places {
    /// The name of the system to which each data directory belongs, by the directory's path.
    owners: BTreeMap<String, String>,
    /// The name of the system whose data is in or below a folder, by the folder's path. If there are several such
    /// systems, the first name in alphabetical order is stored.
    above: BTreeMap<String, String>,
    /// The data directories and their parent folders.
    data_folders: BTreeSet<String>,
    /// The paths of the systems' YAML files.
    pub(super) yaml: BTreeSet<String>,
}

impl Places {
    pub(super) fn of(systems: &BTreeMap<String, SystemFile>) -> Self {
        let mut places = Self::default();
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

    /// Finds the innermost data directory that contains the file `path`. Returns the length in bytes of the directory's
    /// path with its final slash, and the name of the directory's system. `None` if no data directory contains the
    /// file.
    pub(super) fn owner(&self, path: &str) -> Option<(usize, &str)> {
        let owner = |at: usize| Some((at + 1, self.owners.get(&path[..at])?.as_str()));
        path.rmatch_indices('/').find_map(|(at, _)| owner(at))
    }

    /// Returns true if a path belongs to a database. Such a path is within `root`, the folder of the systems' YAML, or
    /// within one of `data_folders`.
    pub(super) fn has(&self, root: &str, path: &str) -> bool {
        let in_folder = !root.is_empty() && is_within(path, root);
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        in_folder || above.chain([path]).any(|folder| self.data_folders.contains(folder))
    }

    /// Returns the name of the system whose files may be behind the link or submodule at `path`, which is not followed.
    /// Returns an empty name if the files may belong to any system, and `None` if no files of a system are expected
    /// there.
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

/// Returns true if any file is below a folder. `files` must be sorted by path.
pub(crate) fn holds_files(files: &[Entry], dir: &str) -> bool {
    let below = format!("{dir}/");
    let first = files.partition_point(|f| f.path < below);
    files.get(first).is_some_and(|f| f.path.starts_with(&below))
}

/// Derives a table's system, family, backend and version from the names of the folders above its file. The family is
/// `None` in the flat layout. A missing folder gives an empty name.
pub(crate) fn place_of(path: &Path, specs: &Specs) -> Place {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folders: Vec<String> = path
        .parent()
        .into_iter()
        .flat_map(Path::components)
        .map(|c| c.as_os_str().to_string_lossy().into_owned())
        .collect();
    let above = |steps: usize| folders.iter().rev().nth(steps - 1).cloned().unwrap_or_default();
    let families: BTreeSet<&str> = specs.tables.values().map(|t| t.family.as_str()).collect();
    let (version, backend, third) = (above(1), above(2), above(3));
    if families.contains(third.as_str()) {
        return Place { system: above(4), family: Some(third), backend, version };
    }
    Place { system: third, family: None, backend, version }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_a_table_give_system_family_backend_and_version() {
        let specs = Specs::embedded().unwrap();
        let place = |path: &str| {
            let p = place_of(Path::new(path), &specs);
            [p.system, p.family.unwrap_or_default(), p.backend, p.version]
        };
        assert_eq!(
            place("/x/data/h200_sxm/gemm/vllm/0.24.0/gemm_perf.parquet"),
            ["h200_sxm", "gemm", "vllm", "0.24.0"]
        );
        assert_eq!(
            place("/x/data/h200_sxm/vllm/0.24.0/gemm_perf.txt"),
            ["h200_sxm", "", "vllm", "0.24.0"]
        );
        assert_eq!(place("/gemm_perf.parquet"), ["", "", "", "/"]);
    }
}
