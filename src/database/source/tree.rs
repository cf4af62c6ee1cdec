//! The interface of all sources.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::{AgedFile, Assembly, Entry, EntryKind, ReadError};
use crate::base::error::Result;

/// A tree of files whose bytes can be read.
pub trait Source: Sync {
    /// Returns every file below the root, sorted by path.
    fn files(&self) -> Result<Vec<Entry>>;

    /// Returns the judged repository's own rules, waivers and baseline: the files below `.perfdb-gate/` at
    /// the repository's top (or at the root outside of a repository), by their path inside that folder.
    fn settings(&self) -> Result<Vec<Entry>>;

    /// Returns the file at a path from the repository's top (or from the root outside of a repository); `None` if
    /// it does not exist.
    fn top_file(&self, path: &str) -> Result<Option<Entry>>;

    /// Reads the bytes of a file that the source lists.
    fn read_file(&self, entry: &Entry) -> Result<Vec<u8>, ReadError>;

    /// Reads the bytes of a file, or of a table that is assembled from files. An error becomes a finding; it
    /// does not end the run.
    fn read(&self, entry: &Entry) -> Result<Vec<u8>, ReadError> {
        match &entry.kind {
            EntryKind::Assembled(assembly) => assembly.text(|file| self.read_file(file)),
            EntryKind::Path(_)
            | EntryKind::Blob(_)
            | EntryKind::Link(_)
            | EntryKind::Submodule(_)
            | EntryKind::Broken(_)
            | EntryKind::Refused(..) => self.read_file(entry),
        }
    }

    /// Returns the id of an assembled table, computed from the git ids of its files. If a file also has rows of other
    /// tables, the id is a hash of the table's own text, so that changes to other tables do not affect the id. `None`
    /// if a file has no git id.
    fn assembled_id(&self, assembly: &Assembly) -> Option<git2::Oid> {
        let by_files = || assembly.id(|file| self.id(file));
        if assembly.has_whole_files() {
            return by_files();
        }
        let text = assembly.text(|file| self.read_file(file)).ok();
        let hash = |text: Vec<u8>| git2::Oid::hash_object(git2::ObjectType::Blob, &text).ok();
        text.and_then(hash).or_else(by_files)
    }

    /// Reads a file as text.
    fn text(&self, entry: &Entry) -> Result<String, ReadError> {
        Ok(String::from_utf8(self.read(entry)?)?)
    }

    /// Returns the git id of a file's bytes; `None` if the bytes are unavailable. Files with equal ids are
    /// equal and need not be read.
    fn id(&self, entry: &Entry) -> Option<git2::Oid>;

    /// Returns the paths that differ between the source and its merge base with `reference`.
    fn changed_since(&self, reference: &str) -> Result<Vec<String>>;

    /// Opens the merge base of the source and `reference`, at the same root.
    fn base(&self, reference: &str) -> Result<Box<dyn Source>>;

    /// Returns true if `.gitattributes` puts the file at a path into git-LFS, so that the repository should
    /// contain a pointer.
    fn is_in_lfs(&self, _path: &str) -> bool {
        false
    }

    /// Returns the paths of the files that were requested and whose objects are not in this clone.
    fn missing(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Compares when two files were added: `Greater` if `a` was added later; `None` if they were added
    /// together or the history does not show it.
    fn age(&self, a: AgedFile<'_>, b: AgedFile<'_>) -> Option<Ordering>;

    /// Returns the id of the source's commit in hex; `None` for files on disk.
    fn commit(&self) -> Option<String> {
        None
    }

    /// Returns the date of the source's commit and the name of its repository, such as `2026-11-20, owner/name`;
    /// empty for files on disk.
    fn date_and_repository(&self) -> String {
        String::new()
    }

    /// Checks at the end of a run that no file has changed since it was read.
    ///
    /// # Errors
    ///
    /// If a file has changed. The error names the first such file.
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }
}
