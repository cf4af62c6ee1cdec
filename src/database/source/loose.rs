//! A source of files outside of any database, such as a single table or a folder of results.

use std::cmp::Ordering;
use std::path::Path;

use super::read::guard_size;
use super::{Dated, Entry, EntryKind, ReadError, Source, named_like_a_table};
use crate::base::error::{Error, Result};

/// The maximal depth of folders below a listed folder.
const DEPTH: usize = 8;

/// Table files on disk, in any folder.
#[derive(Debug, Default)]
pub struct LooseFiles(Vec<Entry>);

impl LooseFiles {
    /// Lists a single file, or all files below a folder that are named like tables.
    ///
    /// # Errors
    ///
    /// If the folder cannot be listed.
    pub fn at(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            return Ok(Self(vec![entry(path)]));
        }
        let mut found = Vec::new();
        for item in walkdir::WalkDir::new(path).max_depth(DEPTH).sort_by_file_name() {
            let item = item.map_err(|e| {
                let message = format!("cannot list {}: {e}", path.display());
                Error::new(message, "check its permissions")
            })?;
            if item.file_type().is_file() && named_like_a_table(&item.file_name().to_string_lossy())
            {
                found.push(entry(item.path()));
            }
        }
        Ok(Self(found))
    }
}

fn entry(path: &Path) -> Entry {
    let size = std::fs::metadata(path).map_or(0, |m| m.len());
    let kind = EntryKind::Path(path.to_owned());
    Entry { path: path.display().to_string(), kind, size }
}

impl Source for LooseFiles {
    fn files(&self) -> Result<Vec<Entry>> {
        Ok(self.0.clone())
    }

    fn settings(&self) -> Result<Vec<Entry>> {
        Ok(Vec::new())
    }

    fn read_file(&self, entry: &Entry) -> Result<Vec<u8>, ReadError> {
        let EntryKind::Path(path) = &entry.kind else {
            return Err(ReadError::OtherSource("a file"));
        };
        guard_size(&entry.path, std::fs::metadata(path)?.len())?;
        Ok(std::fs::read(path)?)
    }

    fn id(&self, entry: &Entry) -> Option<git2::Oid> {
        let bytes = self.read(entry).ok()?;
        git2::Oid::hash_object(git2::ObjectType::Blob, &bytes).ok()
    }

    fn changed_since(&self, reference: &str) -> Result<Vec<String>> {
        Err(without_history(reference))
    }

    fn base(&self, reference: &str) -> Result<Box<dyn Source>> {
        Err(without_history(reference))
    }

    fn age(&self, _: Dated<'_>, _: Dated<'_>) -> Option<Ordering> {
        None
    }
}

fn without_history(reference: &str) -> Error {
    Error::new(
        format!("{reference} cannot be compared with files outside a repository"),
        "name a repository",
    )
}
