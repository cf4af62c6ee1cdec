//! A state of a database as files on disk, where the planner reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use tempfile::TempDir;

use crate::base::error::{Error, Result};
use crate::base::interrupt::{Leftover, RemovedOnSignal};
use crate::database::source::{Entry, EntryKind, named_like_a_table, pointer};
use crate::database::state::State;

/// A temporary folder with the files of one database state, for the planner to read.
pub(super) struct PlannerTree<'a> {
    pub state: State<'a>,
    folder: TempDir,
    _removed: RemovedOnSignal,
    /// All files of the database state that are in a folder which the planner reads.
    entries: Vec<Entry>,
    /// The systems whose tables were already written to the temporary folder.
    written: BTreeSet<String>,
    /// Files whose contents are unavailable, each with the reason.
    pub absent: BTreeMap<String, String>,
}

impl<'a> PlannerTree<'a> {
    /// Copies the files that the planner reads to a temporary folder: the files beside the systems' YAML, the sidecars
    /// of all systems, and the tables of `systems`. All other tables, and tables that cannot be read, become empty
    /// files, because the planner finds the versions by their files' names.
    ///
    /// # Errors
    ///
    /// If the source cannot be listed, or a file cannot be written.
    pub(crate) fn new(state: State<'a>, systems: &BTreeSet<String>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("perfdb-gate-planner-").tempdir();
        let folder = folder.map_err(|e| unwritten(&std::env::temp_dir(), &e))?;
        let _removed = RemovedOnSignal::new(Leftover::Folder(folder.path().to_owned()));
        let entries = state.source.files()?;
        let mut tree = Self {
            state,
            folder,
            _removed,
            entries,
            written: BTreeSet::new(),
            absent: BTreeMap::new(),
        };
        let root = tree.root();
        std::fs::create_dir_all(&root).map_err(|e| unwritten(&root, &e))?;
        let data: BTreeSet<&str> =
            state.catalog.systems.values().map(|system| system.data_dir.as_str()).collect();
        for entry in std::mem::take(&mut tree.entries) {
            let mut ends = entry.path.match_indices('/');
            let is_data = ends.any(|(end, _)| data.contains(&entry.path[..end]));
            if is_data && named_like_a_table(&entry.path) {
                tree.write(&entry.path, &[])?;
            } else if is_data || entry.folder() == state.catalog.folder {
                tree.copy(&entry)?;
            } else {
                continue;
            }
            tree.entries.push(entry);
        }
        tree.add(systems)?;
        Ok(tree)
    }

    /// Writes the tables of `systems` to the temporary folder, unless they were already written.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(crate) fn add(&mut self, systems: &BTreeSet<String>) -> Result<()> {
        for system in systems {
            let Some(file) = self.state.catalog.systems.get(system) else { continue };
            if !self.written.insert(system.clone()) {
                continue;
            }
            let entries = std::mem::take(&mut self.entries);
            let tables = entries.iter().filter(|e| is_below(&e.path, &file.data_dir));
            let copied = tables
                .filter(|e| named_like_a_table(&e.path))
                .try_for_each(|entry| self.copy(entry));
            self.entries = entries;
            copied?;
        }
        Ok(())
    }

    /// Returns the folder on disk that contains the systems' YAML files.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join(&self.state.catalog.folder)
    }

    /// Converts a path that the planner reports into a path of the database's source. The planner's paths are relative
    /// to the folder of the systems' YAML files.
    pub(crate) fn path_of(&self, relative: &str) -> String {
        let mut parts: Vec<&str> =
            self.state.catalog.folder.split('/').filter(|p| !p.is_empty()).collect();
        for part in relative.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        parts.join("/")
    }

    /// Returns the git id of a file's bytes; `None` if the file does not exist or its bytes are unavailable.
    pub(crate) fn id(&self, path: &str) -> Option<git2::Oid> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_str().cmp(path)).ok()?;
        self.state.source.id(&self.entries[at])
    }

    /// Iterates over the files that are not tables, with the git ids of their bytes.
    pub(crate) fn others(&self) -> impl Iterator<Item = (&str, Option<git2::Oid>)> {
        let others = self.entries.iter().filter(|entry| !named_like_a_table(&entry.path));
        others.map(|entry| (entry.path.as_str(), self.state.source.id(entry)))
    }

    /// Copies a file to the temporary folder; for a git-LFS pointer, copies the content of the LFS object. Links and
    /// submodules are skipped. A file that cannot be read is recorded in `absent` instead.
    fn copy(&mut self, entry: &Entry) -> Result<()> {
        match &entry.kind {
            EntryKind::Path(_) | EntryKind::Blob(_) | EntryKind::Refused(..) => {}
            EntryKind::Link(_)
            | EntryKind::Submodule(_)
            | EntryKind::Assembled(_)
            | EntryKind::Broken(_) => {
                return Ok(());
            }
        }
        match self.state.source.read(entry) {
            Ok(bytes) if pointer(&bytes).is_some() => {
                let why = "a git-LFS pointer whose object was not fetched";
                self.absent.insert(entry.path.clone(), why.to_owned());
                Ok(())
            }
            Ok(bytes) => self.write(&entry.path, &bytes),
            Err(why) => {
                self.absent.insert(entry.path.clone(), why.to_string());
                Ok(())
            }
        }
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let relative = Path::new(path);
        // A path that leads out of the folder is not a path of the database.
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Ok(());
        }
        let target = self.folder.path().join(relative);
        let made = target.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&target, bytes)).map_err(|e| unwritten(&target, &e))
    }
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn unwritten(path: &Path, why: &std::io::Error) -> Error {
    let hint = "the planner reads a copy of the database in the temporary folder; TMPDIR names another, and \
                --planner none asks nobody";
    Error::new(format!("cannot write {}: {why}", path.display()), hint)
}
