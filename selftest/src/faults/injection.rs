//! A planted fault, and its place in a round.

use std::collections::{BTreeMap, BTreeSet};

use super::fault::Variant;
use super::overlay::FileChange;
use perfdb_gate::checks::compare::sketch::Slice;
use perfdb_gate::database::catalog::TableFile;

/// The files that a planted fault changes.
#[derive(Debug, Default)]
pub(super) struct Planted {
    /// The changed files by path.
    pub(super) changes: BTreeMap<String, FileChange>,
    /// Number of rows that are changed or added; 0 if rows are not counted.
    pub(super) rows: usize,
    /// The slice whose rows are changed, if the fault affects one slice.
    pub(super) slice: Option<Slice>,
}

impl Planted {
    /// Returns a fault that changes files and does not count rows.
    pub(super) fn files<const N: usize>(changes: [(String, FileChange); N]) -> Self {
        Self { changes: changes.into(), ..Self::default() }
    }
}

/// A fault planted in a round.
pub(super) struct Injection<'a> {
    /// The index of the fault's variant.
    pub(super) number: usize,
    /// The fault and its size.
    pub(super) variant: &'a Variant,
    /// The table with the fault.
    pub(super) file: &'a TableFile,
    /// The files that the fault changes.
    pub(super) planted: Planted,
    /// Paths at which findings are attributed to the fault: its changed files, the table, its
    /// directory and its system.
    pub(super) paths: BTreeSet<String>,
}
