//! A fault that was planted, and the place of it in a round.

use std::collections::{BTreeMap, BTreeSet};

use super::fault::Variant;
use super::overlay::FileChange;
use crate::checks::compare::sketch::Slice;
use crate::database::catalog::TableFile;

/// A fault that was planted.
#[derive(Debug, Default)]
pub(super) struct Planted {
    /// Files that it changes.
    pub(super) changes: BTreeMap<String, FileChange>,
    /// Rows that it changes or adds; 0 where rows are not counted.
    pub(super) rows: usize,
    /// The slice that it changes.
    pub(super) slice: Option<Slice>,
}

/// A fault that was injected in a round.
pub(super) struct Injection<'a> {
    /// The number of its variant.
    pub(super) number: usize,
    /// The fault and its size.
    pub(super) variant: &'a Variant,
    /// The table that has it.
    pub(super) file: &'a TableFile,
    /// What was done.
    pub(super) planted: Planted,
    /// Paths that it is found at: files that it changes, the table, its directory, its system.
    pub(super) paths: BTreeSet<String>,
}
