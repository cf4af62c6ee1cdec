//! Hits: what a rule finds in one state of a database, before anything is compared.

use super::{Finding, Severity};
use crate::database::catalog::TableFile;
use crate::database::served::rows::KeyRows;

/// What a rule finds in one state of a database.
pub enum Hit<'v> {
    /// Rows of a table.
    Rows(RowHits<'v>),
    /// A finding that no row splits: on a file, on slices, on a whole database.
    Whole(Box<Finding>),
}

/// All hits of a rule's hook.
pub type Hits<'v> = Vec<Hit<'v>>;

/// Describes some of the rows that a rule hits; `None` where there is nothing to report of them. A finding that names no
/// rows gets those of its worst grade.
pub type Describe<'v> = Box<dyn Fn(&Part<'_>) -> Option<Finding> + 'v>;

/// Rows of a table that a rule hits. A comparison of two states reports the new ones and the others apart, so that the
/// finding is made of whichever part is asked for.
pub struct RowHits<'v> {
    pub(super) file: &'v TableFile,
    pub(super) rows: HitRows,
    pub(super) describe: Describe<'v>,
}

/// The rows of a hit.
pub(super) enum HitRows {
    /// Each row by itself, in the order of the rows.
    Each(Vec<RowHit>),
    /// Rows that share a key, by key: all of them but one are hits.
    Copies(Vec<KeyRows>, Severity),
}

/// A row that a rule hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHit {
    /// The row.
    pub row: usize,
    /// How bad it is.
    pub grade: Severity,
}

/// Some of the rows of a hit.
#[derive(Debug, Default)]
pub struct Part<'p> {
    /// The rows, in their order, each once.
    pub rows: &'p [usize],
    /// Of rows that share a key: the keys that `rows` has rows of, each with all rows to show.
    pub copies: &'p [KeyRows],
}

impl Part<'_> {
    /// Whether it has a row.
    pub fn has(&self, row: usize) -> bool {
        self.rows.binary_search(&row).is_ok()
    }
}

impl<'v> Hit<'v> {
    /// The error that no row splits, if it is one.
    pub(crate) fn error(&self) -> Option<&Finding> {
        match self {
            Self::Whole(finding) => Some(&**finding).filter(|finding| finding.is_error()),
            Self::Rows(_) => None,
        }
    }

    /// Rows of one grade. Nothing where there are none.
    pub fn rows(
        file: &'v TableFile,
        rows: impl IntoIterator<Item = usize>,
        grade: Severity,
        describe: impl Fn(&Part<'_>) -> Option<Finding> + 'v,
    ) -> Option<Self> {
        Self::graded(file, rows.into_iter().map(|row| RowHit { row, grade }), describe)
    }

    /// Rows that are graded one by one; of a row with two grades the worse one counts. Nothing where there are none.
    pub fn graded(
        file: &'v TableFile,
        rows: impl IntoIterator<Item = RowHit>,
        describe: impl Fn(&Part<'_>) -> Option<Finding> + 'v,
    ) -> Option<Self> {
        let mut rows: Vec<RowHit> = rows.into_iter().collect();
        if !rows.is_sorted_by_key(|hit| (hit.row, hit.grade)) {
            rows.sort_unstable_by_key(|hit| (hit.row, hit.grade));
        }
        rows.dedup_by_key(|hit| hit.row);
        if rows.is_empty() {
            return None;
        }
        Some(Self::Rows(RowHits { file, rows: HitRows::Each(rows), describe: Box::new(describe) }))
    }

    /// Rows that share a key, in the order of the file; a key has two rows or more.
    pub fn copies(
        file: &'v TableFile,
        copies: Vec<KeyRows>,
        grade: Severity,
        describe: impl Fn(&Part<'_>) -> Option<Finding> + 'v,
    ) -> Self {
        let rows = HitRows::Copies(copies, grade);
        Self::Rows(RowHits { file, rows, describe: Box::new(describe) })
    }
}

impl From<Finding> for Hit<'_> {
    fn from(finding: Finding) -> Self {
        Self::Whole(Box::new(finding))
    }
}

/// Findings that no row splits, as hits.
pub fn wholes<'v>(findings: impl IntoIterator<Item = Finding>) -> Hits<'v> {
    findings.into_iter().map(Hit::from).collect()
}
