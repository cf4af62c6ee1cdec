//! The novelty of findings, and the changes to a table's rows in a pull request.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{RowHit, Severity};
use crate::database::diff::RowMatch;
use crate::database::table::Reads;

/// Novelty of a finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Novelty {
    /// The finding has not been compared, or there is no baseline and no base.
    #[default]
    Unjudged,
    /// Neither the base nor the baseline has the finding.
    New,
    /// The base or the baseline has the finding.
    Inherited,
    /// The base has the finding, on a file at another path.
    Moved,
}

impl Novelty {
    /// The novelty of a compared finding.
    pub(crate) fn of(new: bool) -> Self {
        if new { Self::New } else { Self::Inherited }
    }

    /// The field `new` of reports; null without a comparison.
    pub(crate) fn as_new(self) -> Option<bool> {
        match self {
            Self::Unjudged => None,
            Self::New => Some(true),
            Self::Inherited | Self::Moved => Some(false),
        }
    }

    /// The novelty's name in reports; `None` without a comparison.
    pub(crate) fn state(self) -> Option<&'static str> {
        match self {
            Self::Unjudged => None,
            Self::New => Some("new"),
            Self::Inherited => Some("inherited"),
            Self::Moved => Some("moved"),
        }
    }
}

/// Changes of the facts by which a table's rows are judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NewFacts {
    /// The facts did not change.
    #[default]
    None,
    /// The YAML of the table's system changed.
    System,
    /// Other facts apply to all rows: the table has another place, or is another kind of table.
    All,
}

/// Effect of a pull request on the rows of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum RowChange {
    /// The change is unknown, since there is no pull request.
    #[default]
    Unknown,
    /// The pull request does not change the table.
    Untouched,
    /// The pull request adds all rows.
    All,
    /// The base has the table, so its rows are compared with the head's.
    Compared(ComparedRows),
}

/// The comparison of a table's rows with the base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ComparedRows {
    /// The matching of the head's rows with the base's; `None` if every row is at the same number as
    /// before.
    pub matched: Option<Arc<RowMatch>>,
    /// Changed facts that affect the judgement of rows.
    pub facts: NewFacts,
    /// True if the table's sidecar changed.
    pub has_new_sidecar: bool,
    /// True if the base has the table at another path.
    pub moved: bool,
}

impl ComparedRows {
    /// The key of a row of the head: a hash, or the row's number if rows are not matched.
    pub(crate) fn head_key(&self, row: usize) -> Option<u64> {
        self.matched.as_ref().map_or(Some(row as u64), |matched| matched.head_key(row))
    }

    /// The key of a row of the base: a hash, or the row's number if rows are not matched.
    pub(crate) fn base_key(&self, row: usize) -> Option<u64> {
        self.matched.as_ref().map_or(Some(row as u64), |matched| matched.base_key(row))
    }
}

impl RowChange {
    /// Returns true if at least half of a table's `rows` were added, or changed in columns or facts that
    /// a rule reads.
    pub(crate) fn is_most(&self, rows: usize, reads: &Reads) -> bool {
        let states = RowStates::new(self, reads);
        let touched = (0..rows).filter(|row| states.is_touched(*row)).count();
        *self != Self::Untouched && 2 * touched >= rows
    }

    /// Returns true if the change adds any row, or may change the judgement of a row.
    pub(crate) fn is_any(&self) -> bool {
        match self {
            Self::Untouched => false,
            Self::All | Self::Unknown => true,
            Self::Compared(rows) => rows.facts != NewFacts::None || rows.matched.is_some(),
        }
    }
}

/// A table's row changes as far as they concern one rule, with the rule's hits in the base.
pub struct RowStates<'a> {
    pub(super) change: &'a RowChange,
    /// Bit mask of the columns that the rule reads.
    bits: u64,
    /// True if facts changed that the rule reads.
    has_new_facts: bool,
    /// Worst grade of the rule's hits in the base, by row key.
    pub(super) known: HashMap<u64, Severity>,
    /// Worst severity of the rule's findings on the table in the base; `None` without findings.
    pub(super) worst_before: Option<Severity>,
}

impl<'a> RowStates<'a> {
    /// Creates the states of a table in which the base has no hits.
    pub(crate) fn new(change: &'a RowChange, reads: &Reads) -> Self {
        let (mut bits, mut has_new_facts) = (u64::MAX, false);
        if let RowChange::Compared(rows) = change {
            if let (Some(matched), Some(names)) = (&rows.matched, &reads.columns) {
                bits = matched.bits(names.iter().map(String::as_str));
            }
            has_new_facts = match rows.facts {
                NewFacts::None => false,
                NewFacts::System => reads.system,
                NewFacts::All => true,
            } || rows.has_new_sidecar && reads.sidecar();
        }
        Self { change, bits, has_new_facts, known: HashMap::new(), worst_before: None }
    }

    /// The states of a table that is not compared.
    pub(crate) fn unjudged() -> RowStates<'static> {
        RowStates::new(&RowChange::Unknown, &Reads::all())
    }

    /// Returns true if the pull request adds the row, or changes a column that the rule reads.
    pub(super) fn is_added_or_edited(&self, row: usize) -> bool {
        match self.change {
            RowChange::Untouched => false,
            RowChange::All | RowChange::Unknown => true,
            RowChange::Compared(rows) => {
                rows.matched.as_ref().is_some_and(|m| m.is_added(row) || m.changes(row, self.bits))
            }
        }
    }

    /// Returns true if the pull request adds the row, or changes a column or fact that the rule reads.
    pub(super) fn is_touched(&self, row: usize) -> bool {
        self.is_added_or_edited(row) || self.has_new_facts
    }

    /// Returns true if the hit is new: the row is touched, and the base has no equally bad hit on its
    /// key.
    pub(super) fn is_new(&self, RowHit { row, grade }: RowHit) -> bool {
        let RowChange::Compared(rows) = self.change else { return self.is_added_or_edited(row) };
        let is_added = || rows.matched.as_ref().is_some_and(|matched| matched.is_added(row));
        let known = || rows.head_key(row).and_then(|key| self.known.get(&key));
        self.is_touched(row) && (is_added() || known().is_none_or(|before| grade < *before))
    }

    /// The novelties of the two findings of a hit: the one on new rows, then the one on the other rows.
    pub(super) fn novelties(&self) -> [Novelty; 2] {
        match self.change {
            RowChange::Unknown => [Novelty::Unjudged; 2],
            RowChange::Compared(ComparedRows { moved: true, .. }) => [Novelty::New, Novelty::Moved],
            _ => [Novelty::New, Novelty::Inherited],
        }
    }
}
