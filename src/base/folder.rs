//! Folders that are held open: names are looked up in them and never lead through a symbolic link. The git repository
//! around a path, inside of which no link may lead to an output.

use std::ffi::OsStr;
use std::fs::{File, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdirat, openat, renameat};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::base::error::{Error, Result};
use crate::base::interrupt::{Leftover, RemovedOnSignal};

/// The prefix of temporary files and folders that later get their final names.
pub(crate) const STAGED: &str = ".perfdb-gate-";

/// An open folder. Files are opened in it by name, and never through a symbolic link.
#[derive(Debug)]
pub(super) struct Folder {
    /// The folder's path, for messages and for removing temporary files.
    pub(super) path: PathBuf,
    pub(super) handle: File,
}

/// A file that is completely written but does not have its final name yet.
pub(super) struct StagedFile {
    file: NamedTempFile,
    _removed: RemovedOnSignal,
}

impl Folder {
    /// Opens a folder by the path that a user names, which may lead through links.
    pub(super) fn named(path: &Path) -> io::Result<Self> {
        Ok(Self { handle: File::open(path)?, path: path.to_owned() })
    }

    /// Returns a second handle of the same open folder. A lock that is taken with one handle holds for both.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    /// Opens a subfolder. If `create` is true, a subfolder that does not exist is created; if it is false, returns
    /// `None` for it.
    pub(super) fn folder(&self, name: &OsStr, create: bool) -> Result<Option<Self>> {
        let path = self.path.join(name);
        if create {
            match mkdirat(&self.handle, name, Mode::from(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(unwritten(&path, &e.into())),
            }
        }
        let handle = self.open(name, OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(handle.map(|handle| Self { path, handle }))
    }

    /// Opens a regular file in the folder. `None` if it does not exist.
    pub(super) fn file(&self, name: &OsStr, flags: OFlags) -> Result<Option<File>> {
        let Some(file) = self.open(name, flags)? else { return Ok(None) };
        if file.metadata().is_ok_and(|about| about.is_file()) {
            return Ok(Some(file));
        }
        Err(self.unopened(name, &ErrorKind::IsADirectory.into()))
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> Result<Option<File>> {
        // Opening a pipe would otherwise wait for its other end.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.handle, name, flags, Mode::from(0o666)) {
            Ok(opened) => Ok(Some(opened.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.unopened(name, &e.into())),
        }
    }

    /// Returns the error for a name that could not be opened.
    fn unopened(&self, name: &OsStr, error: &io::Error) -> Error {
        let path = self.path.join(name);
        match path.symlink_metadata().map(|about| about.file_type()) {
            Ok(kind) if kind.is_symlink() => refused(&path, "a symbolic link"),
            Ok(kind) if !kind.is_dir() && !kind.is_file() => {
                refused(&path, "a device, pipe or socket")
            }
            _ => unwritten(&path, error),
        }
    }

    /// Writes a temporary file in the folder; [`Folder::place`] later gives it its final name. Without a `mode`, the
    /// file gets the mode that the umask leaves. The file is removed if a signal ends the process.
    pub(super) fn stage(&self, mode: Option<Permissions>, bytes: &[u8]) -> io::Result<StagedFile> {
        let new = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let create = |path: &Path| -> io::Result<File> {
            let name = path.file_name().unwrap_or_default();
            // A new file gets the mode that the umask leaves; a replaced file keeps its own.
            Ok(openat(&self.handle, name, new, Mode::from(0o666))?.into())
        };
        let mut builder = tempfile::Builder::new();
        let mut file = builder.prefix(STAGED).make_in(&self.path, create)?;
        while !lock_staged(file.as_file(), file.path()) {
            file = builder.make_in(&self.path, create)?;
        }
        let removed = RemovedOnSignal::new(Leftover::File(file.path().to_owned()));
        mode.map_or(Ok(()), |mode| file.as_file().set_permissions(mode))?;
        file.as_file_mut().write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(StagedFile { file, _removed: removed })
    }

    /// Gives a staged file its final name and replaces a file that has this name.
    pub(super) fn place(&self, mut staged: StagedFile, name: &OsStr) -> io::Result<()> {
        let temporary = staged.file.path().file_name().unwrap_or_default();
        renameat(&self.handle, temporary, &self.handle, name)?;
        staged.file.disable_cleanup(true);
        Ok(())
    }
}

/// Locks a new temporary file or folder, so that another run does not remove it as abandoned. Returns false if another
/// run removed it before it was locked.
pub(crate) fn lock_staged(staged: &File, path: &Path) -> bool {
    let locked = match staged.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        // A file system without locks is not swept.
        Err(TryLockError::Error(_)) => return true,
    };
    locked && path.exists()
}

pub(super) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the error for a file that cannot be written.
pub(crate) fn unwritten(path: &Path, error: &io::Error) -> Error {
    let folder = folder_of(path);
    let (why, hint) = match error.kind() {
        ErrorKind::NotFound if !folder.exists() => (
            format!("the folder {} does not exist", folder.display()),
            format!("`mkdir -p {}` creates it", folder.display()),
        ),
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            format!("the user that runs perfdb-gate may not write to {}", folder.display()),
        ),
        kind => (kind.to_string(), "check that its disk has free space".to_owned()),
    };
    Error::new(format!("cannot write {}: {why}", path.display()), hint)
}

/// Returns the top folder of the git repository that contains `path`, and the absolute form of `path`. The top is
/// `None` outside of a repository. If repositories are nested, the innermost one counts. A repository does not count if
/// it is reached through a symbolic link inside another repository.
pub(super) fn top_of(path: &Path) -> (Option<PathBuf>, PathBuf) {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parts: Vec<Component<'_>> = path.components().collect();
    let up = parts.iter().rposition(|part| *part == Component::ParentDir).map_or(0, |at| at + 1);
    let (up, rest) = parts.split_at(up);
    let up: PathBuf = up.iter().collect();
    let path = up.canonicalize().unwrap_or(up).join(rest.iter().collect::<PathBuf>());
    let folders: Vec<&Path> = path.ancestors().collect();
    let mut top: Option<&Path> = None;
    for folder in folders.into_iter().rev() {
        if top.is_some() && folder.is_symlink() {
            break;
        }
        if folder.join(".git").symlink_metadata().is_ok() {
            top = Some(folder);
        }
    }
    (top.map(Path::to_owned), path)
}

/// Checks that an output is not reached through a symbolic link inside a git repository.
///
/// # Errors
///
/// If the path, or a folder between the repository's top and the path, is a symbolic link.
pub(super) fn check_unlinked(path: &Path) -> Result<()> {
    let (Some(top), path) = top_of(path) else { return Ok(()) };
    let mut below = path.ancestors().take_while(|folder| *folder != top);
    below
        .find(|folder| folder.is_symlink())
        .map_or(Ok(()), |link| Err(refused(link, "a symbolic link")))
}

/// Creates the error for a path that is not a real file or folder. `kind` is what the path is instead, such as `a
/// symbolic link`.
pub(super) fn refused(path: &Path, kind: &str) -> Error {
    Error::new(
        format!(
            "{} is {kind}; perfdb-gate writes only to real files and folders of a repository",
            path.display()
        ),
        "remove it, or move what it leads to into its place",
    )
}
