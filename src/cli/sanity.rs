//! `perfdb-gate sanity`.

use std::path::PathBuf;

use clap::Args;

use super::output::{FailOn, OutputArgs};
use super::selection::RuleArgs;

/// `perfdb-gate sanity`.
#[derive(Debug, Args)]
pub struct Sanity {
    /// Repository that holds the database, a bare one too where commits are named; or a folder in it.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to compare")]
    pub root: PathBuf,
    /// The branch to merge into; the comparison starts where the head's history left it. Without
    /// it, charts are drawn of what is there.
    #[arg(long, value_name = "REF", help_heading = "What to compare")]
    #[arg(required_unless_present = "system")]
    pub base_ref: Option<String>,
    /// The commit to compare, read without a checkout; the files on disk without this.
    #[arg(long, value_name = "REF", help_heading = "What to compare")]
    pub head_ref: Option<String>,
    /// Systems to draw, where there is no base; `*` stands for any characters, may be repeated.
    #[arg(long, value_name = "NAME", requires = "output_dir", help_heading = "What to compare")]
    #[arg(conflicts_with_all = ["base_ref", "output_md_file", "detail_dir", "smoke_command", "only", "skip"])]
    #[arg(conflicts_with_all = ["html", "output", "report", "format", "fail_on"])]
    pub system: Vec<String>,
    /// Write a comment for the pull request, in Markdown, of at most 65,536 characters.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output_md_file: Option<PathBuf>,
    /// Write charts of what changed most to a folder, as SVG.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,
    /// Charts to draw, at most.
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Output")]
    pub charts: usize,
    /// Write the rows that changed to a folder: CSV, a file a table, and summary.csv.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub detail_dir: Option<PathBuf>,
    /// A shell command that tries the database, `aiconfigurator cli default …` for one: the comment
    /// holds how it ended and what it printed, and the run fails where it does.
    #[arg(long, value_name = "CMD", help_heading = "Output")]
    pub smoke_command: Option<String>,
    /// The least severity of a new finding that fails the run.
    #[arg(long, value_enum, default_value_t = FailOn::Error, help_heading = "Output")]
    pub fail_on: FailOn,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
