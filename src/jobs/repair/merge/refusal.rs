//! Why no merge is made.

use std::fmt;

use crate::base::error::Error;

/// Why no merge is made.
#[derive(Debug)]
pub(super) enum NotMerged {
    /// Something in the run or the table speaks against it; a line that says what, and what to do.
    Refused(String),
    /// The tool could not do its work.
    Failed(Error),
}

impl NotMerged {
    /// A refusal.
    pub(super) fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }
}

impl From<Error> for NotMerged {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Refuses a merge.
pub(super) fn refuse<T>(why: impl fmt::Display) -> Result<T, NotMerged> {
    Err(NotMerged::refused(why))
}
