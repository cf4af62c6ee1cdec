//! A source that reads the files of a commit from the object database, without a checkout.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use git2::Repository;

use super::attributes::Attributes;
use super::read::guard_size;
use super::repository::{git_error, is_before_the_first, merge_base, repository, resolve, touched};
use super::{AgedFile, Entry, EntryKind, ReadError, SETTINGS, Source, history, lfs, listing};
use crate::base::error::{Error, Result};

/// A source that reads files from a commit (or a bare tree) of a repository, without a checkout.
pub struct Commit {
    git_dir: PathBuf,
    /// The path of the source's root, relative to the top folder of the git repository. Empty, or ending in `/`.
    prefix: String,
    tree: git2::Oid,
    commit: Option<git2::Oid>,
    /// A pool of repository handles. libgit2 handles must not be shared between threads, so each reader
    /// borrows one.
    idle: Mutex<Vec<Repository>>,
    attributes: Attributes,
    /// The paths of files whose objects were requested but are not in this clone.
    missing: Mutex<BTreeSet<String>>,
}

impl Commit {
    /// Opens the branch, tag, commit or tree `reference` of the repository at `root`.
    pub fn open(root: &Path, reference: &str) -> Result<Self> {
        let Some((repo, prefix)) = repository(root)? else {
            return Err(Error::new(
                format!("{} is not in a git repository", root.display()),
                "only a repository has commits; `perfdb-gate validate` checks the files on disk if no commit is named",
            ));
        };
        let (tree, commit) = {
            let object = resolve(&repo, reference)?;
            match object.peel_to_commit() {
                // The tree itself is read later, when its files are listed.
                Ok(commit) => (commit.tree_id(), Some(commit.id())),
                Err(_) => {
                    let tree = object.peel_to_tree().map_err(|_| {
                        let kind = object.kind().map_or("object", |k| k.str());
                        let message = format!("{reference} is a {kind}, not a commit");
                        Error::new(message, "--ref takes a branch, tag or commit")
                    })?;
                    (tree.id(), None)
                }
            }
        };
        Ok(Self::new(repo, prefix, tree, commit))
    }

    /// Opens the base of a comparison, as [`Commit::open`] does. In a repository that has no commit yet, `HEAD` stands
    /// for an empty tree, so that all files of the first commit count as new.
    pub(crate) fn open_base(root: &Path, reference: &str) -> Result<Self> {
        match repository(root)? {
            Some((repo, prefix)) if is_before_the_first(&repo, reference) => {
                Self::nothing(repo, prefix)
            }
            _ => Self::open(root, reference),
        }
    }

    /// Returns the empty tree as a source.
    pub(super) fn nothing(repo: Repository, prefix: String) -> Result<Self> {
        let tree = git2::Oid::hash_object(git2::ObjectType::Tree, b"");
        let tree = tree.map_err(git_error("cannot name the empty tree"))?;
        Ok(Self::new(repo, prefix, tree, None))
    }

    /// Opens a commit by its id. `prefix` is the root's path below the repository's top.
    pub(super) fn at(repo: Repository, prefix: String, id: git2::Oid) -> Result<Self> {
        let tree = repo.find_commit(id).map(|c| c.tree_id());
        let tree = tree.map_err(git_error("cannot read the commit"))?;
        Ok(Self::new(repo, prefix, tree, Some(id)))
    }

    fn new(repo: Repository, prefix: String, tree: git2::Oid, commit: Option<git2::Oid>) -> Self {
        Self {
            git_dir: repo.commondir().to_owned(),
            prefix,
            tree,
            commit,
            idle: Mutex::new(vec![repo]),
            attributes: Attributes::default(),
            missing: Mutex::default(),
        }
    }

