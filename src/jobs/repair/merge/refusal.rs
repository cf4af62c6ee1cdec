//! Reasons why a merge is not made.

use std::fmt;

use crate::base::error::Error;

/// The reason why a merge is not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotMerged {
    /// The content of the run or the table forbids the merge; the text names the reason and a
    /// remedy.
    #[error("{0}")]
    Refused(String),
    /// An error of the tool, such as an unreadable file.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl NotMerged {
    /// Wraps the reason of a refusal.
    pub(super) fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }
}

/// Refuses a merge.
pub(super) fn refuse<T>(why: impl fmt::Display) -> Result<T, NotMerged> {
    Err(NotMerged::refused(why))
}
