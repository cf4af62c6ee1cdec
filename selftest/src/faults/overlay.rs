//! A source with some files replaced in memory, so that faults are never written to disk.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use perfdb_gate::base::error::Result;
use perfdb_gate::database::source::{AgedFile, Entry, EntryKind, ReadError, Source};

/// The replacement of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FileChange {
    /// The new bytes.
    Bytes(Vec<u8>),
    /// A symbolic link to this target.
    Link(String),
    /// No file.
    Gone,
}

/// A source with changed files, by path.
pub(super) struct Overlay<'a> {
    below: &'a dyn Source,
    changes: BTreeMap<String, FileChange>,
}

impl<'a> Overlay<'a> {
    /// Replaces files of a source.
    pub(super) fn new(below: &'a dyn Source, changes: BTreeMap<String, FileChange>) -> Self {
        Self { below, changes }
    }
}

impl Source for Overlay<'_> {
    fn files(&self) -> Result<Vec<Entry>> {
        let mut files = self.below.files()?;
        files.retain(|f| !self.changes.contains_key(&f.path));
        for (path, change) in &self.changes {
            let (kind, size) = match change {
                FileChange::Gone => continue,
                FileChange::Link(to) => (EntryKind::Link(to.clone()), 0),
                // The entry is never opened, since the bytes are in memory.
                FileChange::Bytes(bytes) => {
                    (EntryKind::Broken("planted".into()), bytes.len() as u64)
                }
            };
            files.push(Entry { path: path.clone(), kind, size });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    fn settings(&self) -> Result<Vec<Entry>> {
        self.below.settings()
    }

    fn top_file(&self, path: &str) -> Result<Option<Entry>> {
        self.below.top_file(path)
    }

    fn read_file(&self, entry: &Entry) -> Result<Vec<u8>, ReadError> {
        match self.changes.get(&entry.path) {
            Some(FileChange::Bytes(bytes)) => Ok(bytes.clone()),
            Some(FileChange::Link(to)) => Err(ReadError::Link(to.clone())),
            Some(FileChange::Gone) => Err(ReadError::NotAFile("no such file".into())),
            None => self.below.read(entry),
        }
    }

    fn id(&self, entry: &Entry) -> Option<git2::Oid> {
        match self.changes.get(&entry.path) {
            Some(FileChange::Bytes(bytes)) => {
                git2::Oid::hash_object(git2::ObjectType::Blob, bytes).ok()
            }
            Some(_) => None,
            None => self.below.id(entry),
        }
    }

    fn changed_since(&self, reference: &str) -> Result<Vec<String>> {
        self.below.changed_since(reference)
    }

    fn base(&self, reference: &str) -> Result<Box<dyn Source>> {
        self.below.base(reference)
    }

    /// Planted files are the latest; `CrossContext::later` checks this before it asks for the
    /// history.
    fn age(&self, a: AgedFile<'_>, b: AgedFile<'_>) -> Option<Ordering> {
        self.below.age(a, b)
    }
}
