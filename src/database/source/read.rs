//! Why a file's bytes cannot be had.

use crate::base::reason::Reason;

/// Why a file cannot be read; shown in one line.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// What stands at the path is not a file, and what it is.
    #[error("{0}")]
    NotAFile(String),
    /// A symbolic link to this target.
    #[error("a symbolic link to {0}, not a file")]
    Link(String),
    /// A git submodule.
    #[error("a git submodule, not a file")]
    Submodule,
    /// The entry was listed by another source.
    #[error("{0} belongs to another source")]
    OtherSource(&'static str),
    /// It is larger than any such file.
    #[error("the file has {size} bytes, but at most {most} are expected")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The largest size that is read.
        most: u64,
    },
    /// The system cannot read it.
    #[error("{}", disk(.0))]
    Disk(#[from] std::io::Error),
    /// git cannot read it.
    #[error("cannot read its object: {}", .0.message())]
    Object(#[source] git2::Error),
    /// Its object is not in this clone, which may be a partial one.
    #[error("its object is not in this clone")]
    Missing,
    /// The git-LFS object that its pointer names has other bytes.
    #[error("its git-LFS object is damaged: it does not match the pointer")]
    DamagedLfs,
    /// It should be text.
    #[error("it is not UTF-8 text")]
    NotText(#[from] std::string::FromUtf8Error),
}

/// That a file may not be read says nothing of what it holds.
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

/// Larger than any table (the public database's largest has 1.4 MB); more is refused unread.
const LARGEST: u64 = 128 << 20;
/// Text is a collector's staging format; no run writes that much of it.
const LARGEST_TEXT: u64 = 128 << 20;
/// Sidecars and systems are written by people.
const LARGEST_YAML: u64 = 4 << 20;

/// Refuses files that no table or sidecar is as large as, before memory is taken for them.
pub(super) fn guard_size(path: &str, size: u64) -> Result<(), ReadError> {
    let most = match path.rsplit('.').next() {
        Some("parquet") => LARGEST,
        Some("yaml") => LARGEST_YAML,
        _ => LARGEST_TEXT,
    };
    if size > most { Err(ReadError::TooLarge { size, most }) } else { Ok(()) }
}
