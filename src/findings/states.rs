//! The states of a finding, and of the rows of a table, in a pull request.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{Reads, RowHit, Severity};
use crate::database::diff::RowMatch;

/// Whether a finding is new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Novelty {
    /// There is no baseline and no base to compare with, or they were not asked yet.
    #[default]
    Unjudged,
    /// It was not there before.
    New,
    /// It was there before, or a baseline knows it.
    Inherited,
    /// It was there before, of a file that lay elsewhere.
    Moved,
}

impl Novelty {
    /// The novelty of a finding that was compared.
    pub fn of(new: bool) -> Self {
        if new { Self::New } else { Self::Inherited }
    }

    /// The field `new` of reports: null where nothing was compared.
    pub fn as_new(self) -> Option<bool> {
        match self {
            Self::Unjudged => None,
            Self::New => Some(true),
            Self::Inherited | Self::Moved => Some(false),
        }
    }

    /// Its name in reports; none where nothing was compared.
    pub fn state(self) -> Option<&'static str> {
        match self {
            Self::Unjudged => None,
            Self::New => Some("new"),
            Self::Inherited => Some("inherited"),
            Self::Moved => Some("moved"),
        }
    }
}

/// The facts that changed among those by which the rows of a table are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NewFacts {
    /// Nothing changed.
    #[default]
    None,
    /// The YAML of the table's system says something else.
    System,
    /// The rows belong to another place, or to another kind of table.
    All,
}

/// What a pull request does to the rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum RowChange {
    /// No pull request is judged.
    #[default]
    Unknown,
    /// It leaves the table alone.
    Untouched,
    /// It adds all of them.
    All,
    /// The table was there before.
    Compared(ComparedRows),
}

/// A table that was there before, row by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ComparedRows {
    /// Which row of the base each row was; `None` if each row is the one at its place.
    pub matched: Option<Arc<RowMatch>>,
    /// The facts that changed.
    pub facts: NewFacts,
    /// Whether the table lay elsewhere.
    pub moved: bool,
}

impl ComparedRows {
    /// The key of a row of the head: a hash, or the row's number if rows are not matched.
    pub fn head_key(&self, row: usize) -> Option<u64> {
        self.matched.as_ref().map_or(Some(row as u64), |matched| matched.head_key(row))
    }

    /// The key of a row of the base.
    pub fn base_key(&self, row: usize) -> Option<u64> {
        self.matched.as_ref().map_or(Some(row as u64), |matched| matched.base_key(row))
    }
}

impl RowChange {
    /// Whether at least half of a table's `rows` were added, or changed in what a rule reads.
    pub fn is_most(&self, rows: usize, reads: &Reads) -> bool {
        let states = RowStates::new(self, reads);
        let touched = (0..rows).filter(|row| states.is_touched(*row)).count();
        *self != Self::Untouched && 2 * touched >= rows
    }

    /// Whether it adds or changes any row.
    pub fn is_any(&self) -> bool {
        match self {
            Self::Untouched => false,
            Self::All | Self::Unknown => true,
            Self::Compared(rows) => rows.facts != NewFacts::None || rows.matched.is_some(),
        }
    }
}

/// The rows of a table as a rule sees them in a pull request.
pub(crate) struct RowStates<'a> {
    pub(super) change: &'a RowChange,
    /// Bits of the columns that the rule reads.
    bits: u64,
    /// Whether the rule judges by other facts than before.
    has_new_facts: bool,
    /// The keys of rows that the rule hits in the base, with the worst grade.
    pub(super) known: HashMap<u64, Severity>,
    /// How bad the rule's findings on the table are in the base.
    pub(super) worst_before: Option<Severity>,
}

impl<'a> RowStates<'a> {
    /// Rows of a table of which the base has no hit.
    pub fn new(change: &'a RowChange, reads: &Reads) -> Self {
        let (mut bits, mut has_new_facts) = (u64::MAX, false);
        if let RowChange::Compared(rows) = change {
            if let (Some(matched), Some(names)) = (&rows.matched, &reads.columns) {
                bits = matched.bits(names.iter().map(String::as_str));
            }
            has_new_facts = match rows.facts {
                NewFacts::None => false,
                NewFacts::System => reads.reads_any(),
                NewFacts::All => true,
            };
        }
        Self { change, bits, has_new_facts, known: HashMap::new(), worst_before: None }
    }

    /// Rows that nothing is compared with.
    pub fn unjudged() -> RowStates<'static> {
        RowStates::new(&RowChange::Unknown, &Reads::all())
    }

    /// Whether the pull request adds a row, or changes a column that the rule reads.
    pub(super) fn is_brought(&self, row: usize) -> bool {
        match self.change {
            RowChange::Untouched => false,
            RowChange::All | RowChange::Unknown => true,
            RowChange::Compared(rows) => {
                rows.matched.as_ref().is_some_and(|m| m.is_added(row) || m.changes(row, self.bits))
            }
        }
    }

    /// Whether it adds a row, or changes a column or a fact that the rule reads.
    pub(super) fn is_touched(&self, row: usize) -> bool {
        self.is_brought(row) || self.has_new_facts
    }

    /// Whether a hit is new: the row is touched, and the base has no hit on its key that is as bad.
    pub(super) fn is_new(&self, RowHit { row, grade }: RowHit) -> bool {
        let RowChange::Compared(rows) = self.change else { return self.is_brought(row) };
        let is_added = || rows.matched.as_ref().is_some_and(|matched| matched.is_added(row));
        let known = || rows.head_key(row).and_then(|key| self.known.get(&key));
        self.is_touched(row) && (is_added() || known().is_none_or(|before| grade < *before))
    }

    /// The states of findings on rows that are new, and on the others.
    pub(super) fn novelties(&self) -> [Novelty; 2] {
        match self.change {
            RowChange::Unknown => [Novelty::Unjudged; 2],
            RowChange::Compared(ComparedRows { moved: true, .. }) => [Novelty::New, Novelty::Moved],
            _ => [Novelty::New, Novelty::Inherited],
        }
    }
}
