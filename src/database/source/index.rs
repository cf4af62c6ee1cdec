//! The git index of a work tree: the tracked files, and the ids of files that were not modified.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use git2::{IndexEntry, IndexEntryExtendedFlag, ObjectType, Oid, Repository};

use super::repository::repository;
use super::{Entry, EntryKind, lfs, named_like_a_table};
use crate::base::digest::sha256;
use crate::base::error::{Error, Result};

/// The git index of a work tree; empty outside of a repository.
#[derive(Default)]
pub(super) struct Index {
    files: BTreeMap<Vec<u8>, IndexEntry>,
    /// True if the index could be read. Otherwise, all files count as tracked.
    known: bool,
    /// True if the git config enables sparse checkout.
    sparse: bool,
    /// The time when the index was written, in seconds and nanoseconds. The index cannot show whether a file that was
    /// modified at that time or later has changed.
    written: (i64, u32),
    /// The repository; `None` outside of a repository. A handle must not be used by several threads at once.
    repo: Option<Mutex<Repository>>,
}

impl Index {
    /// Reads the index of the repository that contains `root`. If it cannot be read, files are hashed
    /// instead, which is slower but gives the same ids.
    pub(super) fn read(root: &Path) -> Self {
        let Ok(Some((repo, _))) = repository(root) else { return Self::default() };
        let setting = |name: &str| repo.config().and_then(|c| c.get_bool(name)).unwrap_or(false);
        let sparse = setting("core.sparseCheckout");
        let Ok(index) = repo.index() else { return Self { sparse, ..Self::default() } };
        let written = index.path().and_then(|p| std::fs::metadata(p).ok());
        let written = written.and_then(|m| m.modified().ok()).map(since_epoch);
        Self {
            files: index.iter().map(|e| (e.path.clone(), e)).collect(),
            known: true,
            sparse,
            written: written.unwrap_or_default(),
            repo: Some(Mutex::new(repo)),
        }
    }

    /// Returns the git id of a file. `path` is the file's path in the repository, and `place` its path on disk. `read`
    /// returns the file's bytes and is called only if the file may have been modified.
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
        // The index entry of an LFS file is a pointer, while the file on disk is its object.
        if let Some(entry) = known.filter(|e| self.points_at(e, &bytes)) {
            return Some(entry.id);
        }
        Oid::hash_object(ObjectType::Blob, &bytes).ok()
    }

    /// Returns true if git tracks a file inside a folder, or if the folder is a submodule. Also true if the index could
    /// not be read.
    pub(super) fn tracks_below(&self, folder: &str) -> bool {
        let below = format!("{folder}/").into_bytes();
        let first = self.files.range(below.clone()..).next();
        !self.known
            || self.files.contains_key(folder.as_bytes())
            || first.is_some_and(|(path, _)| path.starts_with(&below))
    }

    /// Returns the submodules below `prefix` that are not checked out at `root`.
    pub(super) fn empty_submodules(&self, root: &Path, prefix: &str) -> Vec<Entry> {
        let is_submodule = |e: &&IndexEntry| e.mode == 0o160_000;
        let mut empty = Vec::new();
        for entry in self.files.values().filter(is_submodule) {
            let path = String::from_utf8_lossy(&entry.path).into_owned();
            let place = path.strip_prefix(prefix).map(|inside| root.join(inside));
            if place.is_some_and(|place| holds_nothing(&place)) {
                empty.push(Entry { path, kind: EntryKind::Submodule(entry.id), size: 0 });
            }
        }
        empty
    }

    /// Checks that no tracked file of a database is missing on disk because of a sparse checkout. `root` is a folder on
    /// disk, and `prefix` is the path of this folder in the repository. Files that a user deleted are not reported.
    ///
    /// # Errors
    ///
    /// If a sparse checkout leaves out files, which would then be missing without notice.
    pub(super) fn check_complete(&self, root: &Path, prefix: &str) -> Result<()> {
        let hint = "run `git sparse-checkout disable`, or name the commit with --ref (in sanity: \
                    --head-ref)";
        if self.sparse && !self.known {
            let message = "this is a sparse checkout and its index cannot be read, so the missing files \
                           are not known";
            return Err(Error::new(message, hint));
        }
        let left_out = |e: &&IndexEntry| is_left_out(e, root, prefix);
        let count = self.files.values().filter(left_out).count();
        match self.files.values().find(left_out) {
            None => Ok(()),
            Some(first) => Err(Error::new(
                format!(
                    "this sparse checkout leaves out {count} files of the database, for example {}",
                    String::from_utf8_lossy(&first.path)
                ),
                hint,
            )),
        }
    }

    fn is_untouched(&self, entry: &IndexEntry, now: &Metadata) -> bool {
        let Ok(modified) = now.modified().map(since_epoch) else { return false };
        let known = (i64::from(entry.mtime.seconds()), entry.mtime.nanoseconds());
        // git stores only 32 bits of a size.
        modified == known
            && modified < self.written
            && now.len() as u32 == entry.file_size
            && same_inode(entry, now)
    }

    fn points_at(&self, entry: &IndexEntry, bytes: &[u8]) -> bool {
        let Some(repo) = &self.repo else { return false };
        let repo = repo.lock().unwrap_or_else(PoisonError::into_inner);
        let blob = repo.find_blob(entry.id).ok();
        let pointer = blob.and_then(|b| lfs::pointer(b.content()));
        pointer.is_some_and(|p| p.size == bytes.len() as u64 && p.oid == sha256(bytes))
    }
}

/// Returns true if a tracked path may be a table, a sidecar or a system's YAML.
fn of_database(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let systems = folder.split('/').any(|part| part == "systems" || part == "data");
    systems && (named_like_a_table(name) || name.ends_with(".yaml"))
}

/// Returns the seconds and nanoseconds since the epoch.
fn since_epoch(time: SystemTime) -> (i64, u32) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() as i64, since.subsec_nanos())
}

/// Returns true if a file on disk has the inode and change time that git's index recorded. Another file with the same
/// size and modification time has a different inode or change time.
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

/// Returns true if a folder is empty or does not exist.
fn holds_nothing(place: &Path) -> bool {
    match std::fs::symlink_metadata(place) {
        Err(_) => true,
        Ok(found) if !found.is_dir() => false,
        Ok(_) => std::fs::read_dir(place).is_ok_and(|mut items| items.next().is_none()),
    }
}

/// Returns true if a sparse checkout at `root` leaves out a file of a database.
fn is_left_out(entry: &IndexEntry, root: &Path, prefix: &str) -> bool {
    let path = String::from_utf8_lossy(&entry.path);
    let place = path.strip_prefix(prefix).map(|inside| root.join(inside));
    entry.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0
        && of_database(&path)
        && place.is_some_and(|place| std::fs::symlink_metadata(place).is_err())
}
