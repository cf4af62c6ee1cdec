//! Which findings are new in a pull request, or against a baseline.
//!
//! Rules hit rows in each state by themselves. A row of the head is new if the pull request adds it, or changes a column
//! or a fact that the rule reads while the base has no hit of that rule on the row's key that is as bad. New rows and the
//! others make a finding each.

use std::sync::Arc;

use hashbrown::HashMap;

use super::hit::{HitRows, RowHits};
use super::{Finding, Hit, Part, Reads, RowHit, Severity};
use crate::database::catalog::TableFile;
use crate::database::diff::RowMatch;
use crate::database::served::rows::KeyRows;

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
    change: &'a RowChange,
    /// Bits of the columns that the rule reads.
    bits: u64,
    /// Whether the rule judges by other facts than before.
    has_new_facts: bool,
    /// The keys of rows that the rule hits in the base, with the worst grade.
    known: HashMap<u64, Severity>,
    /// How bad the rule's findings on the table are in the base.
    worst_before: Option<Severity>,
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

    /// Takes in the base's hits, and returns its findings.
    pub fn take_base(&mut self, hits: Vec<Hit<'_>>) -> Vec<Finding> {
        if let RowChange::Compared(rows) = self.change {
            for (row, grade) in hits.iter().flat_map(Hit::graded_rows) {
                if let Some(key) = rows.base_key(row) {
                    let worst = self.known.entry(key).or_insert(grade);
                    *worst = grade.min(*worst);
                }
            }
        }
        let unjudged = RowStates::unjudged();
        let found: Vec<Finding> = hits.into_iter().flat_map(|hit| hit.settle(&unjudged)).collect();
        self.worst_before = found.iter().map(|finding| finding.severity).min();
        found
    }

    /// Whether the pull request adds a row, or changes a column that the rule reads.
    fn is_brought(&self, row: usize) -> bool {
        match self.change {
            RowChange::Untouched => false,
            RowChange::All | RowChange::Unknown => true,
            RowChange::Compared(rows) => {
                rows.matched.as_ref().is_some_and(|m| m.is_added(row) || m.changes(row, self.bits))
            }
        }
    }

    /// Whether it adds a row, or changes a column or a fact that the rule reads.
    fn is_touched(&self, row: usize) -> bool {
        self.is_brought(row) || self.has_new_facts
    }

    fn is_new(&self, RowHit { row, grade }: RowHit) -> bool {
        let RowChange::Compared(rows) = self.change else { return self.is_brought(row) };
        let is_added = || rows.matched.as_ref().is_some_and(|matched| matched.is_added(row));
        let known = || rows.head_key(row).and_then(|key| self.known.get(&key));
        self.is_touched(row) && (is_added() || known().is_none_or(|before| grade < *before))
    }

    /// The states of findings on rows that are new, and on the others.
    fn novelties(&self) -> [Novelty; 2] {
        match self.change {
            RowChange::Unknown => [Novelty::Unjudged; 2],
            RowChange::Compared(ComparedRows { moved: true, .. }) => [Novelty::New, Novelty::Moved],
            _ => [Novelty::New, Novelty::Inherited],
        }
    }
}

/// Rows of a hit that share a state.
#[derive(Default)]
struct StateRows {
    hits: Vec<RowHit>,
    copies: Vec<KeyRows>,
}

