//! The changed tables that explain why the time of an operation changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{AskedVersion, Question, ServingFiles};
use crate::base::error::Result;
use crate::base::words::Figure;
use crate::database::diff::{Diff, SliceDiff, TableDiff};
use crate::report::below_data;
use crate::specs::{Library, SpecFile};

/// The maximum number of tables in the text that explains an operation's new time. Also the maximum number of slices
/// that this text names per table.
const NAMED: usize = 2;

/// The tables that each kind of operation reads, as `rules/operations.yaml` states them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperationTables {
    /// The file stems of the tables that each kind of operation reads. The map's keys are the kinds' names in the
    /// engine's operation list, such as `Gemm`.
    operations: BTreeMap<String, BTreeSet<String>>,
}

/// The cause of the changed time of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MoveCause {
    /// The paths of the changed tables that serve the operation.
    pub tables: Vec<String>,
    /// The changed tables and slices that explain the new time, as text for people. If no table changed, the text names
    /// other changed files.
    pub words: String,
}

impl OperationTables {
    /// Reads `rules/operations.yaml`.
    ///
    /// # Errors
    ///
    /// If the file is malformed; the error names the line.
    pub(crate) fn read(library: &Library) -> Result<Self> {
        library
            .file("rules/operations.yaml")
            .last()
            .map_or_else(|| Ok(Self::default()), SpecFile::parse)
    }

    /// Returns the stems of the tables that the given kinds of operations read; `None` if a kind is unknown.
    fn tables(&self, kinds: &[Vec<String>]) -> Option<BTreeSet<&str>> {
        let of_kind = |kind: &Vec<String>| self.operations.get(kind.first()?);
        let tables: Option<Vec<&BTreeSet<String>>> = kinds.iter().map(of_kind).collect();
        Some(tables?.into_iter().flatten().map(String::as_str).collect())
    }
}

impl MoveCause {
    /// Finds the changed tables that serve an operation. `kinds` are the operation's kinds with their dtypes. An
    /// operation of an unknown kind may read any table.
    pub(super) fn of(asked: &AskedVersion, kinds: &[Vec<String>], question: &Question<'_>) -> Self {
        let known = question.operations.tables(kinds).filter(|_| !kinds.is_empty());
        let stem = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
        let reads =
            |name: &str| known.as_ref().is_none_or(|known| known.contains(stem(name).as_str()));
        let changed: Vec<&ServingFiles> =
            asked.changed.iter().filter(|(name, _)| reads(name)).map(|(_, table)| table).collect();
        let dtypes: BTreeSet<&str> =
            kinds.iter().flat_map(|kind| kind.iter().skip(1)).map(String::as_str).collect();
        if changed.is_empty() {
            let words = match asked.facts.first() {
                Some(first) if asked.facts.len() == 1 => below_data(first).to_owned(),
                Some(first) => {
                    format!("{} and {} other files", below_data(first), asked.facts.len() - 1)
                }
                None => String::new(),
            };
            return Self { tables: Vec::new(), words };
        }
        let tables: BTreeSet<String> =
            changed.iter().flat_map(|table| table.paths.iter().cloned()).collect();
        let words: Vec<String> = changed
            .iter()
            .filter_map(|table| words(table, &dtypes, question.diff))
            .take(NAMED)
            .collect();
        let tables = if tables.is_empty() {
            changed
                .iter()
                .filter_map(|table| table.after.first().or(table.before.first()).cloned())
                .collect()
        } else {
            tables.into_iter().collect()
        };
        Self { tables, words: words.join("; ") }
    }
}

/// Describes the change of a table for people: the planner now reads another file first, or slices of the table
/// changed. Returns `None` if no file serves the table.
fn words(table: &ServingFiles, dtypes: &BTreeSet<&str>, diff: Option<&Diff>) -> Option<String> {
    let name = |path: &str| below_data(path).trim_end_matches(".parquet").to_owned();
    let (before, after) = (table.before.first(), table.after.first());
    match (before, after) {
        (Some(before), None) => return Some(format!("{} is gone", name(before))),
        (None, Some(after)) => return Some(format!("{} is new", name(after))),
        (Some(before), Some(after)) if before != after => {
            return Some(format!("{} answers before {}", name(after), name(before)));
        }
        _ => {}
    }
    let path = table.paths.first().or(after)?;
    let changed = diff.and_then(|diff| diff.tables.iter().find(|t| t.path == *path));
    let slices = changed.map(|changed| moved_slices(changed, dtypes)).unwrap_or_default();
    Some(if slices.is_empty() {
        name(path)
    } else {
        format!("{}: {}", name(path), slices.join(", "))
    })
}

/// Describes at most [`NAMED`] slices of a table whose keys or latencies changed. The largest slices come first. If
/// some of these slices have one of the operation's `dtypes`, all other slices are left out.
fn moved_slices(table: &TableDiff, dtypes: &BTreeSet<&str>) -> Vec<String> {
    let Some(served) = &table.served else { return Vec::new() };
    let is_moved = |slice: &&SliceDiff| {
        slice.latency.is_some_and(|latency| !latency.is_unchanged())
            || slice.lost > 0
            || slice.gained > 0
    };
    let is_of =
        |slice: &&&SliceDiff| slice.slice.iter().any(|(_, text)| dtypes.contains(text.as_str()));
    let moved: Vec<&SliceDiff> = served.slices.iter().filter(is_moved).collect();
    let own: Vec<&SliceDiff> = moved.iter().filter(is_of).copied().collect();
    let mut named = if own.is_empty() { moved } else { own };
    named.sort_by_key(|slice| std::cmp::Reverse(slice.common + slice.lost + slice.gained));
    let of = |slice: &&SliceDiff| {
        let texts: Vec<&str> = slice.slice.iter().map(|(_, text)| text.as_str()).collect();
        let ratio =
            slice.latency.filter(|latency| !latency.is_unchanged()).map(|latency| latency.ratio);
        let change = match ratio {
            Some(ratio) => format!("× {:.2}", Figure(ratio)),
            None if slice.lost > 0 => format!("{} keys no longer in this version", slice.lost),
            None => format!("{} new keys", slice.gained),
        };
        format!("{} {change}", texts.join(" "))
    };
    named.iter().take(NAMED).map(of).collect()
}
