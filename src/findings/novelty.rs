//! What is new of a finding, and of a table's rows, in a pull request or against a baseline.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{Finding, Reads};
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
pub enum NewFacts {
    /// Nothing changed.
    #[default]
    None,
    /// The YAML of the table's system says something else.
    System,
    /// The rows belong to another place, or to another kind of table.
    All,
}

/// Which rows of a table a pull request adds or changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RowChange {
    /// None: it leaves the table alone.
    Untouched,
    /// All of them.
    All,
    /// Those that are marked, by row; none beyond the last mark.
    Rows(Vec<bool>),
    /// Those that hold something else than the row of the base that they were.
    Compared(Compared),
    /// Rows do not say: no pull request is judged.
    #[default]
    Unknown,
}

/// A table that was there before, row by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// The rows that it had; none where each row is the one that stood at its place.
    pub matched: Option<Arc<RowMatch>>,
    /// By which other facts its rows are judged.
    pub facts: NewFacts,
    /// Whether it lay elsewhere.
    pub moved: bool,
    /// Keys that findings of the base name, by rule: hashes, or rows where there is no match.
    pub known: BTreeMap<String, HashSet<u64>>,
    /// Those that they report beside.
    pub beside: BTreeMap<String, HashSet<u64>>,
}

impl Compared {
    /// The key by which the base's findings name a row of the head.
    pub(super) fn head_key(&self, row: usize) -> Option<u64> {
        match &self.matched {
            Some(matched) => matched.head_key(row),
            None => Some(row as u64),
        }
    }

    /// The key of a row of the base.
    pub(super) fn base_key(&self, row: usize) -> Option<u64> {
        match &self.matched {
            Some(matched) => matched.base_key(row),
            None => Some(row as u64),
        }
    }

    /// Adds what a finding of the base names, and what it reports beside.
    pub fn knows(&mut self, finding: &Finding) {
        let keys = |rows: &[u32]| -> Vec<u64> {
            rows.iter().filter_map(|row| self.base_key(*row as usize)).collect()
        };
        let (named, beside) = (keys(&finding.named_rows), keys(&finding.beside_rows));
        self.known.entry(finding.rule.clone()).or_default().extend(named);
        self.beside.entry(finding.rule.clone()).or_default().extend(beside);
    }

    fn is_added(&self, row: usize) -> bool {
        self.matched.as_ref().is_some_and(|matched| matched.is_added(row))
    }

    /// What a rule sees of its rows that reads some columns and facts.
    fn seen(&self, reads: &Reads) -> Seen {
        let bits = self.matched.as_ref().zip(reads.columns.as_ref());
        let bits = bits
            .map_or(u64::MAX, |(matched, names)| matched.bits(names.iter().map(String::as_str)));
        let by_new_facts = match self.facts {
            NewFacts::None => false,
            NewFacts::System => reads.reads_any(),
            NewFacts::All => true,
        };
        Seen { bits, by_new_facts }
    }

    /// Whether a row of the head was added, or holds something else in what is seen.
    fn brings(&self, row: usize, seen: Seen) -> bool {
        self.matched.as_ref().is_some_and(|m| m.is_added(row) || m.changes(row, seen.bits))
    }

    /// Whether a row of the head holds something else in what is seen, or is judged otherwise.
    fn changes(&self, row: usize, seen: Seen) -> bool {
        seen.by_new_facts || self.matched.as_ref().is_some_and(|m| m.changes(row, seen.bits))
    }
}

impl RowChange {
    /// Its rows as a rule sees them that reads some columns.
    pub fn seen_by(&self, rule: &str, reads: &Reads) -> RowsSeen<'_> {
        let compared = match self {
            Self::Compared(compared) => Some(compared),
            _ => None,
        };
        let seen = compared.map(|compared| compared.seen(reads)).unwrap_or_default();
        let known = compared.and_then(|compared| compared.known.get(rule));
        let beside = compared.and_then(|compared| compared.beside.get(rule));
        RowsSeen { change: self, seen, known, beside }
    }

    /// Whether a rule that reads some columns judges one of the rows otherwise than the base's.
    pub fn touches(&self, rows: &[u32], reads: &Reads) -> bool {
        let Self::Compared(compared) = self else { return false };
        let seen = compared.seen(reads);
        rows.iter().any(|row| compared.changes(*row as usize, seen))
    }

    /// Whether at least half of a table's `rows` were added, or changed in what a rule reads.
    pub fn is_most(&self, rows: usize, reads: &Reads) -> bool {
        let half = |new: usize| 2 * new >= rows;
        match self {
            Self::Untouched => false,
            Self::All | Self::Unknown => true,
            Self::Rows(marked) => half(marked.iter().filter(|marked| **marked).count()),
            Self::Compared(compared) => {
                let seen = compared.seen(reads);
                let is_new = |row: &usize| compared.is_added(*row) || compared.changes(*row, seen);
                half((0..rows).filter(is_new).count())
            }
        }
    }

    /// Whether it adds or changes any row.
    pub fn any(&self) -> bool {
        match self {
            Self::Untouched => false,
            Self::All | Self::Unknown => true,
            Self::Rows(marked) => marked.contains(&true),
            Self::Compared(compared) => {
                compared.facts != NewFacts::None || compared.matched.is_some()
            }
        }
    }
}

/// What a rule sees of the rows of a table that was there before.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Bits of the columns that it reads.
    bits: u64,
    /// Whether it judges by other facts than before.
    by_new_facts: bool,
}

/// Rows of a table, as a rule sees them.
#[derive(Debug, Clone, Copy)]
pub struct RowsSeen<'a> {
    change: &'a RowChange,
    seen: Seen,
    /// Keys that the rule's findings of the base name.
    known: Option<&'a HashSet<u64>>,
    /// Keys that they report beside.
    beside: Option<&'a HashSet<u64>>,
}