impl<'v> Hit<'v> {
    /// The table that has the rows; `None` for what no row splits.
    pub fn file(&self) -> Option<&'v TableFile> {
        match self {
            Self::Whole(_) => None,
            Self::Rows(hits) => Some(hits.file),
        }
    }

    /// The error that it is on rows which the pull request adds or changes, without those that `is_hit` says are hit
    /// anyway; of what no row splits the error itself.
    pub(crate) fn error_on_new_rows(
        self,
        states: &RowStates<'_>,
        is_hit: impl Fn(usize) -> bool,
    ) -> Option<Finding> {
        let RowHits { rows, describe, .. } = match self {
            Self::Whole(finding) => return Some(finding).filter(Finding::is_error),
            Self::Rows(hits) => hits,
        };
        let counts = |row: &usize| states.is_brought(*row) && !is_hit(*row);
        let (mut own, mut shown) = (Vec::new(), Vec::new());
        match rows {
            HitRows::Each(hits) => {
                let errors = hits.iter().filter(|hit| hit.grade == Severity::Error);
                own.extend(errors.map(|hit| hit.row).filter(counts));
            }
            HitRows::Copies(copies, _) => {
                for rows in copies {
                    let before = own.len();
                    own.extend(rows[1..].iter().copied().filter(counts));
                    shown.extend((own.len() > before).then_some(rows));
                }
                own.sort_unstable();
                own.dedup();
            }
        }
        let part = (!own.is_empty()).then_some(Part { rows: &own, copies: &shown })?;
        describe(&part).filter(Finding::is_error)
    }

    /// The rows in one state by itself, with their grades.
    pub(crate) fn graded_rows(&self) -> Vec<(usize, Severity)> {
        match self {
            Self::Whole(_) => Vec::new(),
            Self::Rows(RowHits { rows: HitRows::Each(hits), .. }) => {
                hits.iter().map(|hit| (hit.row, hit.grade)).collect()
            }
            Self::Rows(RowHits { rows: HitRows::Copies(copies, grade), .. }) => {
                copies.iter().flat_map(|rows| &rows[1..]).map(|row| (*row, *grade)).collect()
            }
        }
    }

    /// The findings: of rows one on those that are new, and one on the others.
    pub(crate) fn settle(self, states: &RowStates<'_>) -> Vec<Finding> {
        let RowHits { rows, describe, .. } = match self {
            Self::Whole(finding) => return vec![finding],
            Self::Rows(hits) => hits,
        };
        let parts = match rows {
            HitRows::Each(hits) => split(hits, states),
            HitRows::Copies(copies, grade) => split_copies(copies, grade, states),
        };
        let count = |grade| {
            let all = parts.iter().flat_map(|part| &part.hits);
            all.filter(|hit| hit.grade == grade).count() as u64
        };
        let finding = |(part, novelty): (&StateRows, Novelty)| {
            let worst = part.hits.iter().map(|hit| hit.grade).min()?;
            let rows: Vec<usize> = part.hits.iter().map(|hit| hit.row).collect();
            let finding = describe(&Part { rows: &rows, copies: &part.copies })?;
            let decisive = part.hits.iter().filter(|hit| hit.grade == worst);
            let is_named = !finding.named_rows.is_empty();
            let mut finding =
                if is_named { finding } else { finding.naming(decisive.map(|hit| hit.row)) };
            finding.all_rows = Some(count(worst));
            let is_worse = states.worst_before.is_none_or(|before| finding.severity < before);
            let is_touched = || rows.iter().any(|row| states.is_touched(*row));
            let is_old = matches!(novelty, Novelty::Inherited | Novelty::Moved);
            finding.novelty =
                if is_old && is_worse && is_touched() { Novelty::New } else { novelty };
            Some(finding)
        };
        parts.iter().zip(states.novelties()).filter_map(finding).collect()
    }
}

/// The new rows, and the others.
fn split(hits: Vec<RowHit>, states: &RowStates<'_>) -> [StateRows; 2] {
    let (new, old) = hits.into_iter().partition(|hit| states.is_new(*hit));
    [new, old].map(|hits| StateRows { hits, copies: Vec::new() })
}