    fn with_repository<T>(
        &self,
        f: impl FnOnce(&Repository) -> Result<T, git2::Error>,
    ) -> Result<T, git2::Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let repo = match idle {
            Some(repo) => repo,
            None => Repository::open(&self.git_dir)?,
        };
        let done = f(&repo);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(repo);
        done
    }

    /// Converts a git error to the reason why an entry cannot be read, and records missing objects.
    fn unread(&self, entry: &Entry, why: git2::Error) -> ReadError {
        if why.code() != git2::ErrorCode::NotFound {
            return ReadError::Object(why);
        }
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.insert(entry.path.clone());
        ReadError::Missing
    }

    /// Returns the bytes of the file at a path from the repository's top, if it can be read.
    fn at_path(&self, path: &str) -> Option<Vec<u8>> {
        let read = |repo: &Repository| {
            let entry = repo.find_tree(self.tree)?.get_path(Path::new(path))?;
            Ok(repo.find_blob(entry.id())?.content().to_vec())
        };
        self.with_repository(read).ok()
    }

    /// Returns the id of the root folder's git tree; `None` if the commit lacks this folder.
    fn folder(&self, repo: &Repository) -> Result<Option<git2::Oid>, git2::Error> {
        let top = repo.find_tree(self.tree)?;
        if self.prefix.is_empty() {
            return Ok(Some(top.id()));
        }
        match top.get_path(Path::new(&self.prefix)) {
            Ok(folder) => Ok(Some(folder.to_object(repo)?.peel_to_tree()?.id())),
            Err(e) if e.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns the id of the git tree of this program's settings folder, `.perfdb-gate/` at the repository's top;
    /// `None` if there is no such folder.
    fn settings_folder(&self, repo: &Repository) -> Result<Option<git2::Oid>, git2::Error> {
        let top = repo.find_tree(self.tree)?;
        let Some(folder) = top.get_name(SETTINGS) else { return Ok(None) };
        Ok(folder.to_object(repo)?.peel_to_tree().ok().map(|tree| tree.id()))
    }

    /// Lists the files below a tree of the repository. Their paths start with `prefix`. If `hidden` is true, hidden
    /// folders are listed, too.
    fn list(&self, tree: git2::Oid, prefix: &str, hidden: bool) -> Result<Vec<Entry>> {
        self.with_repository(|repo| Ok(listing::list(repo, tree, prefix, hidden)))
            .map_err(git_error("cannot open the repository"))?
    }
}

/// Returns the owner and name at the end of a remote's address; `None` for a folder on this machine.
fn repository_name(url: &str) -> Option<&str> {
    let path = url.trim_end_matches('/').trim_end_matches(".git");
    let (at, _) = path.rmatch_indices(['/', ':']).nth(1)?;
    path.contains(':').then(|| &path[at + 1..])
}

impl Source for Commit {
    fn files(&self) -> Result<Vec<Entry>> {
        let top = self.with_repository(|repo| self.folder(repo));
        match top.map_err(git_error("cannot read the tree"))? {
            Some(tree) => self.list(tree, &self.prefix, false),
            None => Ok(Vec::new()),
        }
    }

    fn settings(&self) -> Result<Vec<Entry>> {
        let folder = self.with_repository(|repo| self.settings_folder(repo));
        let Some(folder) = folder.map_err(git_error("cannot read the tree"))? else {
            return Ok(Vec::new());
        };
        let mut entries = self.list(folder, "", true)?;
        entries.retain(|e| matches!(e.kind, EntryKind::Blob(_)));
        Ok(entries)
    }

    fn top_file(&self, path: &str) -> Result<Option<Entry>> {
        let found = self.with_repository(|repo| {
            let top = repo.find_tree(self.tree)?;
            let Ok(found) = top.get_path(Path::new(path)) else { return Ok(None) };
            let blob = found.to_object(repo)?.peel_to_blob().ok();
            Ok(blob.map(|blob| (blob.id(), blob.size() as u64)))
        });
        let found = found.map_err(git_error("cannot read the tree"))?;
        Ok(found.map(|(id, size)| Entry { path: path.to_owned(), size, kind: EntryKind::Blob(id) }))
    }

    fn read_file(&self, entry: &Entry) -> Result<Vec<u8>, ReadError> {
        guard_size(&entry.path, entry.size)?;
        let oid = match &entry.kind {
            EntryKind::Blob(oid) => *oid,
            EntryKind::Broken(why) | EntryKind::Refused(why, _) => {
                return Err(ReadError::NotAFile(why.clone()));
            }
            EntryKind::Link(to) => return Err(ReadError::Link(to.clone())),
            EntryKind::Submodule(_) => return Err(ReadError::Submodule),
            EntryKind::Path(_) => return Err(ReadError::OtherSource("a file")),
            EntryKind::Assembled(_) => {
                return Err(ReadError::OtherSource("a table of several files"));
            }
        };
        let blob = |repo: &Repository| Ok(repo.find_blob(oid)?.content().to_vec());
        let bytes = self.with_repository(blob).map_err(|why| self.unread(entry, why))?;
        match lfs::pointer(&bytes) {
            None => Ok(bytes),
            Some(pointer) => {
                Ok(lfs::resolve(&self.git_dir, &pointer, &entry.path)?.unwrap_or(bytes))
            }
        }
    }

    fn id(&self, entry: &Entry) -> Option<git2::Oid> {
        let entry = entry.stored();
        match &entry.kind {
            EntryKind::Assembled(assembly) => self.assembled_id(assembly),
            kind => kind.git_id(),
        }
    }

    fn is_in_lfs(&self, path: &str) -> bool {
        self.attributes.is_in_lfs(path, |path| self.at_path(path))
    }

    fn missing(&self) -> BTreeSet<String> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn commit(&self) -> Option<String> {
        self.commit.map(|id| id.to_string())
    }

    fn date_and_repository(&self) -> String {
        let facts = self.with_repository(|repo| {
            let time = self.commit.map(|id| repo.find_commit(id)).transpose()?.map(|c| c.time());
            let origin = repo.find_remote("origin").ok();
            let origin = origin.and_then(|o| Some(repository_name(o.url().ok()?)?.to_owned()));
            let date = time.and_then(|t| jiff::Timestamp::from_second(t.seconds()).ok());
            Ok((date.map(|d| d.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()), origin))
        });
        let (date, origin) = facts.unwrap_or_default();
        date.into_iter().chain(origin).collect::<Vec<_>>().join(", ")
    }

    fn changed_since(&self, reference: &str) -> Result<Vec<String>> {
        let Some(head) = self.commit else {
            return Err(Error::new("a bare tree has no history", "name a commit with --ref"));
        };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let repo = idle.first().ok_or_else(|| Error::new("the repository is busy", ""))?;
        let base = merge_base(repo, reference, head)?;
        let failed = git_error("cannot compare commits");
        let old = repo.find_commit(base).and_then(|c| c.tree()).map_err(&failed)?;
        let new = repo.find_tree(self.tree).map_err(&failed)?;
        let diff = repo.diff_tree_to_tree(Some(&old), Some(&new), None).map_err(&failed)?;
        Ok(touched(&diff))
    }

    fn base(&self, reference: &str) -> Result<Box<dyn Source>> {
        let Some(head) = self.commit else {
            return Err(Error::new("a bare tree has no history", "name a commit"));
        };
        let repo =
            Repository::open(&self.git_dir).map_err(git_error("cannot open the repository"))?;
        let base = merge_base(&repo, reference, head)?;
        Ok(Box::new(Self::at(repo, self.prefix.clone(), base)?))
    }

    fn age(&self, a: AgedFile<'_>, b: AgedFile<'_>) -> Option<Ordering> {
        let head = self.commit?;
        self.with_repository(|repo| Ok(history::age(repo, head, self, [a, b]))).ok()?
    }
}
