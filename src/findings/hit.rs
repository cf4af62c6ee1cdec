//! Hits: the matches of a rule in one state of a database, before states are compared.

use super::{EXAMPLES, Finding, Severity};
use crate::database::catalog::TableFile;
use crate::database::served::rows::KeyRows;

/// A match of a rule in one state of a database.
pub enum Hit<'v> {
    /// Rows of a table that the rule matches.
    Rows(RowHits<'v>),
    /// A finding that is not on individual rows, such as one on a file, on slices, or on the whole database.
    Whole(Box<Finding>),
}

/// Hits of one rule, as its check returns them in one call.
pub type Hits<'v> = Vec<Hit<'v>>;

/// A function that creates the finding about some rows of a hit, or returns `None` if these rows need no report. If the
/// finding has no row numbers, the caller adds the numbers of the rows with the worst severity.
pub(crate) type Describe<'v> = Box<dyn Fn(&HitPart<'_>) -> Option<Finding> + 'v>;

/// Rows of a table that a rule matches. `describe` creates the finding for them. If two states are compared, `describe`
/// is called twice: for the new rows and for the old rows.
pub struct RowHits<'v> {
    pub(super) file: &'v TableFile,
    pub(super) rows: HitRows,
    pub(super) describe: Describe<'v>,
}

/// The rows of a hit, single or grouped by key.
pub(super) enum HitRows {
    /// Single rows, in the order of the table.
    Each(Vec<RowHit>),
    /// Rows that share a key: one list of rows per key, and the severity of all hits. One row per key is the original;
    /// only the other rows of the key are hits.
    Copies(Vec<KeyRows>, Severity),
}

/// A row that a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHit {
    /// Row number in the table.
    pub row: usize,
    /// Severity of the row's defect.
    pub grade: Severity,
}

/// Rows of a hit that are reported in one finding, such as the new rows.
#[derive(Debug, Default)]
pub struct HitPart<'p> {
    /// Row numbers, ascending and distinct.
    pub rows: &'p [usize],
    /// Rows that share a key, one list per key, as reports show them. Empty if the hit is not on rows that share a key.
    pub copies: &'p [KeyRows],
}

impl HitPart<'_> {
    /// Returns the rows that a finding shows as examples: the first [`EXAMPLES`] rows.
    pub(crate) fn shown(&self) -> &[usize] {
        &self.rows[..self.rows.len().min(EXAMPLES)]
    }

    /// Returns true if the part contains the row.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.rows.binary_search(&row).is_ok()
    }
}

impl<'v> Hit<'v> {
    /// The finding of a hit that is not on individual rows, if this finding is an error; `None` otherwise.
    pub(crate) fn error(&self) -> Option<&Finding> {
        match self {
            Self::Whole(finding) => Some(&**finding).filter(|finding| finding.is_error()),
            Self::Rows(_) => None,
        }
    }

    /// Creates a hit on rows with the same severity; `None` without rows.
    pub(crate) fn rows(
        file: &'v TableFile,
        rows: impl IntoIterator<Item = usize>,
        grade: Severity,
        describe: impl Fn(&HitPart<'_>) -> Option<Finding> + 'v,
    ) -> Option<Self> {
        Self::graded(file, rows.into_iter().map(|row| RowHit { row, grade }), describe)
    }

    /// Creates a hit on rows, each with its own severity; `None` without rows. If a row has two severities, the worse
    /// one counts.
    pub(crate) fn graded(
        file: &'v TableFile,
        rows: impl IntoIterator<Item = RowHit>,
        describe: impl Fn(&HitPart<'_>) -> Option<Finding> + 'v,
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

    /// Creates a hit on rows that share a key. Each key has at least two rows, in the order of the file.
    pub(crate) fn copies(
        file: &'v TableFile,
        copies: Vec<KeyRows>,
        grade: Severity,
        describe: impl Fn(&HitPart<'_>) -> Option<Finding> + 'v,
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

/// Converts findings that are not on individual rows to hits.
pub fn wholes<'v>(findings: impl IntoIterator<Item = Finding>) -> Hits<'v> {
    findings.into_iter().map(Hit::from).collect()
}
