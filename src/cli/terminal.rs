//! Arguments of every command for its output on the terminal.

use clap::{Args, ValueEnum};

/// The maximum width of help and of rules' texts, in columns.
pub(crate) const MOST_COLUMNS: usize = 100;

/// Arguments of every command for its output on the terminal.
#[derive(Debug, Clone, Copy, Args)]
pub struct TerminalArgs {
    /// When to colour reports for people; `auto` respects NO_COLOR.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorName::Auto)]
    #[arg(help_heading = "Terminal")]
    pub color: ColorName,
    /// Show no progress, and print only the summary line of a report for people.
    #[arg(long, short, global = true, help_heading = "Terminal")]
    pub quiet: bool,
    /// Log to standard error what is read and how long each stage takes.
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Terminal")]
    pub verbose: bool,
}

/// The choice of colours in reports for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorName {
    /// Only on a terminal.
    Auto,
    Always,
    Never,
}

/// Returns the width of printed texts in columns. It is the width of the terminal, but at least 40 and at most
/// [`MOST_COLUMNS`].
pub(crate) fn columns() -> usize {
    let columns = terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    columns.map_or(MOST_COLUMNS, |columns| columns.clamp(40, MOST_COLUMNS))
}
