//! A source of files on disk, tracked or not.

use std::cmp::Ordering;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::attributes::{self, Attributes};
use super::index::Index;
use super::names::{A_FOLDER, MOST_FILES, may_hide_tables, stands_for_a_file, too_many_files};
use super::read::guard_size;
use super::repository::{
    git_error, is_before_the_first, merge_base, repository, resolve, slashes, touched,
};
use super::stamps::{Stamped, Stamps};
use super::{
    AgedFile, Commit, Entry, EntryKind, ReadError, SETTINGS, Source, history, named_like_a_table,
};
use crate::base::error::{Error, Result};
use crate::base::read::read;

/// A source that reads files from a folder on disk.
pub(crate) struct WorkTree {
    root: PathBuf,
    /// The root's path below its repository's top; empty or ending in `/`.
    prefix: String,
    /// The git index, read once.
    index: OnceLock<Index>,
    /// The stamps of the files that were read.
    stamps: Stamps,
    /// The cached ids of files, so that files unknown to git's index are hashed once.
    ids: Stamped<Option<git2::Oid>>,
    attributes: Attributes,
    /// Additional files. The path in an entry is the path at which the file is listed; the file itself may be anywhere
    /// on disk.
    added: Vec<Entry>,
}

impl WorkTree {
    /// Opens a folder inside or outside of a repository.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let found = repository(root)?;
        if let Some((repo, _)) = &found
            && repo.is_bare()
        {
            return Err(Error::new(
                format!("{} is a bare repository and has no work tree", root.display()),
                "name a commit with --ref (in sanity: --head-ref)",
            ));
        }
        if !root.is_dir() {
            return Err(Error::new(
                format!("{} is not a folder", root.display()),
                "--root takes a repository or a folder that holds a perf database",
            ));
        }
        Ok(Self {
            root: root.to_owned(),
            prefix: found.map(|(_, p)| p).unwrap_or_default(),
            index: OnceLock::new(),
            stamps: Stamps::default(),
            ids: Stamped::default(),
            attributes: Attributes::default(),
            added: Vec::new(),
        })
    }

    /// Adds files to the source. The path in an entry is the path at which the file is listed; the file itself may be
    /// anywhere on disk.
    pub(crate) fn with(self, added: Vec<Entry>) -> Self {
        Self { added, ..self }
    }

    /// Returns the path of the root below its repository's top; empty or ending in `/`.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the top of the folder's repository; `None` outside of a repository.
    ///
    /// # Errors
    ///
    /// If the repository cannot be opened.
    pub(crate) fn top(&self) -> Result<Option<PathBuf>> {
        Ok(repository(&self.root)?.and_then(|(repo, _)| repo.workdir().map(Path::to_owned)))
    }

    /// Returns git's `user.name`; `None` outside of a repository or if it is not set.
    pub(crate) fn user(&self) -> Option<String> {
        let (repo, _) = repository(&self.root).ok()??;
        let name = repo.config().ok()?.get_string("user.name").ok()?;
        Some(name).filter(|name| !name.trim().is_empty())
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::read(&self.root))
    }

    /// Returns the repository, the root's path below its top, and the merge base of HEAD with `reference`.
    fn merge_base(&self, reference: &str) -> Result<(git2::Repository, String, git2::Oid)> {
        let Some((repo, prefix)) = repository(&self.root)? else {
            return Err(Error::new(
                format!("{} is not in a git repository", self.root.display()),
                "changes are found by comparison with a commit, so a git repository is needed",
            ));
        };
        let head = resolve(&repo, "HEAD")?.id();
        let base = merge_base(&repo, reference, head)?;
        Ok((repo, prefix, base))
    }
}

/// Checks that the files which git reads in a folder are neither devices nor pipes: libgit2 would wait for a pipe.
fn check_git_files(folder: &Path) -> Result<()> {
    let files = [".gitignore", attributes::FILE].map(|name| folder.join(name));
    let is_other = |about: std::fs::Metadata| !about.is_file() && !about.is_dir();
    let other = files.iter().find(|file| std::fs::metadata(file).is_ok_and(is_other));
    other.map_or(Ok(()), |file| {
        let message = format!("{} is not a regular file", file.display());
        Err(Error::new(message, "git reads this file: remove it"))
    })
}