impl RowsSeen<'_> {
    /// Whether a row was added, or changed in a column that the rule reads while the base has no finding
    /// of it on the row's key; where that is not known, it may.
    fn is_new(&self, row: usize) -> bool {
        self.is_unknown(row, &[self.known])
    }

    /// As [`RowsSeen::is_new`], of a row that does not decide how bad a finding is: what the base reports
    /// beside is known, too.
    fn is_new_beside(&self, row: usize) -> bool {
        self.is_unknown(row, &[self.known, self.beside])
    }

    fn is_unknown(&self, row: usize, known: &[Option<&HashSet<u64>>]) -> bool {
        match self.change {
            RowChange::Untouched => false,
            RowChange::All | RowChange::Unknown => true,
            RowChange::Rows(marked) => marked.get(row).copied().unwrap_or(false),
            RowChange::Compared(compared) => {
                let known = || {
                    let key = compared.head_key(row);
                    let has = |key| known.iter().flatten().any(|known| known.contains(&key));
                    key.is_some_and(has)
                };
                compared.is_added(row) || compared.changes(row, self.seen) && !known()
            }
        }
    }
}

/// A half of a table's rows in a pull request: those that are new, or those that were there. All rows
/// are one half where rows do not say which are new.
#[derive(Debug, Clone, Copy)]
pub struct Half<'a> {
    /// What its rows are.
    pub novelty: Novelty,
    rows: RowsSeen<'a>,
}

impl<'a> Half<'a> {
    /// The halves of a table: new rows first.
    pub fn both(rows: RowsSeen<'a>) -> impl Iterator<Item = Self> + use<'a> {
        let halves: &[Novelty] = match rows.change {
            RowChange::Unknown => &[Novelty::Unjudged],
            RowChange::Compared(Compared { moved: true, .. }) => &[Novelty::New, Novelty::Moved],
            _ => &[Novelty::New, Novelty::Inherited],
        };
        halves.iter().map(move |novelty| Self { novelty: *novelty, rows })
    }

    /// Whether the row is of this half.
    pub fn has(&self, row: usize) -> bool {
        self.has_one(|rows| rows.is_new(row))
    }

    /// Whether a row is of this half that is reported beside others and does not decide how bad that is.
    pub fn has_beside(&self, row: usize) -> bool {
        self.has_one(|rows| rows.is_new_beside(row))
    }

    fn has_one(&self, is_new: impl FnOnce(&RowsSeen<'_>) -> bool) -> bool {
        match self.novelty {
            Novelty::Unjudged => true,
            Novelty::New => is_new(&self.rows),
            Novelty::Inherited | Novelty::Moved => !is_new(&self.rows),
        }
    }

    /// Whether the pull request adds or changes the row, rather than what it is judged by alone.
    pub fn brings(&self, row: usize) -> bool {
        match self.rows.change {
            RowChange::Compared(compared) => compared.brings(row, self.rows.seen),
            _ => self.rows.is_new(row),
        }
    }

    /// Those of `rows` that are of this half.
    pub fn of(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().copied().filter(|row| self.has(*row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Severity;

    #[test]
    fn half_of_the_rows_are_most_of_a_table() {
        let marked = |new: usize| RowChange::Rows((0..60).map(|row| row < new).collect());
        assert!(!marked(1).is_most(60, &Reads::all()) && marked(30).is_most(60, &Reads::all()));
        assert!(RowChange::All.is_most(60, &Reads::all()));
        assert!(!RowChange::Untouched.is_most(60, &Reads::all()));
        let in_place = RowChange::Compared(Compared::default());
        assert!(!in_place.is_most(60, &Reads::all()));
    }

    #[test]
    fn halves_share_no_row_and_miss_none() {
        let rows = [0, 1, 2, 3];
        let halves = |change: RowChange| -> Vec<Vec<usize>> {
            Half::both(change.seen_by("r", &Reads::all())).map(|half| half.of(&rows)).collect()
        };
        let marked = RowChange::Rows(vec![false, true, false]);
        assert_eq!(halves(marked), [vec![1], vec![0, 2, 3]]);
        assert_eq!(halves(RowChange::All), [rows.to_vec(), vec![]]);
        assert_eq!(halves(RowChange::Untouched), [vec![], rows.to_vec()]);
        assert_eq!(halves(RowChange::Unknown), [rows.to_vec()], "rows do not say what is new");
        let rejudged = Compared { facts: NewFacts::All, ..Compared::default() };
        assert_eq!(halves(RowChange::Compared(rejudged)), [rows.to_vec(), vec![]]);
        let mut moved = Compared { facts: NewFacts::All, moved: true, ..Compared::default() };
        moved.knows(&Finding::on_path("r", Severity::Error, "p", "m").naming([1, 2]));
        assert_eq!(halves(RowChange::Compared(moved)), [vec![0, 3], vec![1, 2]]);
    }

    #[test]
    fn what_is_reported_beside_is_known_where_it_decides_nothing() {
        let mut compared = Compared { facts: NewFacts::All, ..Compared::default() };
        let finding = Finding::on_path("r", Severity::Error, "p", "m").naming([1]).beside([2]);
        compared.knows(&finding);
        let change = RowChange::Compared(compared);
        let rows = [0, 1, 2];
        let halves: Vec<Half<'_>> = Half::both(change.seen_by("r", &Reads::all())).collect();
        assert_eq!(halves[0].of(&rows), [0, 2]);
        assert_eq!(halves[1].of(&rows), [1]);
        assert_eq!(rows.map(|row| halves[0].has_beside(row)), [true, false, false]);
        assert_eq!(rows.map(|row| halves[1].has_beside(row)), [false, true, true]);
    }
}
