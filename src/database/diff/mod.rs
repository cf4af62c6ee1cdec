//! Base × head: which tables and rows a range of commits adds, removes and changes.
//!
//! Tables are paired first ([`pairs`]); of a pair whose bytes differ ([`compare`]) the rows are matched
//! by key ([`rows`]), over cells that are comparable across files ([`cells`]), and by the loader's key
//! ([`matched`]). What is served before and after is in [`served`]: by slice in [`slices`], by what the
//! rows hold in [`held`], key by key in [`keys`]. What changed rows do to latency is summed up in
//! [`ratios`], and [`detail`] writes the rows themselves.

mod cells;
mod class;
mod compare;
mod detail;
mod files;
mod held;
mod keys;
mod matched;
mod pairs;
mod ratios;
mod rows;
mod served;
mod slices;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

pub use class::Class;
pub(crate) use compare::Comparison;
pub use detail::Details;
pub(crate) use files::{ChangedFacts, files};
pub use held::AttributeChange;
pub use keys::{ServedPair, ServedPairs, rows_by_key};
pub use matched::RowMatch;
pub(crate) use pairs::{FilePair, pairs};
pub use ratios::{FAR, Ratios};
pub use rows::RowDiff;
pub use served::{ServedDiff, each_served_key};
pub use slices::{LostKey, SliceDiff, SliceName};

use crate::base::words::{Figure, count, plural};
use crate::database::catalog::{Place, Role};

/// What changed between two states of a database.
#[derive(Debug, Default)]
pub struct Diff {
    /// Tables, by path.
    pub tables: Vec<TableDiff>,
    /// Sidecars, system YAML and whatever else lies below the data directories, by path.
    pub files: Vec<FileDiff>,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It was not there, or an unresolved git-LFS pointer elsewhere was. A table that was text before is one too, with its rows compared.
    Added,
    /// It is gone.
    Deleted,
    /// Cells of it changed.
    Modified,
    /// It lies elsewhere; rows of it may have changed too.
    Renamed,
    /// Its bytes changed, no cell did.
    Rewritten,
}

/// What happened to a table.
#[derive(Debug)]
pub struct TableDiff {
    /// Its path; the one it had, where it is gone.
    pub path: String,
    /// The path it had, where that is another.
    pub old_path: Option<String>,
    /// What happened to it.
    pub status: Status,
    /// Its place; the one it had, where it is gone.
    pub place: Place,
    /// File stem.
    pub table: String,
    /// Rows it had; none where they are not known: it was moved as it is, or cannot be read.
    pub base_rows: Option<u64>,
    /// Rows it has; none likewise.
    pub head_rows: Option<u64>,
    /// Rows by what happened to them; none where one side cannot be read.
    pub rows: Option<RowDiff>,
    /// Latency of the changed rows, head over base; none where no row has both.
    pub ratios: Option<Ratios>,
    /// What kind of change it is; none where one side cannot be read.
    pub class: Option<Class>,
    /// What the loader serves of it before and after; none where one side was not read, or where no
    /// loader's key is known.
    pub served: Option<ServedDiff>,
    /// Columns that are there on one side only, or of which a row that stays holds something else.
    pub columns_changed: Vec<String>,
    /// Which row of the base each row of the head was; none where one side has no rows.
    pub matched: Option<Arc<RowMatch>>,
    /// Which side cannot be read, and why. Of a damaged base, all rows of the head are added; of a base
    /// that is not at hand, nothing is compared.
    pub fault: Option<ReadFault>,
}

/// A side of a comparison, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before.
    Base,
    /// After.
    Head,
    /// Before and after.
    Both,
}

/// Why a side of a table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFault {
    /// Which side; of two that are damaged, the head.
    pub side: Side,
    /// Why not.
    pub why: FaultReason,
}

/// Why a side cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultReason {
    /// It is a git-LFS pointer whose object was not fetched.
    Pointer,
    /// Its object is not in this clone.
    Missing,
    /// It is damaged, in these words.
    Damaged(String),
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match (self.side, &self.why) {
            (Side::Base, _) => "base",
            (Side::Head, _) => "head",
            (Side::Both, FaultReason::Pointer) => {
                return f.write_str(
                    "both sides are git-LFS pointers and their objects were not fetched",
                );
            }
            (Side::Both, _) => {
                return f.write_str("the objects of both sides are not in this clone");
            }
        };
        match &self.why {
            FaultReason::Pointer => {
                write!(f, "the {side} is a git-LFS pointer and its object was not fetched")
            }
            FaultReason::Missing => write!(f, "the object of the {side} is not in this clone"),
            FaultReason::Damaged(why) => write!(f, "the {side} cannot be read: {why}"),
        }
    }
}

