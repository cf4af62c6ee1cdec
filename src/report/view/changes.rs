//! The changes between two states, escaped for every format.

use std::collections::BTreeMap;

use serde::Serialize;

use super::finding::{ExamplesView, below_data};
use crate::base::escape::clean;
use crate::base::words::{Figure, count, plural};
use crate::database::diff::{Class, Diff, FileDiff, Ratios, ServedDiff, Status, TableDiff, Totals};

/// The changes between two states. The texts are escaped.
pub struct ChangesView<'a> {
    /// The changed tables, by path.
    pub tables: Vec<TableView<'a>>,
    /// The changed files beside the tables, by path.
    pub files: Vec<FileView>,
    /// A line about all tables that moved without a changed row.
    pub moved: Option<String>,
    /// Sums by system, backend and version.
    pub versions: Vec<VersionView>,
    /// Sums over all tables.
    pub total: VersionView,
}

/// A table that changed.
#[derive(Serialize)]
pub struct TableView<'a> {
    /// The change itself, for its numbers.
    #[serde(skip)]
    pub raw: &'a TableDiff,
    /// The table's path.
    pub path: String,
    /// The table's old path if it moved.
    pub old_path: Option<String>,
    /// The path below `systems/data/`.
    pub short_path: String,
    pub old_short_path: Option<String>,
    /// The status of the table, such as `added`.
    pub status: &'static str,
    /// The kind of change; a dash if the table cannot be read before or after it.
    pub class: &'static str,
    /// The numbers of keys that stay, are lost or are gained.
    pub keys: KeysView,
    /// The number of rows before the change; a dash if unknown.
    pub before: String,
    pub after: String,
    pub rows: RowsView,
    /// The median latency ratio of changed rows with the 5th and 95th percentiles; empty if
    /// unknown.
    pub ratio: String,
    /// The median ratio from short to long latencies, as bars.
    pub trend: String,
    /// The reason why a side cannot be read.
    pub fault: Option<String>,
    /// The rows whose latency changed most.
    pub worst: ExamplesView,
}

/// The numbers of keys that stay, are lost or are gained, and the median latency ratio of the keys
/// that stay; dashes if nothing was compared.
#[derive(Serialize)]
pub struct KeysView {
    stay: String,
    lost: String,
    gained: String,
    ratio: String,
}

impl KeysView {
    fn new(served: Option<&ServedDiff>) -> Self {
        let ratio = served.and_then(ServedDiff::median_ratio);
        Self {
            stay: known(served.map(|s| s.common)),
            lost: known(served.map(|s| s.lost)),
            gained: known(served.map(|s| s.gained)),
            ratio: ratio.map_or_else(String::new, |ratio| format!("{:.3}", Figure(ratio))),
        }
    }
}

/// A changed file beside the tables.
#[derive(Serialize)]
pub struct FileView {
    /// The file's path.
    pub path: String,
    /// The status of the file, such as `added`.
    pub status: &'static str,
}

/// The sums over the tables of one version.
#[derive(Serialize, Default)]
pub struct VersionView {
    system: String,
    backend: String,
    version: String,
    tables: String,
    /// The number of rows after the change.
    now: String,
    rows: RowsView,
}

/// The numbers of added, removed and changed rows.
#[derive(Serialize, Default)]
pub struct RowsView {
    added: String,
    removed: String,
    changed: String,
}

impl<'a> ChangesView<'a> {
    /// Escapes the texts of a diff.
    pub fn new(diff: &'a Diff) -> Self {
        let mut by_version: BTreeMap<(&str, &str, &str), Vec<&TableDiff>> = BTreeMap::new();
        for table in &diff.tables {
            let place = &table.place;
            let key = (place.system.as_str(), place.backend.as_str(), place.version.as_str());
            by_version.entry(key).or_default().push(table);
        }
        let version = |(place, tables): (_, Vec<&TableDiff>)| VersionView::new(place, &tables);
        Self {
            tables: diff.tables.iter().map(TableView::new).collect(),
            files: diff.files.iter().map(FileView::new).collect(),
            moved: moved(&diff.tables),
            versions: by_version.into_iter().map(version).collect(),
            total: VersionView::new(("", "", ""), &diff.tables.iter().collect::<Vec<_>>()),
        }
    }
}

/// Returns a line about tables that moved without a changed row; `None` without such tables.
fn moved(tables: &[TableDiff]) -> Option<String> {
    let moved: Vec<&TableDiff> = tables.iter().filter(|t| t.only_moved()).collect();
    let first = moved.first()?;
    let (old, new) = (first.old_path.as_deref().unwrap_or_default(), &first.path);
    let rest = if moved.len() > 1 { ", …" } else { "" };
    let tables = plural(moved.len(), "table");
    Some(clean(&format!("{tables} moved without a changed row: {old} → {new}{rest}")))
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
            status: table.status.name(),
            class: table.class.map_or("–", Class::name),
            keys: KeysView::new(table.served.as_ref()),
            before: known(table.base_rows),
            after: known(table.head_rows),
            rows: RowsView {
                added: known(rows.map(|r| r.added.len() as u64)),
                removed: known(rows.map(|r| r.removed.len() as u64)),
                changed: known(rows.map(|r| r.changed.len() as u64)),
            },
            ratio: ratios.map(percentiles).unwrap_or_default(),
            trend: ratios.map(|r| sparkline(&r.trend)).unwrap_or_default(),
            fault: table.fault.as_ref().map(|fault| clean(&fault.to_string())),
            worst: ratios.map(|r| ExamplesView::new(&r.worst)).unwrap_or_default(),
        }
    }
}

/// Formats the median latency ratio with the 5th and 95th percentiles.
fn percentiles(ratios: &Ratios) -> String {
    let [median, low, high] = [ratios.median, ratios.low, ratios.high].map(Figure);
    format!("{median:.3} ({low:.3} … {high:.3})")
}

impl FileView {
    fn new(file: &FileDiff) -> Self {
        Self { path: clean(&file.path), status: file.status.name() }
    }
}

impl VersionView {
    fn new((system, backend, version): (&str, &str, &str), tables: &[&TableDiff]) -> Self {
        let totals = Totals::of(tables.iter().copied());
        let held = tables.iter().filter(|t| t.status != Status::Deleted);
        Self {
            system: clean(system),
            backend: clean(backend),
            version: clean(version),
            tables: Status::counts(tables.iter().map(|t| t.status)),
            // The sum is unknown if the row count of one table is, because it only moved.
            now: known(held.map(|t| t.head_rows).sum()),
            rows: RowsView {
                added: count(totals.added as usize),
                removed: count(totals.removed as usize),
                changed: count(totals.changed as usize),
            },
        }
    }
}

/// Formats a count; a dash if it is unknown.
fn known(n: Option<u64>) -> String {
    n.map_or("–".to_owned(), |n| count(n as usize))
}

/// Draws median ratios from short to long latencies as bars: ▄ means the same time, a full bar
/// twice the time or more, the lowest bar half or less.
fn sparkline(trend: &[f64]) -> String {
    trend.iter().map(|ratio| bar(*ratio)).collect()
}

fn bar(ratio: f64) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let up = ratio.log2().clamp(-1.0, 1.0);
    let height = if up > 0.0 { 3.0 + up * 4.0 } else { 3.0 + up * 3.0 };
    BARS[height.round() as usize]
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn bars_stand_for_ratios_from_half_to_twice() {
        assert_eq!(sparkline(&[0.3, 0.5, 1.0, 1.02, 1.5, 2.0, 90.0]), "▁▁▄▄▆██");
    }
}
