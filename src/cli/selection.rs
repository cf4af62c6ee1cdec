//! Arguments that select tables and rules, the same for every command.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::database::selection::Selection;
use perfdb_gate::findings::Confidence;

/// Arguments that select tables; `*` matches any characters.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    /// Only these systems, e.g. `h200_sxm` or `b*`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub system: Vec<String>,
    /// Only these backends, e.g. `vllm`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub backend: Vec<String>,
    /// Only these versions, e.g. `0.24.0`; may be repeated.
    #[arg(long, value_name = "VERSION", help_heading = "Which tables")]
    pub version: Vec<String>,
    /// Only these tables, e.g. `gemm` or `gemm_perf`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub table: Vec<String>,
    /// The layout of the database, e.g. `public`, instead of the one that its files show.
    #[arg(long, value_name = "NAME", help_heading = "Which tables")]
    pub layout: Option<String>,
}

impl From<SelectionArgs> for Selection {
    fn from(args: SelectionArgs) -> Self {
        Self {
            systems: args.system,
            backends: args.backend,
            versions: args.version,
            tables: args.table,
            layout: args.layout,
        }
    }
}

/// Arguments that select rules.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// Run only these rules, e.g. `duplicate-key`; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub only: Vec<String>,
    /// Do not run these rules; may be repeated.
    #[arg(long, value_name = "RULE", help_heading = "Rules")]
    pub skip: Vec<String>,
    /// Only findings that are at least so often right, judged by hand: `certain` (95 % and more),
    /// `likely` (75 % and more) or `look` (all). Errors are certain.
    #[arg(long, value_name = "LEVEL", help_heading = "Rules")]
    pub min_confidence: Option<Confidence>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "Rules")]
    pub rules_dir: Option<PathBuf>,
}
