//! Contents of a pull request comment that are not part of the report.

use std::path::Path;

use serde::Serialize;

use crate::report::chart::ChartFigure;

/// Contents of a pull request comment that are not part of the report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// Charts of the tables that changed most.
    pub figures: &'a [ChartFigure],
    /// The folder to which the charts were written; `None` if they were not written.
    pub folder: Option<&'a Path>,
    /// The result of the command by which the user tests the changed database; `None` without such a command.
    pub smoke: Option<&'a Smoke>,
    /// True if an inconclusive run ends with exit code 0.
    pub inconclusive_passes: bool,
}

/// The result of the smoke command, with which a user tests the changed database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Smoke {
    /// The command line as given by the user.
    pub command: String,
    /// True if the command exited with 0.
    pub passed: bool,
    /// The exit status of the command, as text for people.
    pub ended: String,
    /// The end of the command's standard output and standard error, interleaved as printed.
    pub output: String,
}
