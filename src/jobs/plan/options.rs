//! The options of `plan`.

use std::path::PathBuf;

use crate::base::error::Result;
use crate::database::selection::Selection;
use crate::jobs::site::Site;

/// The source of the points to plan.
#[derive(Debug, Clone)]
pub enum Occasion {
    /// A JSON report, and the ids of the rules to use; without ids, all findings except infos are
    /// used.
    Report(PathBuf, Vec<String>),
    /// Keys that similar systems have and a table does not serve.
    Holes,
}

/// The options of `plan`.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// The repository or folder that contains the database.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// The systems, backends, versions and tables to plan for.
    pub selection: Selection,
    /// The source of the points.
    pub occasion: Occasion,
    /// A collector's log directory. Missing keys that its recorded failures explain are left out; `None` plans all of
    /// them.
    pub ledger: Option<PathBuf>,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
}

impl PlanOptions {
    /// Opens the database with its settings and the selected tables.
    pub(super) fn open(&self) -> Result<Site> {
        let (reference, rules) = (self.reference.as_deref(), self.rules.as_deref());
        Site::open(&self.root, reference, rules, &self.selection)
    }
}
