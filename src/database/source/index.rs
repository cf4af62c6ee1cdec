//! What git's index knows of the files on disk: the ids of those that nobody touched since.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use git2::{IndexEntry, ObjectType, Oid, Repository};

use super::{lfs, repository};
use crate::base::digest::sha256;

/// The index of a work tree; empty where there is none.
#[derive(Default)]
pub(super) struct Index {
    files: HashMap<Vec<u8>, IndexEntry>,
    /// When it was written: a file touched at that moment or later may differ unseen.
    written: (i64, u32),
    /// A handle is for one thread at a time.
    repo: Option<Mutex<Repository>>,
}

impl Index {
    /// The index of the repository that holds `root`. One that cannot be read knows nothing: files
    /// are hashed then, which takes longer and says the same.
    pub(super) fn read(root: &Path) -> Self {
        let Ok(Some((repo, _))) = repository(root) else { return Self::default() };
        let Ok(index) = repo.index() else { return Self::default() };
        let written = index.path().and_then(|p| std::fs::metadata(p).ok());
        let written = written.and_then(|m| m.modified().ok()).map(since_epoch);
        Self {
            files: index.iter().map(|e| (e.path.clone(), e)).collect(),
            written: written.unwrap_or_default(),
            repo: Some(Mutex::new(repo)),
        }
    }

    /// The id of the file `path`, which lies at `place`; `read` gives its bytes where the index
    /// cannot tell.
    pub(super) fn id(
        &self,
        path: &str,
        place: &Path,
        read: impl Fn() -> Option<Vec<u8>>,
    ) -> Option<Oid> {
        let known = self.files.get(path.as_bytes());
        let untouched = |e: &&IndexEntry| {
            std::fs::symlink_metadata(place).is_ok_and(|m| self.is_untouched(e, &m))
        };
        if let Some(entry) = known.filter(untouched) {
            return Some(entry.id);
        }
        let bytes = read()?;
        // With git-LFS the index holds a pointer, and the file is what it names.
        if let Some(entry) = known.filter(|e| self.points_at(e, &bytes)) {
            return Some(entry.id);
        }
        Oid::hash_object(ObjectType::Blob, &bytes).ok()
    }

    fn is_untouched(&self, entry: &IndexEntry, now: &Metadata) -> bool {
        let Ok(modified) = now.modified().map(since_epoch) else { return false };
        let known = (i64::from(entry.mtime.seconds()), entry.mtime.nanoseconds());
        // git keeps 32 bits of a size.
        modified == known
            && modified < self.written
            && now.len() as u32 == entry.file_size
            && same_inode(entry, now)
    }

    fn points_at(&self, entry: &IndexEntry, bytes: &[u8]) -> bool {
        let Some(repo) = &self.repo else { return false };
        let repo = repo.lock().unwrap_or_else(|e| e.into_inner());
        let blob = repo.find_blob(entry.id).ok();
        let pointer = blob.and_then(|b| lfs::pointer(b.content()));
        pointer.is_some_and(|p| p.size == bytes.len() as u64 && p.oid == sha256(bytes))
    }
}

/// Seconds and nanoseconds.
fn since_epoch(time: SystemTime) -> (i64, u32) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() as i64, since.subsec_nanos())
}

/// Whether it is the file that the index saw, and not another of its size and time.
#[cfg(unix)]
fn same_inode(entry: &IndexEntry, now: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let changed = (i64::from(entry.ctime.seconds()), i64::from(entry.ctime.nanoseconds()));
    entry.ino == now.ino() as u32 && changed == (now.ctime(), now.ctime_nsec())
}

#[cfg(not(unix))]
fn same_inode(_: &IndexEntry, _: &Metadata) -> bool {
    true
}
