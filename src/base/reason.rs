//! Why something cannot be used, in one line for people.

/// Why a file cannot be used: one line without a full stop. Whoever knows the file's name puts it
/// before, and the line becomes a finding or an [`Error`](crate::base::error::Error).
///
/// It is an error of its own, not a `String`, so that a function's result says which of its texts is
/// a failure. Where code decides by the kind of failure there is an enum instead, such as
/// [`ReadError`](crate::database::source::ReadError).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Reason(String);

impl From<String> for Reason {
    fn from(line: String) -> Self {
        Self(line)
    }
}

impl From<&str> for Reason {
    fn from(line: &str) -> Self {
        Self(line.to_owned())
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0
    }
}
