//! The command `perfdb-gate reach`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::jobs::{impact, reach};

use super::bar::Bar;
use super::output::DocumentFormatName;
use super::outputs::{self, write_text};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate reach`.
#[derive(Debug, Args)]
pub struct ReachArgs {
    /// Repository that contains the database, or a folder in it; may be bare if commits are named.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to look at")]
    pub root: PathBuf,
    /// The branch to merge into; the head is compared with their merge base. Without it, one state
    /// is shown.
    #[arg(long, value_name = "REF", help_heading = "What to look at")]
    pub base_ref: Option<String>,
    /// The commit to read, without a checkout; without it, the files on disk.
    #[arg(long, alias = "ref", value_name = "REF", help_heading = "What to look at")]
    pub head_ref: Option<String>,
    /// Only these systems, e.g. `h200_sxm` or `b*`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "What to look at")]
    pub system: Vec<String>,
    /// Only these backends, e.g. `vllm`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "What to look at")]
    pub backend: Vec<String>,
    /// Only rows and lookups of these versions. Without it: rows of all versions, and lookups of
    /// changed versions and of each backend's current one.
    #[arg(long, value_name = "VERSION", help_heading = "What to look at")]
    pub version: Vec<String>,
    /// Only rows of these tables.
    #[arg(long, value_name = "NAME", help_heading = "What to look at")]
    pub table: Vec<String>,
    /// Only lookups of these models, by their names in rules/models/.
    #[arg(long, value_name = "NAME", help_heading = "What to look at")]
    pub model: Vec<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to look at")]
    pub rules_dir: Option<PathBuf>,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/reach/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormatName::Human, help_heading = "Output")]
    pub format: DocumentFormatName,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl From<&ReachArgs> for reach::ReachOptions {
    fn from(args: &ReachArgs) -> Self {
        let select = impact::ImpactOptions {
            root: args.root.clone(),
            base: args.base_ref.clone(),
            head: args.head_ref.clone(),
            systems: args.system.clone(),
            backends: args.backend.clone(),
            versions: args.version.clone(),
            models: args.model.clone(),
            rules: args.rules_dir.clone(),
        };
        Self { select, tables: args.table.clone() }
    }
}

impl ReachArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        let reach = Bar::during("looking rows up", terminal, || reach::run(&self.into()))?;
        write_text(self.output.as_deref(), reach::render(&reach, self.format.of(terminal)))?;
        Ok(reach.exit())
    }
}