/// The same of rows that share a key. Of each key the first row that was there before is the original, else the first.
/// New rows are shown with all rows of their key, the others with those that were there.
fn split_copies(copies: Vec<KeyRows>, grade: Severity, states: &RowStates<'_>) -> [StateRows; 2] {
    let [mut new, mut old] = <[StateRows; 2]>::default();
    for rows in copies {
        let is_new = |row: usize| states.is_new(RowHit { row, grade });
        let was_there = |row: &&usize| !is_new(**row) || !states.is_brought(**row);
        let original = *rows.iter().find(was_there).unwrap_or(&rows[0]);
        let repeats = rows.iter().copied().filter(|row| *row != original);
        let (came, stayed): (Vec<usize>, Vec<usize>) = repeats.partition(|row| is_new(*row));
        let hit = |row: usize| RowHit { row, grade };
        if !stayed.is_empty() {
            let shown = rows.iter().copied().filter(|row| !is_new(*row) || *row == original);
            old.copies.push(shown.collect());
            old.hits.extend(stayed.into_iter().map(hit));
        }
        if !came.is_empty() {
            new.copies.push(rows);
            new.hits.extend(came.into_iter().map(hit));
        }
    }
    for part in [&mut new, &mut old] {
        part.hits.sort_unstable_by_key(|hit| hit.row);
        part.hits.dedup();
    }
    [new, old]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::database::source::{Entry, EntryKind};

    /// A synthetic table.
    fn file() -> TableFile {
        let [system, backend, version] = ["x", "vllm", "1"].map(str::to_owned);
        let entry = Entry { path: "t".into(), size: 0, kind: EntryKind::Link(String::new()) };
        let place = Place { system, family: None, backend, version };
        TableFile { entry, place, table: "t".into(), format: Format::Csv }
    }

    fn describe(part: &Part<'_>) -> Option<Finding> {
        Some(Finding::on_path("r", Severity::Error, "t", "m").rows(part.rows.len()))
    }

    fn hit<'v>(file: &'v TableFile, rows: &[(usize, Severity)]) -> Hit<'v> {
        let rows = rows.iter().map(|(row, grade)| RowHit { row: *row, grade: *grade });
        Hit::graded(file, rows, describe).unwrap()
    }

    fn errors<'v>(file: &'v TableFile, rows: &[usize]) -> Hit<'v> {
        hit(file, &rows.iter().map(|row| (*row, Severity::Error)).collect::<Vec<_>>())
    }

    /// The rows of the new finding, and of the other one.
    fn settled(hit: Hit<'_>, states: &RowStates<'_>) -> [Vec<u32>; 2] {
        let findings = hit.settle(states);
        let rows = |novelty: &[Novelty]| {
            let of_state = findings.iter().filter(|finding| novelty.contains(&finding.novelty));
            of_state.flat_map(|finding| finding.named_rows.clone()).collect()
        };
        [rows(&[Novelty::New, Novelty::Unjudged]), rows(&[Novelty::Inherited, Novelty::Moved])]
    }

    /// A table whose rows stand where they stood and are judged by other facts.
    fn judged_anew() -> RowChange {
        RowChange::Compared(ComparedRows { facts: NewFacts::All, ..ComparedRows::default() })
    }

    #[test]
    fn half_of_the_rows_are_most_of_a_table() {
        let all = Reads::all();
        assert!(RowChange::All.is_most(60, &all) && judged_anew().is_most(60, &all));
        assert!(!RowChange::Untouched.is_most(60, &all));
        assert!(!RowChange::Compared(ComparedRows::default()).is_most(60, &all));
    }

    #[test]
    fn new_rows_and_others_share_no_row_and_miss_none() {
        let file = file();
        let rows = |change: &RowChange| {
            settled(errors(&file, &[0, 1, 2]), &RowStates::new(change, &Reads::all()))
        };
        assert_eq!(rows(&RowChange::All), [vec![0, 1, 2], vec![]]);
        assert_eq!(rows(&RowChange::Untouched), [vec![], vec![0, 1, 2]]);
        assert_eq!(rows(&RowChange::Unknown), [vec![0, 1, 2], vec![]]);
        assert_eq!(rows(&judged_anew()), [vec![0, 1, 2], vec![]]);
    }

    #[test]
    fn a_row_is_known_if_the_base_has_a_hit_on_its_key_that_is_as_bad() {
        let file = file();
        let change = judged_anew();
        let states = |before: &[(usize, Severity)]| {
            let mut states = RowStates::new(&change, &Reads::all());
            states.take_base(vec![hit(&file, before)]);
            states
        };
        let rows =
            |before: &[(usize, Severity)]| settled(errors(&file, &[0, 1, 2]), &states(before));
        assert_eq!(rows(&[(1, Severity::Error)]), [vec![0, 2], vec![1]]);
        assert_eq!(rows(&[(1, Severity::Warning)]), [vec![0, 1, 2], vec![]]);
        let warnings = hit(&file, &[(0, Severity::Warning), (1, Severity::Warning)]);
        assert_eq!(settled(warnings, &states(&[(1, Severity::Error)])), [vec![0], vec![1]]);
    }

    #[test]
    fn the_worst_rows_name_a_finding() {
        let file = file();
        let graded = hit(&file, &[(0, Severity::Warning), (1, Severity::Error)]);
        let found = graded.settle(&RowStates::unjudged());
        assert_eq!((found[0].named_rows.clone(), found[0].all_rows), (vec![1], Some(1)));
    }

    #[test]
    fn rows_that_come_repeat_those_that_were_there() {
        let file = file();
        let groups = || [&[0, 4][..], &[1, 2, 3], &[5, 6]].map(KeyRows::from_slice).to_vec();
        let settled = |change: &RowChange| {
            let hit = Hit::copies(&file, groups(), Severity::Error, describe);
            settled(hit, &RowStates::new(change, &Reads::all()))
        };
        assert_eq!(settled(&RowChange::Unknown), [vec![2, 3, 4, 6], vec![]]);
        assert_eq!(settled(&RowChange::Untouched), [vec![], vec![2, 3, 4, 6]]);
        // Row 0 comes before what it repeats; 5 and 6 repeat only each other.
        let matched = RowMatch::adding([0, 3, 5, 6], 7);
        let matched = Some(Arc::new(matched));
        let change = RowChange::Compared(ComparedRows { matched, ..ComparedRows::default() });
        assert_eq!(settled(&change), [vec![0, 3, 6], vec![2]]);
    }
}
