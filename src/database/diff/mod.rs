//! The differences between two states of a database, base and head: tables and rows that are added, removed or changed.
//!
//! Tables are paired first ([`mod@pairs`]). If the bytes of a pair differ ([`compare`]), the rows are matched by
//! identity ([`rows`]) and by the loader's key ([`matched`]), over cells that are comparable across files ([`cells`]).
//! [`served`] compares the served keys before and after: by slice ([`slices`]), by measurements and attributes of the
//! rows ([`held`]), and with the values of new keys ([`key_notes`]). [`relabel`] finds rows with a corrected key and
//! slices with a corrected name. [`unserved`] finds the keys that no query reaches any more, and [`interpolated`]
//! computes what the planner interpolates for them. [`mod@reference`] compares added tables with their references.
//! [`ratios`] sums up the effect of changed rows on latency, and [`detail`] writes lists of the rows.

mod cells;
mod class;
mod compare;
mod contents;
mod detail;
mod files;
mod held;
mod interpolated;
mod join;
mod key_notes;
mod matched;
mod pairs;
mod ratios;
mod read_keys;
mod reference;
mod relabel;
mod rows;
mod served;
mod slices;
mod unserved;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

pub(crate) use cells::{CellsOf, ColumnPair, SharedColumns, either_has_value};
pub(crate) use class::Class;
pub(crate) use compare::Comparison;
pub(crate) use contents::AuditedTable;
pub(crate) use detail::Details;
pub(crate) use files::{ChangedFacts, changed_paths, files};
pub(crate) use held::{AttributeChange, FilledColumn};
pub(crate) use interpolated::AxisPoint;
pub(crate) use join::{HashedRow, JoinedKeys, each_hash, rows_of};
pub(crate) use key_notes::{FarthestKey, NewKeys};
pub(crate) use matched::RowMatch;
pub(crate) use pairs::{FilePair, pairs};
pub(crate) use ratios::{FAR, Ratios};
pub(crate) use ratios::{LatencyChange, PairedTables};
pub(crate) use reference::AddedTable;
pub(crate) use relabel::Relabelled;
pub use rows::RowDiff;
pub(crate) use served::ServedDiff;
pub(crate) use slices::{LostKey, SliceDiff, SliceLatency, SliceName};
pub(crate) use unserved::{Unserved, UnservedSlice};
pub(crate) use versions::VersionChanges;

use crate::base::words::{Figure, count, plural};
use crate::database::catalog::{Place, Role};

/// The changes between the base and the head of a database.
#[derive(Debug, Default)]
pub struct Diff {
    /// The changed tables, sorted by path.
    pub tables: Vec<TableDiff>,
    /// The changed files other than tables (sidecars, system YAML, others below the data directories), sorted
    /// by path.
    pub files: Vec<FileDiff>,
    /// The keys that no lookup finds after the change, by table.
    pub unserved: Vec<Unserved>,
    /// The added tables, each compared with its reference, sorted by path.
    pub added: Vec<AddedTable>,
    /// The versions that the change makes available to queries, and the versions that it hides from the loader.
    pub versions: VersionChanges,
    /// The contents of the changed tables; empty if no audit is requested.
    pub audited: Vec<AuditedTable>,
}

/// The kind of change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum_macros::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum Status {
    /// The file is new. A table that was converted from text also counts as added. So does a table whose old file is a
    /// git-LFS pointer that was not fetched.
    Added,
    /// The file was deleted.
    Deleted,
    /// The contents of the file changed.
    Modified,
    /// The path of the file changed. The rows may have changed, too.
    Renamed,
    /// The bytes of the table changed, but no cell did.
    Rewritten,
}

