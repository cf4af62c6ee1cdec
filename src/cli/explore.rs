//! The command `perfdb-gate explore`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::database::selection::Selection;
use perfdb_gate::jobs::explore;
use perfdb_gate::report;

use super::bar::Bar;
use super::outputs::{self, Outputs};
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate explore`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to show")]
    pub root: PathBuf,
    /// Show a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", alias = "head-ref", value_name = "REF", help_heading = "What to show")]
    pub reference: Option<String>,
    /// Also draw the table as it was at the merge base with this branch.
    #[arg(long, value_name = "REF", help_heading = "What to show")]
    pub base_ref: Option<String>,
    /// The system.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub system: String,
    /// The table, with or without `_perf`.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub table: String,
    /// The backend; without it, the one whose table is the largest.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub backend: Option<String>,
    /// The version; without it, the one that queries read.
    #[arg(long, value_name = "VERSION", help_heading = "What to show")]
    pub version: Option<String>,
    /// Only these rows: "gemm_dtype = 'fp8' AND n = 4096".
    #[arg(long = "where", value_name = "EXPR", help_heading = "What to show")]
    pub filter: Option<String>,
    /// Other versions, backends and systems to draw beside it, at most.
    #[arg(long, value_name = "N", default_value_t = 6, help_heading = "What to show")]
    pub peers: usize,
    /// The layout of the database, e.g. `public`, instead of the one that its files show.
    #[arg(long, value_name = "NAME", help_heading = "What to show")]
    pub layout: Option<String>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to show")]
    pub rules_dir: Option<PathBuf>,
    /// The page: by default SYSTEM-BACKEND-VERSION-TABLE.html in the current folder; `-` is standard
    /// output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl From<&ExploreArgs> for explore::ExploreOptions {
    fn from(args: &ExploreArgs) -> Self {
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            base: args.base_ref.clone(),
            selection: Selection {
                systems: vec![args.system.clone()],
                backends: args.backend.iter().cloned().collect(),
                versions: args.version.iter().cloned().collect(),
                tables: vec![args.table.clone()],
                layout: args.layout.clone(),
            },
            filter: args.filter.clone(),
            peers: args.peers,
            rules: args.rules_dir.clone(),
        }
    }
}

impl ExploreArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        let explored = explore::run(&self.into(), &Bar::of("tables", terminal))?;
        let file = self.output.clone().unwrap_or_else(|| format!("{}.html", explored.name).into());
        let mut outputs = Outputs::default();
        outputs::check([&file], [])?;
        outputs.add(&file, explored.page.html);
        outputs.write()?;
        if file.as_os_str() != "-" && !terminal.quiet {
            report::print(&format!("{}\n{}\n", explored.page.summary, file.display()))?;
        }
        Ok(Exit::Clean)
    }
}
