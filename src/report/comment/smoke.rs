//! What became of a user's command that tries the database, for the comment.

/// A command that was run, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smoke {
    /// The command, as it was given.
    pub command: String,
    /// Whether it ended with 0.
    pub passed: bool,
    /// How it ended.
    pub ended: String,
    /// The end of what it printed, both streams in their order.
    pub output: String,
}