/// What happened to a file that is not a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Its path.
    pub path: String,
    /// Added, deleted, modified; of traces also renamed.
    pub status: Status,
    /// What it is.
    pub role: Role,
}

/// Sums over tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Tables.
    pub tables: usize,
    /// Rows added.
    pub added: u64,
    /// Rows removed.
    pub removed: u64,
    /// Rows changed.
    pub changed: u64,
    /// Tables that cannot be read, so that their rows are not in these sums.
    pub unread: usize,
}

impl Status {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Rewritten => "rewritten",
        }
    }

    /// How many of each there are, in words: `2 added, 1 deleted`.
    pub fn counts(all: impl IntoIterator<Item = Self>) -> String {
        let mut counts: BTreeMap<Self, usize> = BTreeMap::new();
        all.into_iter().for_each(|status| *counts.entry(status).or_default() += 1);
        let parts = counts.iter().map(|(status, n)| format!("{} {}", count(*n), status.name()));
        parts.collect::<Vec<_>>().join(", ")
    }
}

impl Diff {
    /// What changed in several roots.
    pub fn of_roots(roots: Vec<Self>) -> Self {
        let mut all = Self::default();
        for root in roots {
            all.tables.extend(root.tables);
            all.files.extend(root.files);
        }
        all.tables.sort_by(|a, b| a.path.cmp(&b.path));
        all.files.sort_by(|a, b| a.path.cmp(&b.path));
        // Several roots may be judged by one file of facts.
        all.files.dedup();
        all
    }

    /// What changed, in a line.
    pub fn headline(&self) -> String {
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
}

impl Diff {
    /// Tables that were not compared though they are there, since a side of them is not at hand.
    pub fn not_compared(&self) -> usize {
        self.tables.iter().filter(|table| table.absence().is_some()).count()
    }

    /// What kind of change all of it is.
    pub fn class(&self) -> Class {
        // What was not compared may be anything.
        Class::of_all(self.tables.iter().map(|table| table.class.unwrap_or(Class::Mixed)))
    }

    /// Columns that changed in any table, sorted.
    pub fn columns_changed(&self) -> BTreeSet<&str> {
        self.tables.iter().flat_map(|t| &t.columns_changed).map(String::as_str).collect()
    }

    /// Attributes that changed in any table, sorted.
    pub fn attributes_changed(&self) -> BTreeSet<&str> {
        let served = self.tables.iter().filter_map(|t| t.served.as_ref());
        served.flat_map(|s| &s.attributes).map(|a| a.column.as_str()).collect()
    }

    /// What is served of all tables before and after.
    pub fn served(&self) -> ServedDiff {
        ServedDiff::sum(self.tables.iter().filter_map(|t| t.served.as_ref()))
    }
}

impl TableDiff {
    /// Which side is not at hand, where it was not compared for that: a git-LFS pointer without its object, or an
    /// object that is not in this clone.
    pub fn absence(&self) -> Option<&ReadFault> {
        let is_damaged = |fault: &&ReadFault| matches!(fault.why, FaultReason::Damaged(_));
        self.fault.as_ref().filter(|fault| self.rows.is_none() && !is_damaged(fault))
    }

    /// Whether it was not compared since that side cannot be read.
    pub fn lacks(&self, side: Side) -> bool {
        self.rows.is_none() && self.fault.as_ref().is_some_and(|fault| fault.side == side)
    }

    /// Whether it was a Parquet file before.
    pub fn was_parquet(&self) -> bool {
        self.old_path.as_ref().unwrap_or(&self.path).ends_with(".parquet")
    }

    /// Whether it lies elsewhere and no row of it changed.
    pub fn only_moved(&self) -> bool {
        self.status == Status::Renamed && self.rows.as_ref().is_some_and(RowDiff::is_empty)
    }
}

impl Totals {
    /// Sums up tables.
    pub fn of<'a>(tables: impl IntoIterator<Item = &'a TableDiff>) -> Self {
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
