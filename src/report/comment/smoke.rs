//! The result of the smoke command, with which a user tries the database.

/// A command that was run, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smoke {
    /// The command line as given by the user.
    pub command: String,
    /// True if the command exited with 0.
    pub passed: bool,
    /// The exit status in words.
    pub ended: String,
    /// The end of standard output and standard error, interleaved as printed.
    pub output: String,
}