impl Source for WorkTree {
    fn files(&self) -> Result<Vec<Entry>> {
        let repo = repository(&self.root)?.map(|(repo, _)| repo);
        let mut entries = Vec::new();
        if repo.is_some() {
            self.index().check_complete(&self.root, &self.prefix)?;
            entries = self.index().empty_submodules(&self.root, &self.prefix);
            let (real, above) = (self.root.canonicalize(), self.prefix.matches('/').count());
            let real = real.unwrap_or_default();
            real.ancestors().skip(1).take(above).try_for_each(check_git_files)?;
        }
        let mut walk = walkdir::WalkDir::new(&self.root).into_iter();
        while let Some(item) = walk.next() {
            let item = item.map_err(|e| {
                let at = e.path().unwrap_or(&self.root).display().to_string();
                let why = e.io_error().map_or_else(|| e.to_string(), ToString::to_string);
                Error::new(format!("cannot list {at}: {why}"), "check its permissions")
            })?;
            let name = item.file_name().to_string_lossy();
            let relative = item.path().strip_prefix(&self.root).unwrap_or(item.path());
            let path = format!("{}{}", self.prefix, slashes(relative));
            if item.file_type().is_dir() {
                repo.as_ref().map_or(Ok(()), |_| check_git_files(item.path()))?;
                // Hidden folders are not databases, and ignored folders, such as build outputs, may contain copies. A
                // tracked folder is never ignored, because a pull request could change .gitignore to hide files.
                // Below `systems` and `data`, all folders count, because skipped tables would look as if they had no
                // findings.
                let hidden = item.depth() > 0 && name.starts_with('.');
                let inside = path.split('/').any(|part| part == "systems" || part == "data");
                let ignored = || {
                    repo.as_ref().is_some_and(|r| r.is_path_ignored(&path).unwrap_or(false))
                        && !self.index().tracks_below(&path)
                };
                let above = path.rsplit_once('/').map_or("", |(above, _)| above);
                let is_left_out = match (hidden, inside) {
                    (true, _) => !may_hide_tables(above, &name) || ignored(),
                    (false, inside) => item.depth() > 0 && !inside && ignored(),
                };
                if is_left_out {
                    walk.skip_current_dir();
                } else if item.depth() > 0 && named_like_a_table(&name) {
                    let kind = EntryKind::Broken(A_FOLDER.into());
                    entries.push(Entry { path, kind, size: 0 });
                    walk.skip_current_dir();
                } else if item.depth() > 0 && stands_for_a_file(&name) {
                    let kind = EntryKind::Broken(A_FOLDER.into());
                    entries.push(Entry { path, kind, size: 0 });
                }
                continue;
            }
            let kind = if item.file_type().is_file() {
                EntryKind::Path(item.path().to_owned())
            } else {
                match std::fs::read_link(item.path()) {
                    Ok(to) => EntryKind::Link(slashes(&to)),
                    Err(_) => EntryKind::Broken("not a regular file".into()),
                }
            };
            let size = item.metadata().map_or(0, |m| m.len());
            entries.push(Entry { path, kind, size });
            if entries.len() > MOST_FILES {
                return Err(too_many_files(&self.root.display().to_string()));
            }
        }
        entries.extend(self.added.iter().cloned());
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    fn settings(&self) -> Result<Vec<Entry>> {
        let folder = self.top()?.unwrap_or_else(|| self.root.clone()).join(SETTINGS);
        let walk = walkdir::WalkDir::new(&folder).sort_by_file_name().into_iter();
        let is_read = |kind: std::fs::FileType| !kind.is_dir() && !kind.is_symlink();
        let files = walk.filter_map(Result::ok).filter(|e| is_read(e.file_type()));
        // Reading a device or a pipe is an error.
        let entry = |e: walkdir::DirEntry| Entry {
            path: slashes(e.path().strip_prefix(&folder).unwrap_or(e.path())),
            size: e.metadata().map_or(0, |m| m.len()),
            kind: EntryKind::Path(e.into_path()),
        };
        let own = |e: &Entry| {
            let path = e.path.strip_prefix(&format!("{SETTINGS}/"))?.to_owned();
            Some(Entry { path, ..e.clone() })
        };
        Ok(files.map(entry).chain(self.added.iter().filter_map(own)).collect())
    }

    fn top_file(&self, path: &str) -> Result<Option<Entry>> {
        let at = self.top()?.unwrap_or_else(|| self.root.clone()).join(path);
        let meta = std::fs::symlink_metadata(&at).ok().filter(std::fs::Metadata::is_file);
        let entry = |meta: std::fs::Metadata| Entry {
            path: path.to_owned(),
            size: meta.len(),
            kind: EntryKind::Path(at.clone()),
        };
        Ok(meta.map(entry))
    }

    fn read_file(&self, entry: &Entry) -> Result<Vec<u8>, ReadError> {
        guard_size(&entry.path, entry.size)?;
        match &entry.kind {
            EntryKind::Path(path) => {
                self.stamps.note(path);
                let read = read(path);
                if read.as_ref().is_err_and(|e| e.kind() == ErrorKind::PermissionDenied) {
                    self.stamps.deny(path);
                }
                Ok(read?)
            }
            EntryKind::Broken(why) | EntryKind::Refused(why, _) => {
                Err(ReadError::NotAFile(why.clone()))
            }
            EntryKind::Link(to) => Err(ReadError::Link(to.clone())),
            EntryKind::Submodule(_) => Err(ReadError::Submodule),
            EntryKind::Blob(_) => Err(ReadError::OtherSource("an object")),
            EntryKind::Assembled(_) => Err(ReadError::OtherSource("a table of several files")),
        }
    }

    fn id(&self, entry: &Entry) -> Option<git2::Oid> {
        let entry = entry.stored();
        match &entry.kind {
            EntryKind::Path(path) => {
                self.stamps.note(path);
                let find = || self.index().id(&entry.path, path, || self.read(&entry).ok());
                self.ids.of(path, find)
            }
            EntryKind::Assembled(assembly) => self.assembled_id(assembly),
            kind => kind.git_id(),
        }
    }

    fn is_in_lfs(&self, path: &str) -> bool {
        let top = self.top().ok().flatten().unwrap_or_else(|| self.root.clone());
        self.attributes.is_in_lfs(path, |path| read(&top.join(path)).ok())
    }

    fn changed_since(&self, reference: &str) -> Result<Vec<String>> {
        let (repo, _, base) = self.merge_base(reference)?;
        let failed = git_error("cannot compare the work tree");
        let tree = repo.find_commit(base).and_then(|c| c.tree()).map_err(&failed)?;
        let mut options = git2::DiffOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true);
        let diff = repo
            .diff_tree_to_workdir_with_index(Some(&tree), Some(&mut options))
            .map_err(&failed)?;
        Ok(touched(&diff))
    }

    fn base(&self, reference: &str) -> Result<Box<dyn Source>> {
        if let Some((repo, prefix)) = repository(&self.root)?
            && is_before_the_first(&repo, reference)
        {
            return Ok(Box::new(Commit::nothing(repo, prefix)?));
        }
        let (repo, prefix, base) = self.merge_base(reference)?;
        Ok(Box::new(Commit::at(repo, prefix, base)?))
    }

    fn age(&self, a: AgedFile<'_>, b: AgedFile<'_>) -> Option<Ordering> {
        let (repo, _) = repository(&self.root).ok()??;
        let head = repo.head().ok()?.target()?;
        history::age(&repo, head, self, [a, b])
    }

    fn check_unchanged(&self) -> Result<()> {
        self.stamps.check()
    }
}
