//! The class of a change: one word for reviewers.

use super::relabel::NEARLY_ALL;
use super::{RowDiff, ServedDiff, Status};

/// The class of a change to one or several tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "kebab-case")]
pub enum Class {
    /// No table changed.
    None,
    /// The bytes differ, but cells and served rows are the same.
    ReEncode,
    /// The table has the same cells at another path.
    Move,
    /// Rows or tables are added, and nothing else changes.
    AppendOnly,
    /// Columns other than the latency are added or filled; keys and latencies are the same.
    ColumnOverlay,
    /// The keys are the same, but their latencies differ.
    Values,
    /// Rows were measured again: they have the same keys, but another device, framework, version or kernel.
    Replacement,
    /// Key columns, such as `num_heads`, are corrected in all changed rows. The measurements are unchanged.
    Rekey,
    /// Rows or tables are removed, and nothing else changes.
    Prune,
    /// The changes belong to several classes.
    Mixed,
}

impl Class {
    /// Combines the classes of several tables into one class. Different classes give [`Class::Mixed`]. The classes
    /// `None` and `ReEncode` are ignored if there are other classes. `AppendOnly` is ignored if the only other class is
    /// `Replacement` or `Rekey`.
    pub(crate) fn of_all(classes: impl IntoIterator<Item = Self>) -> Self {
        let mut classes: Vec<Self> = classes.into_iter().collect();
        classes.sort_unstable();
        classes.dedup();
        for quiet in [Self::None, Self::ReEncode] {
            if classes.len() > 1 {
                classes.retain(|class| *class != quiet);
            }
        }
        match classes[..] {
            [] => Self::None,
            [one] => one,
            [Self::AppendOnly, one @ (Self::Replacement | Self::Rekey)] => one,
            _ => Self::Mixed,
        }
    }
}

/// Returns the class of a table's change. `served` is `None` if the table's key is unknown. `latency_changed` states
/// whether a changed column is part of the key or of the latency.
pub(super) fn class(
    status: Status,
    rows: &RowDiff,
    served: Option<&ServedDiff>,
    latency_changed: bool,
) -> Class {
    let (added, removed) = (!rows.added.is_empty(), !rows.removed.is_empty());
    let changed = !rows.changed.is_empty();
    let served_otherwise = served.is_some_and(|s| s.changed > 0 || s.lost + s.gained > 0);
    match status {
        Status::Deleted => return Class::Prune,
        Status::Renamed if rows.is_empty() => return Class::Move,
        Status::Renamed => return Class::Mixed,
        _ if rows.is_empty() && served_otherwise => return Class::Values,
        Status::Added if !rows.is_empty() && !changed && !removed => return Class::AppendOnly,
        _ if rows.is_empty() => return Class::ReEncode,
        _ => {}
    }
    if served.is_some_and(|s| !s.attributes.is_empty()) {
        return Class::Replacement;
    }
    let is_rekeyed = |s: &ServedDiff| {
        s.rekeyed > 0 && s.rekeyed as f64 >= NEARLY_ALL * (s.rekeyed + s.lost) as f64
    };
    if !changed && served.is_some_and(is_rekeyed) {
        return Class::Rekey;
    }
    match (added, removed, changed) {
        (true, false, false) => Class::AppendOnly,
        (false, true, false) => Class::Prune,
        (false, false, true) if !latency_changed => Class::ColumnOverlay,
        (false, false, true) => Class::Values,
        // Rows that differ in an attribute only are separate rows in the row diff, but have the same key for the
        // loader.
        _ if served.is_some_and(|s| s.lost == 0 && s.gained == 0) => Class::Values,
        _ => Class::Mixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(added: u32, removed: u32, changed: u32) -> RowDiff {
        RowDiff {
            added: (0..added).collect(),
            removed: (0..removed).collect(),
            changed: (0..changed).map(|row| (row, row)).collect(),
        }
    }

    fn class(status: Status, rows: RowDiff, served: &ServedDiff, latency_changed: bool) -> Class {
        super::class(status, &rows, Some(served), latency_changed)
    }

    #[test]
    fn the_class_of_a_change_follows_from_row_changes_and_served_rows() {
        let same = ServedDiff { common: 9, ..ServedDiff::default() };
        let other = ServedDiff { changed: 1, ..same.clone() };
        assert_eq!(class(Status::Rewritten, rows(0, 0, 0), &same, false), Class::ReEncode);
        assert_eq!(class(Status::Rewritten, rows(0, 0, 0), &other, true), Class::Values);
        assert_eq!(class(Status::Renamed, rows(0, 0, 0), &same, false), Class::Move);
        assert_eq!(class(Status::Added, rows(3, 0, 0), &same, false), Class::AppendOnly);
        assert_eq!(class(Status::Modified, rows(3, 0, 0), &same, false), Class::AppendOnly);
        assert_eq!(class(Status::Modified, rows(0, 3, 0), &same, false), Class::Prune);
        assert_eq!(class(Status::Deleted, rows(0, 3, 0), &same, false), Class::Prune);
        assert_eq!(class(Status::Modified, rows(0, 0, 3), &other, false), Class::ColumnOverlay);
        assert_eq!(class(Status::Modified, rows(0, 0, 3), &other, true), Class::Values);
        let lost = ServedDiff { lost: 1, ..other };
        assert_eq!(class(Status::Modified, rows(1, 2, 3), &lost, true), Class::Mixed);
    }

    #[test]
    fn tables_that_did_not_change_do_not_make_a_change_mixed() {
        assert_eq!(Class::of_all([]), Class::None);
        assert_eq!(Class::of_all([Class::ReEncode, Class::Prune, Class::Prune]), Class::Prune);
        assert_eq!(Class::of_all([Class::Replacement, Class::AppendOnly]), Class::Replacement);
        assert_eq!(Class::of_all([Class::Values, Class::Prune]), Class::Mixed);
    }
}
