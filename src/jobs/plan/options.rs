//! The options of `plan`.

use std::path::PathBuf;

use crate::base::error::Result;
use crate::database::selection::Selection;
use crate::jobs::site::Site;

/// The source of the points to plan; exactly one is given.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Occasion {
    /// Rows named by a JSON report: findings of `validate` or `sanity`, points that `remeasure`
    /// could not confirm.
    #[arg(long, value_name = "FILE", help_heading = "What asks for points")]
    pub from: Option<PathBuf>,
    /// Keys that similar systems have and the table does not serve.
    #[arg(long, help_heading = "What asks for points")]
    pub holes: bool,
}

/// The options of `plan`.
#[derive(Debug, Clone, clap::Args)]
pub struct PlanOptions {
    #[command(flatten)]
    pub occasion: Occasion,
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
    pub selection: Selection,
    /// A collector's log directory; missing keys that its recorded failures explain are left out.
    #[arg(long, value_name = "DIR", help_heading = "Which tables")]
    pub ledger: Option<PathBuf>,
    /// A folder laid out like perfdb-gate's rules/; its files are added, or replace the ones with
    /// the same id.
    #[arg(long, value_name = "DIR", help_heading = "Which tables")]
    pub rules: Option<PathBuf>,
}

impl PlanOptions {
    /// Opens the database with its settings and the selected tables.
    pub(super) fn open(&self) -> Result<Site> {
        let (reference, rules) = (self.reference.as_deref(), self.rules.as_deref());
        Site::open(&self.root, reference, rules, &self.selection)
    }
}
