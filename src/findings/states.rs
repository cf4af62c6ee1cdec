//! The novelty of findings, and the changes to a table's rows in a pull request.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{RowHit, Severity};
use crate::database::diff::RowMatch;
use crate::database::table::Reads;

/// States whether a finding is new in comparison with a base or a baseline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Novelty {
    /// The finding was not compared with a base or a baseline, so it is unknown whether it is new.
    #[default]
    Unjudged,
    /// Neither the base nor the baseline has the finding.
    New,
    /// The base or the baseline has the finding.
    Inherited,
    /// The base has the same finding on the same table, which had another path in the base.
    Moved,
}

impl Novelty {
    /// Returns `New` for a new finding and `Inherited` for an old one.
    pub(crate) fn of(new: bool) -> Self {
        if new { Self::New } else { Self::Inherited }
    }

    /// Returns true if the finding is new and false if it is old; `None` if it was not compared.
    pub(crate) fn as_new(self) -> Option<bool> {
        match self {
            Self::Unjudged => None,
            Self::New => Some(true),
            Self::Inherited | Self::Moved => Some(false),
        }
    }

    /// Returns the name that reports use, such as `new`; `None` if the finding was not compared.
    pub(crate) fn state(self) -> Option<&'static str> {
        match self {
            Self::Unjudged => None,
            Self::New => Some("new"),
            Self::Inherited => Some("inherited"),
            Self::Moved => Some("moved"),
        }
    }
}

/// Changes outside of a table's rows that can change how rules judge these rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NewFacts {
    /// Nothing outside of the rows changed.
    #[default]
    None,
    /// The YAML file of the table's system changed.
    System,
    /// The table moved to another system, backend or version, or its spec changed. All its rows are judged anew.
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
    /// All rows of the table are new: the base does not have the table, or its rows cannot be compared.
    All,
    /// The table exists in the base and in the head, and their rows are compared.
    Compared(ComparedRows),
}

/// Result of comparing a table's rows in the base with its rows in the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ComparedRows {
    /// How the head's rows match the base's rows; `None` if the rows are the same in both.
    pub matched: Option<Arc<RowMatch>>,
    /// Changes outside of the rows that can change how rules judge these rows.
    pub facts: NewFacts,
    /// True if the table's sidecar changed.
    pub has_new_sidecar: bool,
    /// True if the base has the table at another path.
    pub moved: bool,
}

impl ComparedRows {
    /// Returns the value by which a row of the head is found in the base: the hash of the row's key, or the row number
    /// if all rows are the same in base and head. `None` if the head has no such row.
    pub(crate) fn head_key(&self, row: usize) -> Option<u64> {
        self.matched.as_ref().map_or(Some(row as u64), |matched| matched.head_key(row))
    }

    /// Returns the value by which a row of the base is found in the head: the hash of the row's key, or the row number
    /// if all rows are the same in base and head. `None` if the base has no such row.
    pub(crate) fn base_key(&self, row: usize) -> Option<u64> {
        self.matched.as_ref().map_or(Some(row as u64), |matched| matched.base_key(row))
    }
}

impl RowChange {
    /// Returns true if the pull request adds or changes at least half of a table's `rows` rows. A change counts only if
    /// the rule reads the changed column or fact.
    pub(crate) fn changes_most(&self, rows: usize, reads: &Reads) -> bool {
        let states = RowStates::new(self, reads);
        let touched = (0..rows).filter(|row| states.is_touched(*row)).count();
        *self != Self::Untouched && 2 * touched >= rows
    }

    /// Returns true if the pull request adds a row or can change how a row is judged.
    pub(crate) fn is_any(&self) -> bool {
        match self {
            Self::Untouched => false,
            Self::All | Self::Unknown => true,
            Self::Compared(rows) => rows.facts != NewFacts::None || rows.matched.is_some(),
        }
    }
}

/// States for one rule which rows of a table a pull request adds or changes. Changes of columns and facts that the rule
/// does not read do not count. Also states which rows the rule hits in the base.
pub struct RowStates<'a> {
    pub(super) change: &'a RowChange,
    /// Bit mask of the columns that the rule reads. [`RowMatch`] assigns a bit to each column. All bits are set if the
    /// rule may read any column.
    bits: u64,
    /// True if something outside of the rows changed that the rule reads, such as the system's YAML file.
    has_new_facts: bool,
    /// The worst severity that the rule found in the base, by the key hash of the row.
    pub(super) known: HashMap<u64, Severity>,
    /// The worst severity of the rule's findings on this table in the base; `None` if it had no findings.
    pub(super) worst_before: Option<Severity>,
}

impl<'a> RowStates<'a> {
    /// Creates row states for one rule. They do not contain the rule's hits in the base yet.
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

    /// Returns row states for a table that is not compared with a base.
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

    /// Returns true if the pull request adds the row, or changes something that the rule reads, such as a column of the
    /// row or the system's YAML file.
    pub(super) fn is_touched(&self, row: usize) -> bool {
        self.is_added_or_edited(row) || self.has_new_facts
    }

    /// Returns true if the pull request causes the hit: it adds the row, or it changes the row and the base has no hit
    /// on the row's key that is at least as severe.
    pub(super) fn is_new(&self, RowHit { row, grade }: RowHit) -> bool {
        let RowChange::Compared(rows) = self.change else { return self.is_added_or_edited(row) };
        let is_added = || rows.matched.as_ref().is_some_and(|matched| matched.is_added(row));
        let known = || rows.head_key(row).and_then(|key| self.known.get(&key));
        self.is_touched(row) && (is_added() || known().is_none_or(|before| grade < *before))
    }

    /// Returns the novelty of a rule's two findings on the table: first of the finding on new hits, then of the finding
    /// on old hits.
    pub(super) fn novelties(&self) -> [Novelty; 2] {
        match self.change {
            RowChange::Unknown => [Novelty::Unjudged; 2],
            RowChange::Compared(ComparedRows { moved: true, .. }) => [Novelty::New, Novelty::Moved],
            _ => [Novelty::New, Novelty::Inherited],
        }
    }
}
