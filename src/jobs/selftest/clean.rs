//! Options of `selftest`, and the clean state that faults are planted in.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::checks::frame::Terms;
use crate::database::selection::Selection;
use crate::database::state::State;
use crate::findings::Finding;

/// What to plant faults in.
#[derive(Debug, Default, Clone)]
pub struct SelftestOptions {
    /// The folder or repository; nothing in it is changed.
    pub root: PathBuf,
    /// A commit to read instead of the files on disk.
    pub reference: Option<String>,
    /// Which tables get faults; all others are there to compare with.
    pub selection: Selection,
    /// A folder that overlays the embedded rules.
    pub rules: Option<PathBuf>,
    /// Faults of each kind and size.
    pub samples: usize,
    /// Seed of the draw of tables and rows.
    pub seed: u64,
}

/// The clean state with its findings.
pub(super) struct CleanState<'a> {
    pub state: State<'a>,
    /// What it and every round are judged by.
    pub terms: Terms<'a>,
    pub findings: &'a [Finding],
    /// Tables that it says are alike.
    pub alike: AlikeTables,
}

/// Pairs of tables that are alike, either way round, by path without its ending: some faults write a
/// table as text, and it is the same table.
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

    pub fn holds(&self, a: &str, b: &str) -> bool {
        self.0.contains(&(Self::name(a), Self::name(b)))
    }
}
