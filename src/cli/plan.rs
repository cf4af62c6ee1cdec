//! The command `perfdb-gate plan`.

use std::path::PathBuf;

use clap::Args;
use perfdb_gate::base::error::{Exit, Result};
use perfdb_gate::base::escape::clean_lines;
use perfdb_gate::jobs::plan::{self, Occasion};
use perfdb_gate::report;

use super::bar::Bar;
use super::outputs::{self, write_text};
use super::selection::SelectionArgs;
use super::terminal::TerminalArgs;

/// The arguments of `perfdb-gate plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub occasion: OccasionArgs,
    /// Only findings of these rules from the report; without it, errors and warnings of all rules.
    /// May be repeated.
    #[arg(long, value_name = "RULE", requires = "from", help_heading = "What asks for points")]
    pub only: Vec<String>,
    /// Repository or folder that contains the database.
    #[arg(long, value_name = "DIR", default_value = ".", help_heading = "Which tables")]
    pub root: PathBuf,
    /// Read the tables of a commit, without a checkout, instead of the files on disk.
    #[arg(long = "ref", value_name = "REF", help_heading = "Which tables")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// A collector's log directory; missing keys that its recorded failures explain are left out.
    #[arg(long, value_name = "DIR", help_heading = "Which tables")]
    pub ledger: Option<PathBuf>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long = "rules", value_name = "DIR", help_heading = "Which tables")]
    pub rules_dir: Option<PathBuf>,
    /// Write the list to a file for `measure`, `remeasure` and `merge`; without it, print a
    /// summary.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// The source of the points to plan; exactly one is given.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct OccasionArgs {
    /// Rows named by a JSON report: findings of `validate` or `sanity`, points that `remeasure`
    /// could not confirm.
    #[arg(long, value_name = "FILE", help_heading = "What asks for points")]
    pub from: Option<PathBuf>,
    /// Keys that similar systems have and the table does not serve.
    #[arg(long, help_heading = "What asks for points")]
    pub holes: bool,
}

impl From<&PlanArgs> for plan::PlanOptions {
    fn from(args: &PlanArgs) -> Self {
        let occasion = match &args.occasion.from {
            Some(report) => Occasion::Report(report.clone(), args.only.clone()),
            None => Occasion::Holes,
        };
        Self {
            root: args.root.clone(),
            reference: args.reference.clone(),
            selection: args.selection.clone().into(),
            occasion,
            ledger: args.ledger.clone(),
            rules: args.rules_dir.clone(),
        }
    }
}

impl PlanArgs {
    pub fn run(&self, terminal: TerminalArgs) -> Result<Exit> {
        outputs::check(&self.output, [])?;
        let plan = plan::run(&self.into(), &Bar::of("tables", terminal))?;
        if let Some(file) = self.output.as_deref().filter(|_| plan.list.points() > 0) {
            write_text(Some(file), plan.list.text())?;
        }
        report::print(&clean_lines(&plan.text()))?;
        Ok(plan.exit())
    }
}
