//! Errors of reading a file's bytes, and size limits.

use crate::base::error::Reason;
use crate::base::read::largest;

/// The reason why a file cannot be read; shown in one line.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The entry is not a file, or its contents cannot be used. The text describes the problem.
    #[error("{0}")]
    NotAFile(String),
    /// The entry is a symbolic link to this target.
    #[error("a symbolic link to {0}, not a file")]
    Link(String),
    /// The entry is a git submodule.
    #[error("a git submodule, not a file")]
    Submodule,
    /// The entry was listed by another kind of source, such as a commit instead of a work tree.
    #[error("{0} belongs to another source")]
    OtherSource(&'static str),
    /// The file is larger than any valid file of its kind.
    #[error("the file has {size} bytes, but at most {most} are expected")]
    TooLarge {
        /// The file's size in bytes.
        size: u64,
        /// The maximal size that is read, in bytes.
        most: u64,
    },
    /// The operating system cannot read the file.
    #[error("{}", disk(.0))]
    Disk(#[from] std::io::Error),
    /// git cannot read the object.
    #[error("cannot read its object: {}", .0.message())]
    Object(#[source] git2::Error),
    /// The file's git object is not in this clone, which may be a partial clone.
    #[error("its object is not in this clone")]
    Missing,
    /// The git-LFS object does not match its pointer.
    #[error("its git-LFS object is damaged: it does not match the pointer")]
    DamagedLfs,
    /// The file should be text but is not UTF-8.
    #[error("it is not UTF-8 text")]
    NotText(#[from] std::string::FromUtf8Error),
}

/// Describes an error of the operating system. A missing permission does not mean that the file is damaged.
fn disk(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            format!("{error}: the user that runs perfdb-gate may not read the file")
        }
        _ => error.to_string(),
    }
}

impl From<ReadError> for Reason {
    fn from(error: ReadError) -> Self {
        error.to_string().into()
    }
}

/// Returns an error if a file of this size is larger than any valid file of its kind. Called before memory is allocated
/// for the file.
pub(super) fn guard_size(path: &str, size: u64) -> Result<(), ReadError> {
    let most = largest(path);
    if size > most { Err(ReadError::TooLarge { size, most }) } else { Ok(()) }
}
