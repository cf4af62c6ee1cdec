//! The command `perfdb-gate status`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::jobs::status;

use super::bar::Bar;
use super::output::DocumentFormatName;
use super::outputs::{self, write_text};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to show")]
    pub root: PathBuf,
    /// Read the tables of a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "What to show")]
    pub reference: Option<String>,
    /// The system's name, e.g. `h200_sxm`.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    #[arg(required_unless_present = "all")]
    pub system: Option<String>,
    /// Show all systems: a map of tables × systems with the worst finding of each.
    #[arg(long, help_heading = "What to show")]
    #[arg(conflicts_with_all = ["system", "backend", "version", "ledger"])]
    pub all: bool,
    /// Only these backends, e.g. `vllm` or `v*`; may be repeated.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub backend: Vec<String>,
    /// Only these versions; without it, each table's current version.
    #[arg(long, value_name = "VERSION", help_heading = "What to show")]
    pub version: Vec<String>,
    /// A collector's log directory: shows what it skipped and why.
    #[arg(long, value_name = "DIR", help_heading = "What to show")]
    pub ledger: Option<PathBuf>,
    /// The layout of the database, e.g. `public`, instead of the one that its files show.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub layout: Option<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to show")]
    pub rules_dir: Option<PathBuf>,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/status/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormatName::Human, help_heading = "Output")]
    pub format: DocumentFormatName,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl From<&StatusArgs> for status::StatusOptions {
    fn from(args: &StatusArgs) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            system: args.system.clone().unwrap_or_default(),
            backends: args.backend.clone(),
            versions: args.version.clone(),
            ledger: args.ledger.clone(),
            rules: args.rules_dir.clone(),
            layout: args.layout.clone(),
        }
    }
}

impl StatusArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        if self.all {
            let map = status::map(&self.into(), &Bar::of("tables", terminal))?;
            write_text(self.output.as_deref(), map.render(self.format.of(terminal)))?;
            return Ok(map.exit());
        }
        let status = status::run(&self.into(), &Bar::of("tables", terminal))?;
        let text = status::render(&status, self.format.of(terminal));
        write_text(self.output.as_deref(), text)?;
        Ok(status.exit())
    }
}
