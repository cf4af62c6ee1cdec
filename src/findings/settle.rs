//! Decides which findings on rows are new in a pull request.
//!
//! Rules match rows in each state separately. A row of the head is new if the pull request adds it, or
//! changes a column or fact that the rule reads, and the base has no equally bad hit of the rule on the
//! row's key. New rows and the others are separate findings.

use std::collections::BTreeSet;

use super::hit::{HitRows, RowHits};
use super::{Finding, Hit, HitPart, Hits, Novelty, RowChange, RowHit, RowStates, Severity};
use crate::database::catalog::TableFile;
use crate::database::served::rows::KeyRows;

impl RowStates<'_> {
    /// Records the severity of each row that the rule hits in the base, and converts these hits to findings.
    pub(crate) fn take_base(&mut self, hits: Vec<Hit<'_>>) -> Vec<Finding> {
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
}

/// The rows of a hit with the same novelty: all of them are new, or all are old.
#[derive(Default)]
struct RowsOfNovelty {
    hits: Vec<RowHit>,
    copies: Vec<KeyRows>,
}

impl<'v> Hit<'v> {
    /// Returns the table that contains the hit's rows; `None` for a hit that is not on individual rows.
    pub(crate) fn file(&self) -> Option<&'v TableFile> {
        match self {
            Self::Whole(_) => None,
            Self::Rows(hits) => Some(hits.file),
        }
    }

    /// Returns a finding on the rows that the pull request adds or changes and for which this hit is an error; `None`
    /// if there are none. Skips rows for which `is_hit` returns true, since they are errors anyway. If the hit is about
    /// a whole file, returns its finding if the severity is error.
    pub(crate) fn error_on_new_rows(
        self,
        states: &RowStates<'_>,
        is_hit: impl Fn(usize) -> bool,
    ) -> Option<Finding> {
        let RowHits { rows, describe, .. } = match self {
            Self::Whole(finding) => return Some(*finding).filter(Finding::is_error),
            Self::Rows(hits) => hits,
        };
        let [new, _] = match rows {
            HitRows::Each(hits) => split(hits, states),
            HitRows::Copies(copies, grade) => split_copies(copies, grade, states),
        };
        let errors = new.hits.iter().filter(|hit| hit.grade == Severity::Error);
        let own = errors
            .map(|hit| hit.row)
            .filter(|row| states.is_added_or_edited(*row) && !is_hit(*row));
        let own: Vec<usize> = own.collect();
        let part = (!own.is_empty()).then_some(HitPart { rows: &own, copies: &new.copies })?;
        describe(&part).filter(Finding::is_error)
    }

    /// All rows of the hit, both new and old, with their severities. Empty for a hit that is not on individual rows.
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

    /// Converts a hit to findings: one on its new rows and one on its old rows. A hit that is not on individual rows
    /// becomes one finding.
    pub(crate) fn settle(self, states: &RowStates<'_>) -> Vec<Finding> {
        let RowHits { rows, describe, .. } = match self {
            Self::Whole(finding) => return vec![*finding],
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
        let finding = |(part, novelty): (&RowsOfNovelty, Novelty)| {
            let worst = part.hits.iter().map(|hit| hit.grade).min()?;
            let rows: Vec<usize> = part.hits.iter().map(|hit| hit.row).collect();
            let finding = describe(&HitPart { rows: &rows, copies: &part.copies })?;
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

/// Returns the errors that disappear only because a pull request changes facts, such as the system's YAML file. `hits`
/// are a rule's hits on the head's table with the facts of the base; `head` are its hits with the facts of the head.
/// Only errors on rows that the pull request adds or changes are returned.
pub fn excused_errors<'v>(hits: Hits<'v>, head: &Hits<'v>, states: &RowStates<'_>) -> Vec<Finding> {
    let rows = head.iter().flat_map(Hit::graded_rows);
    let errors: BTreeSet<usize> =
        rows.filter(|(_, grade)| *grade == Severity::Error).map(|(row, _)| row).collect();
    let has_error = head.iter().any(|hit| hit.error().is_some());
    let hits = hits.into_iter().filter(|hit| hit.file().is_some() || !has_error);
    hits.filter_map(|hit| hit.error_on_new_rows(states, |row| errors.contains(&row))).collect()
}

/// Divides rows that a rule matches into new rows and old rows.
fn split(hits: Vec<RowHit>, states: &RowStates<'_>) -> [RowsOfNovelty; 2] {
    let (new, old) = hits.into_iter().partition(|hit| states.is_new(*hit));
    [new, old].map(|hits| RowsOfNovelty { hits, copies: Vec::new() })
}

/// Divides repeated rows into new ones and old ones. One row of each key is not a repeat but the original: the first
/// row that the base also has, or the key's first row if the base has none. The finding on new repeats shows all rows
/// of their keys. The finding on old repeats shows only the originals and the old repeats.
fn split_copies(
    copies: Vec<KeyRows>,
    grade: Severity,
    states: &RowStates<'_>,
) -> [RowsOfNovelty; 2] {
    let [mut new, mut old] = <[RowsOfNovelty; 2]>::default();
    for rows in copies {
        let is_new = |row: usize| states.is_new(RowHit { row, grade });
        let was_there = |row: &&usize| !is_new(**row) || !states.is_added_or_edited(**row);
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
    use std::sync::Arc;

    use super::*;
    use crate::database::catalog::{Format, Place};
    use crate::database::diff::RowMatch;
    use crate::database::source::{Entry, EntryKind};
    use crate::database::table::Reads;
    use crate::findings::{ComparedRows, NewFacts};

    /// A synthetic table file.
    fn file() -> TableFile {
        let [system, backend, version] = ["x", "vllm", "1"].map(str::to_owned);
        let entry = Entry { path: "t".into(), size: 0, kind: EntryKind::Link(String::new()) };
        let place = Place { system, family: None, backend, version };
        TableFile { entry, place, table: "t".into(), format: Format::Csv }
    }

    fn describe(part: &HitPart<'_>) -> Option<Finding> {
        Some(Finding::on_path("r", Severity::Error, "t", "m").rows(part.rows.len()))
    }

    fn hit<'v>(file: &'v TableFile, rows: &[(usize, Severity)]) -> Hit<'v> {
        let rows = rows.iter().map(|(row, grade)| RowHit { row: *row, grade: *grade });
        Hit::graded(file, rows, describe).unwrap()
    }

    fn errors<'v>(file: &'v TableFile, rows: &[usize]) -> Hit<'v> {
        hit(file, &rows.iter().map(|row| (*row, Severity::Error)).collect::<Vec<_>>())
    }

    /// The rows of the new finding, and the rows of the other finding.
    fn settled(hit: Hit<'_>, states: &RowStates<'_>) -> [Vec<u32>; 2] {
        let findings = hit.settle(states);
        let rows = |novelty: &[Novelty]| {
            let of_state = findings.iter().filter(|finding| novelty.contains(&finding.novelty));
            of_state.flat_map(|finding| finding.named_rows.clone()).collect()
        };
        [rows(&[Novelty::New, Novelty::Unjudged]), rows(&[Novelty::Inherited, Novelty::Moved])]
    }

    /// A change that only judges the rows by other facts.
    fn judged_anew() -> RowChange {
        RowChange::Compared(ComparedRows { facts: NewFacts::All, ..ComparedRows::default() })
    }

    #[test]
    fn a_change_of_all_rows_is_a_change_of_most_rows() {
        let all = Reads::all();
        assert!(RowChange::All.changes_most(60, &all) && judged_anew().changes_most(60, &all));
        assert!(!RowChange::Untouched.changes_most(60, &all));
        assert!(!RowChange::Compared(ComparedRows::default()).changes_most(60, &all));
    }

    #[test]
    fn every_row_of_a_hit_is_either_new_or_known() {
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
    fn a_row_is_known_if_the_base_has_an_equally_severe_hit_on_its_key() {
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
    fn a_finding_names_its_worst_rows() {
        let file = file();
        let graded = hit(&file, &[(0, Severity::Warning), (1, Severity::Error)]);
        let found = graded.settle(&RowStates::unjudged());
        assert_eq!((found[0].named_rows.clone(), found[0].all_rows), (vec![1], Some(1)));
    }

    #[test]
    fn added_rows_are_the_copies_of_existing_rows() {
        let file = file();
        let groups = || [&[0, 4][..], &[1, 2, 3], &[5, 6]].map(KeyRows::from_slice).to_vec();
        let settled = |change: &RowChange| {
            let hit = Hit::copies(&file, groups(), Severity::Error, describe);
            settled(hit, &RowStates::new(change, &Reads::all()))
        };
        assert_eq!(settled(&RowChange::Unknown), [vec![2, 3, 4, 6], vec![]]);
        assert_eq!(settled(&RowChange::Untouched), [vec![], vec![2, 3, 4, 6]]);
        // Row 0 comes before the row that it repeats; rows 5 and 6 repeat only each other.
        let matched = RowMatch::adding([0, 3, 5, 6], 7);
        let matched = Some(Arc::new(matched));
        let change = RowChange::Compared(ComparedRows { matched, ..ComparedRows::default() });
        assert_eq!(settled(&change), [vec![0, 3, 6], vec![2]]);
    }
}
