//! Atomic writes: a reader never sees a partly written report or table.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};
use crate::base::folder::{Folder, STAGED, StagedFile, check_unlinked, folder_of, unwritten};

/// Checks at the start of a run that the output `files` and `folders` can be written. `folders` will be created
/// later, with their parents.
///
/// # Errors
///
/// If two files have the same path, if a symbolic link inside a git repository leads to an output, or if an output
/// cannot be written.
pub fn check_targets(files: &[&Path], folders: &[&Path]) -> Result<()> {
    for folder in folders {
        check_unlinked(folder)?;
        let existing = folder.ancestors().find(|f| f.as_os_str().is_empty() || f.exists());
        let existing = existing.filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        can_create_in(existing).map_err(|e| unwritten(folder, &e))?;
    }
    let mut taken: BTreeSet<PathBuf> = BTreeSet::new();
    for file in files {
        check_unlinked(file)?;
        let place = place_of(file);
        match std::fs::metadata(&place) {
            Ok(found) if found.is_dir() => {
                let message = format!("cannot write {}: it is a folder", file.display());
                return Err(Error::new(message, "name a file inside it"));
            }
            // A device or a pipe accepts any number of writes.
            Ok(found) if !found.is_file() => continue,
            _ => {}
        }
        if !taken.insert(place) {
            let message = format!("two outputs have the same file, {}", file.display());
            return Err(Error::new(message, "give each output its own file"));
        }
        let folder = folder_of(file);
        let is_made = folders.iter().any(|made| made.starts_with(folder));
        if folder.exists() || !is_made {
            can_create_in(folder).map_err(|e| unwritten(file, &e))?;
        }
    }
    Ok(())
}

/// Returns a file's path with all links resolved.
fn place_of(file: &Path) -> PathBuf {
    let through_folder = || {
        let folder = folder_of(file).canonicalize().ok()?;
        Some(folder.join(file.file_name()?))
    };
    file.canonicalize().ok().or_else(through_folder).unwrap_or_else(|| file.to_owned())
}

fn can_create_in(folder: &Path) -> std::io::Result<()> {
    tempfile::Builder::new().prefix(STAGED).tempfile_in(folder).map(drop)
}

/// Removes the temporary files and folders that killed runs left in a folder, except those locked by a
/// process.
pub(crate) fn remove_leftovers(folder: &Path) {
    for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = item.path();
        if is_abandoned(&path) {
            let removed = if path.is_dir() {
                std::fs::remove_dir_all(&path)
            } else {
                std::fs::remove_file(&path)
            };
            // Another run may have removed the item first.
            drop(removed);
        }
    }
}

/// Returns true if a file or folder has a temporary name and is not locked by any process.
fn is_abandoned(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let drawn = name.strip_prefix(STAGED);
    let ours = drawn.is_some_and(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_alphanumeric()));
    let plain = || std::fs::symlink_metadata(path).is_ok_and(|m| m.is_file() || m.is_dir());
    // On a file system without locks, nothing is removed.
    ours && plain() && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Writes `text` to a file atomically, as [`write_all`] does.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_whole(path: &Path, text: &[u8]) -> Result<()> {
    Output::new(path, text)?.place()
}

/// Creates the `folders` and writes the `files`. All files are first written under temporary names and then renamed, so
/// a failed write leaves no file behind. A symbolic link outside of a git repository is followed: its target is
/// replaced, not the link. Devices and pipes are written directly.
///
/// # Errors
///
/// If a folder cannot be created or a file cannot be written.
pub fn write_all(folders: &[PathBuf], files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    for folder in folders {
        check_unlinked(folder)?;
        std::fs::create_dir_all(folder).map_err(|e| {
            let hint = "--output-dir takes a folder, which is created if it does not exist";
            Error::new(format!("cannot create {}: {}", folder.display(), e.kind()), hint)
        })?;
    }
    let beside: BTreeSet<&Path> = files.iter().map(|(path, _)| folder_of(path)).collect();
    beside.into_iter().for_each(remove_leftovers);
    let staged: Vec<Output<'_>> =
        files.iter().map(|(path, text)| Output::new(path, text)).collect::<Result<_>>()?;
    staged.into_iter().try_for_each(Output::place)
}

/// A prepared output for the path that the user gave: either a finished temporary file, which is renamed later, or an
/// opened device or pipe.
pub(super) enum Output<'a> {
    File {
        target: PathBuf,
        file: StagedFile,
    },
    /// A device or a pipe, which cannot be replaced by a renamed file.
    Device(File, PathBuf, &'a [u8]),
}

impl<'a> Output<'a> {
    pub(super) fn new(path: &Path, text: &'a [u8]) -> Result<Self> {
        check_unlinked(path)?;
        let failed = |e| unwritten(path, &e);
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let before = std::fs::metadata(&target).ok();
        if before.as_ref().is_some_and(|m| !m.is_file()) {
            let device = std::fs::OpenOptions::new().write(true).open(&target).map_err(failed)?;
            return Ok(Self::Device(device, target, text));
        }
        let folder = Folder::named(folder_of(&target)).map_err(failed)?;
        let file = folder.stage(before.map(|m| m.permissions()), text).map_err(failed)?;
        Ok(Self::File { target, file })
    }

    pub(super) fn place(self) -> Result<()> {
        match self {
            Self::File { target, file } => {
                let name = target.file_name().unwrap_or_default();
                let placed = Folder::named(folder_of(&target)).and_then(|f| f.place(file, name));
                placed.map_err(|e| unwritten(&target, &e))
            }
            Self::Device(mut device, target, text) => {
                device.write_all(text).map_err(|e| unwritten(&target, &e))
            }
        }
    }
}
