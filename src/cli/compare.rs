//! The command `perfdb-gate compare`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::Result;
use perfdb_gate::base::exit::Exit;
use perfdb_gate::jobs::compare;
use perfdb_gate::report::chart;

use super::bar::Bar;
use super::output::DocumentFormatName;
use super::outputs::{self, Outputs};
use super::selection::SelectionArgs;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A table, a folder (a database, or the output of a run or of `remeasure --record`), or a
    /// commit.
    #[arg(value_name = "A")]
    pub a: String,
    /// The other one, compared with A.
    #[arg(value_name = "B")]
    pub b: String,
    /// The repository that contains the named commits.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "What to compare")]
    pub root: PathBuf,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "What to compare")]
    pub rules_dir: Option<PathBuf>,
    /// For people, for a pull request or a page, or JSON of schema perfdb-gate/compare/v1.
    #[arg(long, value_enum, default_value_t = DocumentFormatName::Human, help_heading = "Output")]
    pub format: DocumentFormatName,
    /// Write to a file instead of standard output.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Write SVG charts of B over A to a folder: against latency, and in the order of B's file.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub output_dir: Option<PathBuf>,
}

impl From<&CompareArgs> for compare::CompareOptions {
    fn from(args: &CompareArgs) -> Self {
        Self {
            a: args.a.clone(),
            b: args.b.clone(),
            root: args.root.clone(),
            selection: args.selection.clone().into(),
            rules: args.rules_dir.clone(),
        }
    }
}

impl CompareArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, &self.output_dir)?;
        let bar = Bar::of("tables", terminal);
        let report = compare::run(&self.into(), &bar)?;
        drop(bar);
        let format = self.format.of(terminal);
        let mut outputs = Outputs::default();
        if let Some(folder) = &self.output_dir {
            let drawings = chart::drawings(&compare::figures(&report))?;
            outputs.charts(folder, &drawings);
        }
        let target = self.output.clone().unwrap_or_else(|| PathBuf::from("-"));
        outputs.add(&target, report.render(format));
        outputs.write()?;
        Ok(report.exit())
    }
}