/// The changes to one table.
#[derive(Debug)]
pub struct TableDiff {
    /// The path in the head, or in the base if the table was deleted.
    pub path: String,
    /// The table's path in the base, if it differs from the path in the head.
    pub old_path: Option<String>,
    /// The kind of change to the table's file.
    pub status: Status,
    /// The system, family, backend and version in the head, or in the base if the table was deleted.
    pub place: Place,
    /// The table's name, which is the file stem.
    pub table: String,
    /// The number of rows in the base; `None` if the table was only moved or cannot be read.
    pub base_rows: Option<u64>,
    /// The number of rows in the head; `None` if the table was only moved or cannot be read.
    pub head_rows: Option<u64>,
    /// The added, removed and changed rows; `None` if the table cannot be read in the base or in the head.
    pub rows: Option<RowDiff>,
    /// The latency ratios of the changed rows, head over base; `None` if no row has a ratio.
    pub ratios: Option<Ratios>,
    /// The class of the change; `None` if the table cannot be read in the base or in the head.
    pub class: Option<Class>,
    /// The differences between the keys served before and after; `None` if the rows were not compared or the key is
    /// unknown.
    pub served: Option<ServedDiff>,
    /// The columns that only base or head has, or that differ between matched rows.
    pub columns_changed: Vec<String>,
    /// The matches between the rows of head and base; `None` if base or head has no rows.
    pub matched: Option<Arc<RowMatch>>,
    /// The reason why the table cannot be read in the base or in the head; `None` if it can be read in both. If only
    /// the base is damaged, all rows of the head count as added.
    pub fault: Option<ReadFault>,
}

/// The base of a comparison, its head, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffSide {
    /// The database before the change.
    Base,
    /// The database after the change.
    Head,
    /// The database before and after the change.
    Both,
}

/// The reason why a table cannot be read in the base or in the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFault {
    /// Which of base and head cannot be read. If both are damaged, only the head is named.
    pub side: DiffSide,
    /// The reason why the table cannot be read.
    pub why: FaultReason,
}

/// The reason why a table's bytes or contents are unavailable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultReason {
    /// The file is a git-LFS pointer whose object was not fetched.
    Pointer,
    /// The git object is not in this clone.
    Missing,
    /// The table is damaged. The text describes the damage.
    Damaged(String),
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = if self.side == DiffSide::Base { "base" } else { "head" };
        match (self.side, &self.why) {
            (DiffSide::Both, FaultReason::Pointer) => {
                f.write_str("both sides are git-LFS pointers and their objects were not fetched")
            }
            (DiffSide::Both, _) => f.write_str("the objects of both sides are not in this clone"),
            (_, FaultReason::Pointer) => {
                write!(f, "the {side} is a git-LFS pointer and its object was not fetched")
            }
            (_, FaultReason::Missing) => write!(f, "the object of the {side} is not in this clone"),
            (_, FaultReason::Damaged(why)) => write!(f, "the {side} cannot be read: {why}"),
        }
    }
}

/// The change to a file that is not a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file's path.
    pub path: String,
    /// The kind of change: added, deleted or modified; traces can also be renamed.
    pub status: Status,
    /// What the file is used for, such as a sidecar.
    pub role: Role,
    /// Descriptions of the changed fields in a system's YAML; empty for any other file.
    pub changes: Vec<String>,
}

/// The numbers of changed tables and rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The number of changed tables.
    pub tables: usize,
    /// The number of added rows.
    pub added: u64,
    /// The number of removed rows.
    pub removed: u64,
    /// The number of changed rows.
    pub changed: u64,
    /// The number of tables that cannot be read. The rows of these tables are not counted.
    pub unread: usize,
}

impl Status {
    /// Describes how many files have each status: `2 added, 1 deleted`.
    pub(crate) fn counts(all: impl IntoIterator<Item = Self>) -> String {
        let mut counts: BTreeMap<Self, usize> = BTreeMap::new();
        all.into_iter().for_each(|status| *counts.entry(status).or_default() += 1);
        let parts = counts.iter().map(|(status, n)| format!("{} {}", count(*n), status.into_str()));
        parts.collect::<Vec<_>>().join(", ")
    }
}

impl Diff {
    /// Merges the changes of several databases in the same source.
    pub(crate) fn of_roots(roots: Vec<Self>) -> Self {
        let mut all = Self::default();
        for root in roots {
            all.tables.extend(root.tables);
            all.files.extend(root.files);
            all.unserved.extend(root.unserved);
            all.added.extend(root.added);
            all.versions.extend(root.versions);
            all.audited.extend(root.audited);
        }
        all.tables.sort_by(|a, b| a.path.cmp(&b.path));
        all.files.sort_by(|a, b| a.path.cmp(&b.path));
        // A file of facts may belong to several roots.
        all.files.dedup();
        all
    }

