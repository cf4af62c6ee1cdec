//! The changes between two states, escaped for every format.

use serde::Serialize;

use super::finding::{ExamplesView, below_data};
use super::kinds::{KindLine, lines};
use super::summary;
use crate::base::escape::clean;
use crate::base::words::{Figure, count};
use crate::database::diff::{Diff, Ratios, TableDiff};
use crate::report::change::{ChangeTable, KindTable, by_kind};

/// The differences between the base and the head of a change, as a report shows them. The texts are escaped.
pub(crate) struct ChangesView<'a> {
    /// The changed tables, by path.
    pub tables: Vec<TableView<'a>>,
    /// The changed files other than tables, by path.
    pub files: Vec<FileView>,
    /// Lines about the changed tables, one line per kind of change, such as tables that were added.
    pub kinds: Vec<KindLine>,
    /// Summary tables for the report, one per kind of change.
    kind_tables: &'a [KindTable],
    /// A sentence that sums up the change: its class (such as `append-only`), the numbers of changed tables, rows and
    /// files, and the names of the changed columns. `None` if no table changed.
    pub numbers: Option<String>,
    /// Lines about four things that changed: attributes of rows (such as the device), files of facts, settings of this
    /// program, and versions that a query can select.
    pub remarks: Vec<String>,
    /// A sentence about tables that were not compared because their base or head file is not in the local clone.
    pub unread: Option<String>,
}

/// A table that changed.
#[derive(Serialize)]
pub(crate) struct TableView<'a> {
    /// The table's differences with unescaped texts. Templates read only numbers from this field.
    #[serde(skip)]
    pub raw: &'a TableDiff,
    /// The table's path.
    pub path: String,
    /// The table's old path; `None` if the path did not change.
    pub old_path: Option<String>,
    /// The part of the table's path after `systems/data/`.
    pub short_path: String,
    pub old_short_path: Option<String>,
    /// The status of the table, such as `added`.
    pub status: &'static str,
    /// The class of the table's change, such as `append-only`; a dash if the table cannot be read in the base or the
    /// head.
    pub class: &'static str,
    /// The table's number of rows in the base; a dash if unknown.
    pub before: String,
    pub after: String,
    /// The number of added, removed and changed rows, in this order.
    pub rows: [String; 3],
    /// The median latency ratio of changed rows with the 5th and 95th percentiles; empty if
    /// unknown.
    pub ratio: String,
    /// The reason why the table cannot be read in the base or the head; `None` if both can be read.
    pub fault: Option<String>,
    /// The rows whose latency changed most.
    pub worst: ExamplesView,
}

/// A changed file other than a table: its status, such as `added`, and its path.
pub(crate) type FileView = (&'static str, String);

impl<'a> ChangesView<'a> {
    /// Builds the view of a diff and escapes its texts.
    pub(crate) fn new(diff: &'a Diff, kind_tables: &'a [KindTable]) -> Self {
        Self {
            tables: diff.tables.iter().map(TableView::new).collect(),
            files: diff.files.iter().map(|f| (f.status.into_str(), clean(&f.path))).collect(),
            kinds: lines(diff, &by_kind(diff), kind_tables),
            kind_tables,
            numbers: summary::changes(diff).map(|line| clean(&line)),
            remarks: summary::remarks(diff),
            unread: summary::unread(diff).map(|line| clean(&line)),
        }
    }
}

impl ChangesView<'_> {
    /// Returns the summary tables in the form in which a page shows them, each with at most `most` lines.
    pub(crate) fn shaped(&self, most: usize) -> Vec<ChangeTable> {
        self.kind_tables.iter().filter_map(|table| table.shaped(most)).collect()
    }

    /// Returns the lines that sum up the changes. Lines about each kind of change come first.
    pub(crate) fn summary(&self) -> Vec<String> {
        let kinds = self.kinds.iter().map(|kind| format!("{}: {}", kind.label, kind.text));
        let rest = self.numbers.iter().chain(&self.remarks).chain(&self.unread);
        kinds.chain(rest.cloned()).collect()
    }
}

impl<'a> TableView<'a> {
    fn new(table: &'a TableDiff) -> Self {
        let rows = table.rows.as_ref();
        let ratios = table.ratios.as_ref();
        let old_path = table.old_path.as_deref();
        Self {
            raw: table,
            path: clean(&table.path),
            old_path: old_path.map(clean),
            short_path: clean(below_data(&table.path)),
            old_short_path: old_path.map(below_data).map(clean),
            status: table.status.into_str(),
            class: table.class.map_or("–", |class| class.into_str()),
            before: known(table.base_rows),
            after: known(table.head_rows),
            rows: match rows {
                None => [None; 3],
                Some(r) => [r.added.len(), r.removed.len(), r.changed.len()].map(Some),
            }
            .map(|n| known(n.map(|n| n as u64))),
            ratio: ratios.map(percentiles).unwrap_or_default(),
            fault: table.fault.as_ref().map(|fault| clean(&fault.to_string())),
            worst: ratios.map(|r| ExamplesView::new(&r.worst)).unwrap_or_default(),
        }
    }
}

/// Formats the median latency ratio, followed by the 5th and 95th percentiles.
fn percentiles(ratios: &Ratios) -> String {
    let [median, low, high] = [ratios.median, ratios.low, ratios.high].map(Figure);
    format!("{median:.3} ({low:.3} … {high:.3})")
}

/// Formats a count; returns a dash if the count is unknown.
fn known(n: Option<u64>) -> String {
    n.map_or("–".to_owned(), |n| count(n as usize))
}
