//! Which tables and which rules: the same words for every job.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::database::selection::Selection;

/// Which tables; `*` stands for any characters.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    /// Only these systems; `*` stands for any characters, may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub system: Vec<String>,
    /// Only these backends.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub backend: Vec<String>,
    /// Only these versions.
    #[arg(long, value_name = "VERSION", help_heading = "Which tables")]
    pub version: Vec<String>,
    /// Only these tables, with or without `_perf`.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub table: Vec<String>,
}

impl From<SelectionArgs> for Selection {
    fn from(args: SelectionArgs) -> Self {
        Self {
            systems: args.system,
            backends: args.backend,
            versions: args.version,
            tables: args.table,
        }
    }
}

/// Which rules run.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Only these rules; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub only: Vec<String>,
    /// Not these rules; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub skip: Vec<String>,
    /// A folder laid out as perfdb-gate's rules/, which adds to them and replaces by id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "Rules")]
    pub rules_dir: Option<PathBuf>,
}
