//! Files as a whole or not at all: a reader never meets half a report, nor half a table.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};

/// Writes `text` to a file as a whole or not at all. What is no regular file (a device, a pipe) is
/// written to as it is, and a link's target is written, not the link.
///
/// # Errors
///
/// When it cannot be written.
pub fn write_whole(path: &Path, text: &[u8]) -> Result<()> {
    Staged::new(path, text)?.place()
}

/// Writes files, in folders that are made where they are not there: all of them are on the disk
/// before the first has its name, so that what fails leaves none.
///
/// # Errors
///
/// When a folder cannot be made or a file not be written.
pub fn write_all(folders: &[PathBuf], files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    for folder in folders {
        std::fs::create_dir_all(folder).map_err(|e| {
            let hint = "--output-dir takes a folder; it is made where it is not there";
            Error::new(format!("cannot make {}: {}", folder.display(), e.kind()), hint)
        })?;
    }
    let staged: Vec<Staged<'_>> =
        files.iter().map(|(path, text)| Staged::new(path, text)).collect::<Result<_>>()?;
    staged.into_iter().try_for_each(Staged::place)
}

/// A file that is written and has no name yet.
enum Staged<'a> {
    File(tempfile::NamedTempFile, PathBuf),
    /// No regular file: there is no other to take its place.
    Device(std::fs::File, PathBuf, &'a [u8]),
}

impl<'a> Staged<'a> {
    fn new(path: &Path, text: &'a [u8]) -> Result<Self> {
        let failed = |e| unwritten(path, &e);
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let before = std::fs::metadata(&target).ok();
        if before.as_ref().is_some_and(|m| !m.is_file()) {
            let device = std::fs::OpenOptions::new().write(true).open(&target).map_err(failed)?;
            return Ok(Self::Device(device, target, text));
        }
        let folder = target.parent().filter(|p| !p.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            // A new file gets the mode that the user's mask leaves, a replaced one keeps its own.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let folder = folder.unwrap_or(Path::new("."));
        let mut file = builder.prefix(".perfdb-gate-").tempfile_in(folder).map_err(failed)?;
        if let Some(before) = before {
            file.as_file().set_permissions(before.permissions()).map_err(failed)?;
        }
        file.write_all(text).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        Ok(Self::File(file, target))
    }

    fn place(self) -> Result<()> {
        match self {
            Self::File(file, target) => {
                file.persist(&target).map(drop).map_err(|e| unwritten(&target, &e.error))
            }
            Self::Device(mut device, target, text) => {
                device.write_all(text).map_err(|e| unwritten(&target, &e))
            }
        }
    }
}

pub(crate) fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::new(
        format!("cannot write {}: {}", path.display(), error.kind()),
        "check the folder and the space on its disk",
    )
}
