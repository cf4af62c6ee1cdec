//! The options of the command `faults`, and the clean state in which faults are planted.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use perfdb_gate::checks::rule::{Rule, Rules};
use perfdb_gate::database::selection::Selection;
use perfdb_gate::database::state::State;
use perfdb_gate::findings::Finding;

/// The options of the command `faults`.
#[derive(Debug, Default, Clone)]
pub struct SelftestOptions {
    /// The repository or folder that contains the database; it is not changed.
    pub root: PathBuf,
    /// A commit to read; `None` reads the files on disk.
    pub reference: Option<String>,
    /// Tables in which faults are planted; all other tables are only compared with.
    pub selection: Selection,
    /// A folder whose files are added to the built-in rules or replace them.
    pub rules: Option<PathBuf>,
    /// A file of faults to plant instead of the built-in ones.
    pub faults: Option<PathBuf>,
    /// Number of faults per kind and size.
    pub samples: usize,
    /// Seed of the random choice of tables and rows.
    pub seed: u64,
}

/// The clean state with its findings.
pub(super) struct CleanState<'a> {
    pub state: State<'a>,
    /// The rules of the clean state and of every round.
    pub rules: &'a [Arc<Rule>],
    /// All known rules, also those that do not run.
    pub all_rules: &'a Rules,
    pub findings: &'a [Finding],
    /// Tables that are reported as alike in the clean state.
    pub alike: AlikeTables,
}

/// Pairs of tables that are reported as alike, in both orders. The paths have no extension, since
/// some faults rewrite a Parquet table as text.
#[derive(Debug, Default)]
pub(super) struct AlikeTables(BTreeSet<(String, String)>);

impl AlikeTables {
    pub fn of(findings: &[Finding]) -> Self {
        let pair = |f: &Finding| {
            let other = f.evidence.other.as_deref()?;
            Some((Self::name(&f.path), Self::name(other)))
        };
        let both = |(a, b): (String, String)| [(b.clone(), a.clone()), (a, b)];
        Self(findings.iter().filter_map(pair).flat_map(both).collect())
    }

    fn name(path: &str) -> String {
        let ending = path.strip_suffix(".parquet").or_else(|| path.strip_suffix(".txt"));
        ending.unwrap_or(path).to_owned()
    }

    pub fn contains(&self, a: &str, b: &str) -> bool {
        self.0.contains(&(Self::name(a), Self::name(b)))
    }
}