    /// Returns a summary of the changes in one line.
    pub(crate) fn headline(&self) -> String {
        let mut parts = Vec::new();
        if !self.tables.is_empty() {
            let totals = Totals::of(&self.tables);
            parts.push(format!(
                "tables: {}; rows: {} added, {} removed, {} changed",
                Status::counts(self.tables.iter().map(|t| t.status)),
                count(totals.added as usize),
                count(totals.removed as usize),
                count(totals.changed as usize),
            ));
            let median = self.served().median_ratio();
            if let Some(median) = median.filter(|median| (median - 1.0).abs() > FAR) {
                parts.push(format!("latency × {:.3} in the median", Figure(median)));
            }
            if totals.unread > 0 {
                parts.push(format!("{} cannot be read", plural(totals.unread, "table")));
            }
        }
        if !self.files.is_empty() {
            let counts = Status::counts(self.files.iter().map(|f| f.status));
            parts.push(format!("other files: {counts}"));
        }
        if parts.is_empty() { "nothing changed".to_owned() } else { parts.join("; ") }
    }

    /// Counts the tables that were not compared because their bytes in base or head were not fetched.
    pub(crate) fn not_compared(&self) -> usize {
        self.tables.iter().filter(|table| table.absence().is_some()).count()
    }

    /// Returns the class of the changes to all tables together.
    pub(crate) fn class(&self) -> Class {
        // The class of a table that was not compared is unknown.
        Class::of_all(self.tables.iter().map(|table| table.class.unwrap_or(Class::Mixed)))
    }

    /// Returns the columns that changed in any table, sorted.
    pub(crate) fn columns_changed(&self) -> BTreeSet<&str> {
        self.tables.iter().flat_map(|t| &t.columns_changed).map(String::as_str).collect()
    }

    /// Returns the names of attributes, such as `device`, that changed in any table, sorted.
    pub(crate) fn attributes_changed(&self) -> BTreeSet<&str> {
        let served = self.tables.iter().filter_map(|t| t.served.as_ref());
        served.flat_map(|s| &s.attributes).map(|a| a.column.as_str()).collect()
    }

    /// Sums up the differences in served keys over all tables.
    pub(crate) fn served(&self) -> ServedDiff {
        ServedDiff::sum(self.tables.iter().filter_map(|t| t.served.as_ref()))
    }

    /// Returns two counts: of the keys that no lookup finds after the change, and of the shapes that no version serves.
    /// A shape consists of the key parts that are not axes.
    pub(crate) fn unserved_counts(&self) -> (u64, u64) {
        let counts = self.unserved.iter().map(|table| (table.keys(), table.shapes()));
        counts.fold((0, 0), |sum, table| (sum.0 + table.0, sum.1 + table.1))
    }
}

impl TableDiff {
    /// Returns the reason why the table was not compared, if its bytes in base or head were not fetched; otherwise
    /// `None`.
    pub(crate) fn absence(&self) -> Option<&ReadFault> {
        let is_damaged = |fault: &&ReadFault| matches!(fault.why, FaultReason::Damaged(_));
        self.fault.as_ref().filter(|fault| self.rows.is_none() && !is_damaged(fault))
    }

    /// Returns true if the table was not compared because it cannot be read on the given side, which is base or head.
    pub(crate) fn lacks(&self, side: DiffSide) -> bool {
        self.rows.is_none() && self.fault.as_ref().is_some_and(|fault| fault.side == side)
    }

    /// Returns true if the table was a Parquet file in the base.
    pub(crate) fn was_parquet(&self) -> bool {
        self.old_path.as_ref().unwrap_or(&self.path).ends_with(".parquet")
    }

    /// Returns true if the table's path changed but none of its rows did.
    pub(crate) fn only_moved(&self) -> bool {
        self.status == Status::Renamed && self.rows.as_ref().is_some_and(RowDiff::is_empty)
    }
}

impl Totals {
    /// Sums up the changes of tables.
    pub(crate) fn of<'a>(tables: impl IntoIterator<Item = &'a TableDiff>) -> Self {
        let mut totals = Self::default();
        for table in tables {
            totals.tables += 1;
            totals.unread += usize::from(table.rows.is_none());
            if let Some(rows) = &table.rows {
                totals.added += rows.added.len() as u64;
                totals.removed += rows.removed.len() as u64;
                totals.changed += rows.changed.len() as u64;
            }
        }
        totals
    }
}
