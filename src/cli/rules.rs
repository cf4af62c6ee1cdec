//! `perfdb-gate rules`, `explain` and `noise`: what the gate knows, and learns.

use std::path::PathBuf;

use clap::Args;

/// `perfdb-gate rules`.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// List instead where the table specs and a repository's own operation catalog differ.
    #[arg(long, value_name = "DIR")]
    pub check_root: Option<PathBuf>,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// `perfdb-gate explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Rule id.
    pub rule: String,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR")]
    pub rules_dir: Option<PathBuf>,
}

/// `perfdb-gate noise`.
#[derive(Debug, Args)]
pub struct NoiseArgs {
    /// Repository or folder that holds the database.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub root: PathBuf,
    /// Learn from a commit, read without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: Option<String>,
    /// Write the profile to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
