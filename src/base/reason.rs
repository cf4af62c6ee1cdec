//! One-line reasons why something cannot be used.

/// The reason why a file cannot be used: one line without a full stop. The caller puts the file's name before
/// it, and the line becomes a finding or an [`Error`](crate::base::error::Error).
///
/// A type of its own is used instead of a `String`, so that a function's signature shows which text is a failure.
/// Code that decides by the kind of failure uses an enum instead, such as
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

impl From<serde_json::Error> for Reason {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0
    }
}
