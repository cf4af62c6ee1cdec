//! Detects files on disk that change during a run.
//!
//! A run reads some tables twice and compares tables with each other. If a table is written in the meantime,
//! the judged files never existed together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::base::error::{Error, Result};

/// The stamps (size, times and inode) that files had before they were first read, by path. A stamp is `None` if the
/// file's metadata was unavailable.
#[derive(Default)]
pub(super) struct Stamps {
    stamps: Mutex<BTreeMap<PathBuf, Option<Stamp>>>,
    /// The files that the user may not read.
    denied: Mutex<BTreeSet<PathBuf>>,
}

/// The file properties that change whenever a file is written or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// The inode number and the inode's change time in seconds and nanoseconds. Programs cannot set this time back.
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

/// A cache of values computed from files, such as hashes. A value is valid as long as its file does not
/// change.
#[derive(Default)]
pub(super) struct Stamped<T>(Mutex<HashMap<PathBuf, (Stamp, T)>>);

impl<T: Clone> Stamped<T> {
    /// Returns the cached value of a file, or computes it.
    pub(super) fn of(&self, path: &Path, find: impl FnOnce() -> T) -> T {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The stamp is taken before reading, so that a file written in the meantime is computed again.
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
    /// Records a file's stamp unless it is already recorded. Call this before reading the file.
    pub(super) fn note(&self, path: &Path) {
        let mut known = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(path) {
            known.insert(path.to_owned(), Stamp::of(path));
        }
    }

    /// Records that the user may not read a file.
    pub(super) fn deny(&self, path: &Path) {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }

    /// Checks that no recorded file has changed, and that the user may read all of them: a missing permission is not a
    /// fault of the data.
    ///
    /// # Errors
    ///
    /// If a file has changed or may not be read; the error names the first such file by path.
    pub(super) fn check(&self) -> Result<()> {
        let denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = denied.first() {
            return Err(Error::new(
                format!("cannot read {}: permission denied", path.display()),
                "the user that runs perfdb-gate may not read the file: `chmod` changes that",
            ));
        }
        let known = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn a_cached_fact_of_a_file_is_valid_until_the_file_is_written() {
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
