//! The files of a tree that a command reads and writes: never through a symbolic link below the tree's top, and
//! by one process at a time.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, OFlags, unlinkat};

use crate::base::digest::sha256;
use crate::base::error::{Error, Result};
use crate::base::files::{Output, remove_leftovers};
use crate::base::folder::{Folder, refused, top_of, unwritten};
use crate::base::read::read_open;

/// The files below a folder that a user names. The folder may be inside or outside of a git repository. Paths that are
/// passed to the methods start with the folder's path.
#[derive(Debug)]
pub(crate) struct TreeFiles {
    /// The folder's path as the user wrote it.
    named: PathBuf,
    /// The open folder in which paths are looked up: the top of the repository or, outside of repositories, the deepest
    /// existing folder on the path `named`.
    top: Folder,
    /// The path from `top` to the folder `named`.
    prefix: PathBuf,
    /// SHA-256 digests of the files that were read, by path; `None` if a file did not exist.
    read: Mutex<BTreeMap<PathBuf, Option<String>>>,
}

impl TreeFiles {
    /// Opens the tree of files below `root`. The path `root` itself may lead through symbolic links.
    ///
    /// # Errors
    ///
    /// If the root cannot be opened.
    pub(crate) fn at_root(root: &Path) -> Result<Self> {
        let real = root.canonicalize().map_err(|e| unwritten(root, &e))?;
        Ok(Self { named: root.to_owned(), ..Self::at(&real)? })
    }

    /// Opens the tree of files below a folder, which may not exist yet. In a git repository, no symbolic link below the
    /// repository's top may lead to the folder.
    ///
    /// # Errors
    ///
    /// If the repository's top cannot be opened.
    pub(crate) fn at(folder: &Path) -> Result<Self> {
        let (top, path) = top_of(&folder.join("."));
        let existing = || path.ancestors().find(|f| f.is_dir()).map(Path::to_owned);
        let top = top.or_else(existing).unwrap_or_default();
        let prefix = path.strip_prefix(&top).unwrap_or(&path).to_owned();
        let top = Folder::named(&top).map_err(|e| unwritten(folder, &e))?;
        Ok(Self { named: folder.to_owned(), top, prefix, read: Mutex::default() })
    }

    /// Takes the tree's exclusive lock, after other processes have released it. The lock is released when `self` is
    /// dropped. On a file system without locks, only [`TreeFiles::write`] detects that another process changed a file.
    ///
    /// # Errors
    ///
    /// If waiting for the lock fails.
    pub(crate) fn lock(&self) -> Result<()> {
        let top = self.top.path.display();
        if let Err(TryLockError::WouldBlock) = self.top.handle.try_lock() {
            eprintln!("perfdb-gate: waiting for another run that writes to {top}");
            self.top.handle.lock().map_err(|e| unwritten(&self.top.path, &e))?;
        }
        Ok(())
    }

    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the file is not a regular file, is too large or cannot be read.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let read = |file| read_open(&file, path).map_err(|e| unread(path, e));
        let bytes = self.open(path)?.map(read).transpose()?;
        let digest = bytes.as_deref().map(sha256);
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), digest);
        Ok(bytes)
    }

    /// Reads a text file; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be read by [`TreeFiles::read`], or is not UTF-8 text.
    pub(crate) fn text(&self, path: &Path) -> Result<Option<String>> {
        let text = self.read(path)?.map(String::from_utf8).transpose();
        text.map_err(|e| unread(path, e))
    }

    /// Returns true if a regular file exists at a path.
    ///
    /// # Errors
    ///
    /// If the path is something else, such as a folder or a symbolic link.
    pub(crate) fn has(&self, path: &Path) -> Result<bool> {
        Ok(self.open(path)?.is_some())
    }

    /// Writes `files` into the tree and creates their folders. `record` is one further file, which may be outside of
    /// the tree. All files are first written under temporary names and then renamed, `record` first. So a failed write
    /// leaves no file behind.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, or has changed since it was read.
    pub(crate) fn write(
        &self,
        record: Option<(&Path, &[u8])>,
        files: &[(PathBuf, Vec<u8>)],
    ) -> Result<()> {
        let record = record.map(|(path, text)| Output::new(path, text)).transpose()?;
        let mut staged = Vec::new();
        for (path, bytes) in files {
            let (folder, name) = self.place(path)?;
            remove_leftovers(&folder.path);
            let replaced = folder.file(name, OFlags::RDONLY)?;
            let mode = replaced.and_then(|file| Some(file.metadata().ok()?.permissions()));
            let file = folder.stage(mode, bytes).map_err(|e| unwritten(path, &e))?;
            staged.push((path, file));
        }
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (path, digest) in files.iter().filter_map(|(path, _)| known.get_key_value(path)) {
            if self.read(path)?.as_deref().map(sha256) != *digest {
                return Err(Error::new(
                    format!("{} has changed since it was read", path.display()),
                    "another program wrote the file: run the command again",
                ));
            }
        }
        record.map_or(Ok(()), Output::place)?;
        for (path, file) in staged {
            let (folder, name) = self.place(path)?;
            folder.place(file, name).map_err(|e| unwritten(path, &e))?;
        }
        Ok(())
    }

    /// Opens a file to append to it, and creates it with its folders if it does not exist.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or is not a regular file.
    pub(crate) fn log(&self, path: &Path) -> Result<File> {
        let (folder, name) = self.place(path)?;
        let file = folder.file(name, OFlags::RDWR | OFlags::CREATE)?;
        file.ok_or_else(|| unwritten(path, &std::io::ErrorKind::NotFound.into()))
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be removed.
    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        let (folder, name) = self.place(path)?;
        let removed = unlinkat(&folder.handle, name, AtFlags::empty());
        removed.map_err(|e| unwritten(path, &e.into()))
    }

    fn open(&self, path: &Path) -> Result<Option<File>> {
        let folder = self.folder(path.parent().unwrap_or(path), false)?;
        let name = path.file_name().unwrap_or_default();
        folder.map_or(Ok(None), |folder| folder.file(name, OFlags::RDONLY))
    }

    /// Opens the parent folder of a file, and creates this folder if it does not exist. Returns the folder and the
    /// file's name.
    fn place<'p>(&self, path: &'p Path) -> Result<(Folder, &'p OsStr)> {
        let folder = self.folder(path.parent().unwrap_or(path), true)?;
        let folder = folder.ok_or_else(|| unwritten(path, &std::io::ErrorKind::NotFound.into()))?;
        Ok((folder, path.file_name().unwrap_or_default()))
    }

    fn folder(&self, path: &Path, create: bool) -> Result<Option<Folder>> {
        let outside = || refused(path, "outside of the tree");
        let below = path.strip_prefix(&self.named).map_err(|_| outside())?;
        let mut folder = self.top.again().map_err(|e| unwritten(path, &e))?;
        for part in self.prefix.components().chain(below.components()) {
            let Component::Normal(name) = part else { return Err(outside()) };
            let Some(inner) = folder.folder(name, create)? else { return Ok(None) };
            folder = inner;
        }
        Ok(Some(folder))
    }
}

fn unread(path: &Path, why: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::caused(
        format!("cannot read {}", path.display()),
        "check the file and its permissions",
        why,
    )
}
