//! Reasons why a lookup has no answer.

/// The reason why a lookup has no answer. A `First` operation tries its alternative only after
/// `Missing`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No row answers: a table, a key or a point is missing.
    #[error("{0}")]
    Missing(String),
    /// The system's YAML lacks a figure that the operation needs.
    #[error("the YAML of the system has no positive {0}")]
    Machine(String),
    /// The lookup needs a table that was not read.
    #[error("{0} was not read")]
    Unread(&'static str),
}

impl Refusal {
    /// Creates a refusal because rows are missing.
    pub(super) fn missing(why: impl Into<String>) -> Self {
        Self::Missing(why.into())
    }

    /// The refusal of a table without any served row.
    pub(super) fn no_rows_at_all(stem: &str) -> Self {
        Self::Missing(format!("the loader finds no rows of {stem}"))
    }
}
