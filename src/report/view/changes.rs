//! What changed between two states, as every format shows it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::finding::ExamplesView;
use crate::base::escape::clean;
use crate::base::words::{Figure, count, plural};
use crate::database::diff::{Class, Diff, FileDiff, ServedDiff, Status, TableDiff, Totals};
use crate::report::below_data;

/// What changed. Its texts are escaped.
pub struct ChangesView<'a> {
    /// Tables, by path.
    pub tables: Vec<TableView<'a>>,
    /// Files beside the tables, by path.
    pub files: Vec<FileView>,
    /// Tables that only lie elsewhere, in one line: a move of the whole tree is one thing to know.
    pub moved: Option<String>,
    /// Sums by system, backend and version.
    pub versions: Vec<VersionView>,
    /// Sums over all tables.
    pub total: VersionView,
}

/// A table that changed.
#[derive(Serialize)]
pub struct TableView<'a> {
    /// The change itself, for numbers.
    #[serde(skip)]
    pub raw: &'a TableDiff,
    /// Its path.
    pub path: String,
    /// The path it had, where that is another.
    pub old_path: Option<String>,
    /// Both below `systems/data/`.
    pub short_path: String,
    pub old_short_path: Option<String>,
    /// What happened to it.
    pub status: &'static str,
    /// What kind of change it is; a dash where a side cannot be read.
    pub class: &'static str,
    /// Keys of the loader by what happened to them.
    pub keys: KeysView,
    /// Rows before, after, and by what happened to them; a dash where that is not known.
    pub before: String,
    pub after: String,
    pub rows: RowsView,
    /// Median latency ratio of changed rows, and what 5 % are below and above; empty without one.
    pub ratio: String,
    /// The ratio over ever longer latencies, as bars.
    pub trend: String,
    /// Which side cannot be read, and why.
    pub fault: Option<String>,
    /// The rows whose latency changed most.
    pub worst: ExamplesView,
}

/// Keys of the loader by what happened to them, and the median latency ratio of those that stay; dashes
/// where nothing was compared.
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

/// A file beside the tables.
#[derive(Serialize)]
pub struct FileView {
    /// Its path.
    pub path: String,
    /// What happened to it.
    pub status: &'static str,
}

/// The tables of one version, summed up.
#[derive(Serialize, Default)]
pub struct VersionView {
    system: String,
    backend: String,
    version: String,
    tables: String,
    /// Rows that these tables hold now.
    now: String,
    rows: RowsView,
}

/// Rows by what happened to them.
#[derive(Serialize, Default)]
pub struct RowsView {
    added: String,
    removed: String,
    changed: String,
}

impl<'a> ChangesView<'a> {
    /// Escapes what changed.
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

/// Tables that only lie elsewhere, in one line; none where there are none.
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
            ratio: ratios
                .map(|r| {
                    format!(
                        "{:.3} ({:.3} … {:.3})",
                        Figure(r.median),
                        Figure(r.low),
                        Figure(r.high)
                    )
                })
                .unwrap_or_default(),
            trend: ratios.map(|r| sparkline(&r.trend)).unwrap_or_default(),
            fault: table.fault.as_ref().map(|fault| clean(&fault.to_string())),
            worst: ratios.map(|r| ExamplesView::new(&r.worst)).unwrap_or_default(),
        }
    }
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
            // Not known as soon as that of one table is not, since it only moved.
            now: known(held.map(|t| t.head_rows).sum()),
            rows: RowsView {
                added: count(totals.added as usize),
                removed: count(totals.removed as usize),
                changed: count(totals.changed as usize),
            },
        }
    }
}

/// A count; a dash where it is not known.
fn known(n: Option<u64>) -> String {
    n.map_or("–".to_owned(), |n| count(n as usize))
}

/// The median ratios from short to long latencies, as bars: ▄ means the same time, a full bar twice the time
/// or more, the lowest half or less.
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
