//! The git repository around a path, and the symbolic links between the two.

use std::path::{Component, Path, PathBuf};

use crate::base::error::{Error, Result};

/// Returns the top folder of the git repository that contains `path`, and `path` made absolute. Symbolic links above
/// the top are followed. A link below the top does not lead to another repository. The top is `None` outside of a
/// repository.
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

/// Checks that no link of a git repository is on the way to an output.
///
/// # Errors
///
/// If the path is a link below the top of its repository, or is reached through one.
pub(super) fn check_unlinked(path: &Path) -> Result<()> {
    let (Some(top), path) = top_of(path) else { return Ok(()) };
    let mut below = path.ancestors().take_while(|folder| *folder != top);
    below
        .find(|folder| folder.is_symlink())
        .map_or(Ok(()), |link| Err(refused(link, "a symbolic link")))
}

/// Creates the error for a path that is not a real file or folder; `kind` says what it is.
pub(super) fn refused(path: &Path, kind: &str) -> Error {
    Error::new(
        format!(
            "{} is {kind}; perfdb-gate writes only to real files and folders of a repository",
            path.display()
        ),
        "remove it, or move what it leads to into its place",
    )
}
