//! Whether files on disk are still what they were when they were first read.
//!
//! A run reads some tables twice, and compares tables with each other. Where one is written
//! meanwhile, what it judged never existed as a whole.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::base::error::{Error, Result};

/// Files by path, each as it was before it was first read; none where it could not be looked at.
#[derive(Default)]
pub(super) struct Stamps(Mutex<BTreeMap<PathBuf, Option<Stamp>>>);

/// What changes whenever a file is written or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// Inode, and the time at which it last changed: nobody sets that back.
    identity: (u64, i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        let (size, modified) = (found.len(), found.modified().ok());
        Some(Self { size, modified, identity: identity(&found) })
    }
}

#[cfg(unix)]
fn identity(of: &Metadata) -> (u64, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    (of.ino(), of.ctime(), of.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, i64, i64) {
    (0, 0, 0)
}

/// What was found out of files, for as long as they stay what they were: the ids of those that were hashed.
#[derive(Default)]
pub(super) struct Stamped<T>(Mutex<HashMap<PathBuf, (Stamp, T)>>);

impl<T: Clone> Stamped<T> {
    /// What is known of a file, or is found out now.
    pub(super) fn of(&self, path: &Path, find: impl FnOnce() -> T) -> T {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Of the file before it is read: one that is written meanwhile is looked at again.
        let Some(now) = Stamp::of(path) else { return find() };
        let same = known().get(path).filter(|(stamp, _)| *stamp == now).map(|(_, of)| of.clone());
        same.unwrap_or_else(|| {
            let found = find();
            known().insert(path.to_owned(), (now, found.clone()));
            found
        })
    }
}

impl Stamps {
    /// Remembers a file as it is, unless it is known already. Call it before the file is read.
    pub(super) fn note(&self, path: &Path) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(path) {
            known.insert(path.to_owned(), Stamp::of(path));
        }
    }

    /// Whether all of them are still what they were.
    ///
    /// # Errors
    ///
    /// At the first, by path, that is not.
    pub(super) fn check(&self) -> Result<()> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.iter().find(|(path, stamp)| Stamp::of(path) != **stamp) {
            None => Ok(()),
            Some((path, _)) => Err(Error::new(
                format!("{} changed during the check", path.display()),
                "run again when no other program writes there, or check a commit",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_file_holds_until_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gemm_perf.csv");
        let sizes: Stamped<usize> = Stamped::default();
        let size = || std::fs::read(&path).map_or(0, |bytes| bytes.len());
        let known = || sizes.of(&path, || panic!("it is known"));
        assert_eq!(sizes.of(&path, size), 0, "no file");
        std::fs::write(&path, "m,latency\n").unwrap();
        assert_eq!(sizes.of(&path, size), 10);
        assert_eq!(known(), 10);
        std::fs::write(&path, "m,latency\n1,0.5\n").unwrap();
        assert_eq!(sizes.of(&path, size), 16);
        assert_eq!(known(), 16);
    }
}
