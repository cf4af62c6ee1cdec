//! Builds the summary tables of a change, one per kind: measured again, rekeyed, added, appended, filled, lost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::kind::{Kind, by_kind};
use super::table::{KindRow, KindTable};
use crate::base::group::grouped;
use crate::base::words::{Figure, count, names, plural, plural_verb};
use crate::database::catalog::Place;
use crate::database::diff::{Diff, FilledColumn, NewKeys, ServedDiff, SliceDiff, SliceName};
use crate::database::diff::{TableDiff, Unserved};
use crate::specs::measured_unit;

/// The explanation of the columns in a summary table with ratios.
const LEGEND: &str = "A ratio is of one key, a median in ms of one side. Common keys are on both sides. Beyond reruns: keys that differ by more than 99 % of reruns";

/// Slices with fewer compared keys than this are sorted to the end, because their median ratio is uncertain.
const FEW: u64 = 10;
/// If a table lost keys of more slices than this, the slices are counted instead of named.
const SLICES: usize = 2;
/// If more tables than this gained rows, the summary has one row per version instead of one row per slice.
const ALIKE: usize = 6;
/// The maximum number of lines about new keys above a summary table.
const NOTES: usize = 4;
/// The maximum number of values listed per key part. A longer list is cut to its smallest and its largest value.
const VALUES: usize = 4;

/// Returns the summary tables of a change, one per kind of change, the most important first. Empty tables are left out.
pub fn kind_tables(diff: &Diff) -> Vec<KindTable> {
    let kinds = by_kind(diff);
    let of = |kind: Kind| kinds.get(&kind).map(Vec::as_slice).unwrap_or_default();
    let mut tables = vec![
        unserved(&diff.unserved),
        sliced(Kind::Remeasured, of(Kind::Remeasured), diff),
        rekeyed(of(Kind::Rekeyed)),
        sliced(Kind::Added, of(Kind::Added), diff),
        sliced(Kind::Appended, of(Kind::Appended), diff),
        filled(of(Kind::Overlay)),
    ];
    // Unless the change removes tables or rows, it loses few keys, so the summary of lost keys comes last.
    if !kinds.contains_key(&Kind::Pruned) {
        tables.rotate_left(1);
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// Returns the path and the slice of the first summary row that has a path; `None` if no row has a path.
pub fn first_row(tables: &[KindTable]) -> Option<(&str, &SliceName)> {
    let mut rows = tables.iter().flat_map(|table| &table.rows);
    rows.find(|row| !row.path.is_empty()).map(|row| (row.path.as_str(), &row.texts))
}

/// Formats the system, backend and version of a table, separated by spaces.
pub(in crate::report) fn place_text(place: &Place) -> String {
    [&*place.system, &*place.backend, &*place.version].join(" ")
}

/// Returns the name of a table without the suffix `_perf`.
pub(in crate::report) fn short(table: &str) -> String {
    table.strip_suffix("_perf").unwrap_or(table).to_owned()
}

/// Formats the name of a slice without the parts that all slices of the table share.
fn slice_text(slice: &SliceName, shared: &[bool]) -> String {
    let texts = slice.iter().zip(shared).filter(|(_, shared)| !**shared);
    texts.map(|((_, text), _)| text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Returns one flag for each part of the slices' names: true if all slices have the same text in this part.
fn shared_parts<'s>(slices: impl Iterator<Item = &'s SliceName> + Clone) -> Vec<bool> {
    let Some(first) = slices.clone().next() else { return Vec::new() };
    let is_shared = |part| slices.clone().all(|slice| slice.get(part) == first.get(part));
    (0..first.len()).map(is_shared).collect()
}

/// Creates a summary row about the table `of`, or about one of its slices.
fn row(of: &TableDiff, texts: &SliceName, slice: String, cells: Vec<String>) -> KindRow {
    let (place, table) = (place_text(&of.place), short(&of.table));
    KindRow { place, table, slice, cells, path: of.path.clone(), texts: texts.clone(), moved: None }
}

/// Formats a number of keys; empty for 0.
fn nonzero(n: u64) -> String {
    if n > 0 { count(n as usize) } else { String::new() }
}

/// Formats a number with three significant digits.
pub(in crate::report) fn significant(number: f64) -> String {
    let digits = (2.0 - number.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{:.digits$}", Figure(number))
}

/// Returns the sort key of a slice. Slices whose median latency changed most come first, then slices with the most keys
/// that changed beyond noise, then slices with the most lost and gained keys. Slices with fewer than [`FEW`] compared
/// latencies follow. Slices without any key to compare come last.
fn slice_rank(slice: &SliceDiff) -> impl Ord + use<> {
    let latency = slice.latency.filter(|latency| !latency.is_unchanged());
    let far = latency.map_or(0.0, |latency| latency.ratio.ln().abs());
    let is_few = latency.is_none_or(|latency| latency.keys < FEW);
    let beyond = latency.map_or(0, |latency| latency.beyond_noise);
    (slice.common == 0, is_few, Reverse((far.to_bits(), beyond, slice.lost + slice.gained)))
}

/// Lists the slices whose keys or latencies changed. The slices of an added table are compared with its reference, all
/// other slices with their state before the change.
fn sliced(kind: Kind, tables: &[&TableDiff], diff: &Diff) -> KindTable {
    let mut rows: Vec<(&SliceDiff, KindRow)> = Vec::new();
    let mut compared: Vec<(&TableDiff, &ServedDiff)> = Vec::new();
    for table in tables {
        let with = diff.added.iter().find(|added| added.path == table.path);
        let own = with.map(|with| &with.served).or(table.served.as_ref());
        let Some(served) = own else { continue };
        let against = match (kind, with) {
            (_, Some(with)) => format!(" against {}", reference_name(&with.place, &table.place)),
            (Kind::Added, None) => ", no table to compare with".to_owned(),
            _ => String::new(),
        };
        compared.push((table, served));
        let shared = shared_parts(served.slices.iter().map(|slice| &slice.slice));
        for slice in served.slices.iter().filter(|slice| kind == Kind::Added || is_moved(slice)) {
            let text = slice_text(&slice.slice, &shared);
            let mut row = row(table, &slice.slice, text, cells(slice));
            let latency = slice.latency.filter(|latency| !latency.is_unchanged());
            row.moved = latency.map(|latency| format!("{}{against}", times(latency.ratio)));
            row.place += &against;
            rows.push((slice, row));
        }
    }
    rows.sort_by_cached_key(|(slice, _)| slice_rank(slice));
    let mut rows: Vec<KindRow> = rows.into_iter().map(|(_, row)| row).collect();
    if kind == Kind::Appended && tables.len() > ALIKE {
        rows = by_place(tables, |tables| {
            let slices = tables.iter().flat_map(|t| &t.served).flat_map(|s| &s.slices);
            cells(&SliceDiff::sum(slices))
        });
    }
    let title = match kind {
        Kind::Added if diff.added.is_empty() => "Added",
        Kind::Added => "Added: each key's latency / that of the nearest table",
        Kind::Appended => "Rows added",
        _ => "Measured again: each key's latency after / before",
    };
    let heads = "median of ratios,\nmedians in ms|90 %\nof ratios|common keys,\n−\u{a0}gone\u{a0}+\u{a0}new|beyond\nreruns";
    let mut notes = new_keys(&compared);
    notes.extend(rows.iter().any(|row| row.moved.is_some()).then(|| LEGEND.to_owned()));
    KindTable { kind: Some(kind), title, notes, heads, rows }
}

/// Returns lines such as `12 new keys of gemm: m 1, 2`. Tables with equal new values share a line.
fn new_keys(tables: &[(&TableDiff, &ServedDiff)]) -> Vec<String> {
    let mut notes: BTreeMap<String, (u64, BTreeSet<String>)> = BTreeMap::new();
    for (table, served) in tables.iter().filter(|(_, served)| !served.rows.new.values.is_empty()) {
        let (keys, names) = notes.entry(new_values(&served.rows.new)).or_default();
        *keys += served.gained;
        names.insert(short(&table.table));
    }
    let mut notes: Vec<_> = notes.into_iter().collect();
    notes.sort_by_key(|(_, (keys, _))| Reverse(*keys));
    let line = |(values, (keys, tables)): (String, (u64, BTreeSet<String>))| {
        let tables = names(tables.iter().map(String::as_str));
        format!("{} of {tables}: {values}", plural(keys as usize, "new key"))
    };
    notes.into_iter().take(NOTES).map(line).collect()
}

/// Formats the values of new keys, such as `m 1, 2`, or `hidden_size × topk: 4096 × 8` for combined key parts.
fn new_values(new: &NewKeys) -> String {
    let shown = |values: &[f64], between: &str| {
        values.iter().map(|v| Figure(*v).to_string()).collect::<Vec<_>>().join(between)
    };
    let are_shapes = new.combined.len() > 1 && !new.combinations.is_empty();
    let others = new.values.iter().filter(|(name, _)| !are_shapes || !new.combined.contains(name));
    let mut parts: Vec<String> = others
        .map(|(name, values)| match &values[..] {
            [low, .., high] if values.len() > VALUES => format!("{name} {low} … {high}"),
            few => format!("{name} {}", shown(few, ", ")),
        })
        .collect();
    if are_shapes {
        let shapes: Vec<_> = new.combinations.iter().map(|s| shown(s, " × ")).collect();
        parts.insert(0, format!("{}: {}", new.combined.join(" × "), shapes.join(", ")));
    }
    parts.join("; ")
}

/// Returns true if the slice lost or gained a key, or one of its latencies changed.
fn is_moved(slice: &SliceDiff) -> bool {
    slice.lost + slice.gained > 0 || slice.latency.is_some_and(|latency| !latency.is_unchanged())
}

/// Formats a ratio with two decimals; a ratio below 0.1 has three significant digits.
pub(in crate::report) fn times(ratio: f64) -> String {
    let digits = if ratio < 0.1 { significant(ratio) } else { format!("{:.2}", Figure(ratio)) };
    format!("×\u{a0}{digits}")
}

/// Returns a slice's cells in the summary table. Keys with a latency of 0 have no ratio and are counted separately.
fn cells(slice: &SliceDiff) -> Vec<String> {
    let mut keys = match (slice.latency.map_or(0, |latency| latency.keys), slice.zeros) {
        (_, 0) => nonzero(slice.common),
        (keys, zeros) => format!("{keys}\u{a0}({}\u{a0}are\u{a0}0)", count(zeros as usize)),
    };
    for (sign, n) in [('−', slice.lost), ('+', slice.gained)] {
        if n > 0 {
            keys += &format!("\u{a0}{sign}{}", nonzero(n));
        }
    }
    let keys = keys.trim_start().to_owned();
    let Some(latency) = slice.latency.filter(|latency| !latency.is_unchanged()) else {
        let same = if slice.common > 0 { "same" } else { "" };
        return vec![same.to_owned(), String::new(), keys, String::new()];
    };
    let [low, high] = [latency.low, latency.high].map(Figure);
    let medians = [latency.before, latency.after].map(significant).join("\u{a0}→\u{a0}");
    vec![
        format!("{},\u{a0}{medians}", times(latency.ratio)),
        format!("{low:.2}\u{a0}…\u{a0}{high:.2}"),
        keys,
        count(latency.beyond_noise as usize),
    ]
}

/// Names a table's reference by its system and version. A system or version that equals the table's is left out.
fn reference_name(other: &Place, own: &Place) -> String {
    let parts = [(&other.system, &own.system), (&other.version, &own.version)];
    let differ = parts.into_iter().filter(|(other, own)| other != own);
    differ.map(|(other, _)| other.as_str()).collect::<Vec<_>>().join(" ")
}

/// Creates one summary row per system, backend and version, which sums up all tables of this version.
fn by_place(tables: &[&TableDiff], cells: impl Fn(&[&TableDiff]) -> Vec<String>) -> Vec<KindRow> {
    let places = grouped(tables.iter().map(|t| (place_text(&t.place), *t)));
    let of_place = |(place, tables): (String, Vec<&TableDiff>)| KindRow {
        place: format!("{place} ({})", plural(tables.len(), "table")),
        cells: cells(&tables),
        ..KindRow::default()
    };
    places.into_iter().map(of_place).collect()
}

/// Creates the summary of corrected keys. Each version has a row with its most frequent correction, such as `m 1 → 2`.
fn rekeyed(tables: &[&TableDiff]) -> KindTable {
    let cells = |tables: &[&TableDiff]| {
        let served = || tables.iter().filter_map(|table| table.served.as_ref());
        let mut values: BTreeMap<[&str; 3], u64> = BTreeMap::new();
        for change in served().flat_map(|served| &served.rows.rekeyed_values) {
            let (was, is) = (change.before.first(), change.after.first());
            let [was, is] = [was, is].map(|value| value.map_or("", String::as_str));
            *values.entry([change.column.as_str(), was, is]).or_default() += change.keys;
        }
        let most = values.iter().max_by_key(|(_, keys)| **keys);
        let more = if values.len() > 1 { ", …" } else { "" };
        let most =
            most.map(|([column, was, is], _)| format!("{column} {was}\u{a0}→\u{a0}{is}{more}"));
        vec![most.unwrap_or_default(), nonzero(served().map(|served| served.rekeyed).sum())]
    };
    let (kind, rows) = (Some(Kind::Rekeyed), by_place(tables, cells));
    let title = "Rekeyed: the measurements stay under corrected keys";
    KindTable { kind, title, heads: "column|keys", rows, ..KindTable::default() }
}

/// Lists the columns in which empty cells were filled. Columns that still have the most empty cells come first.
fn filled(tables: &[&TableDiff]) -> KindTable {
    let mut rows = Vec::new();
    for table in tables {
        let columns: Vec<&FilledColumn> = filled_columns(table).collect();
        for column in &columns {
            let FilledColumn { column: name, before, after, empty, quantiles } = column;
            let all = count(table.head_rows.unwrap_or(0) as usize);
            let [low, median, high] = quantiles.map(significant);
            let unit = measured_unit(name).map_or("", |unit| unit.name());
            let measured = format!("{median}\u{a0}{unit}\u{a0}({low}\u{a0}…\u{a0}{high})");
            let cells = vec![
                format!("{}\u{a0}of\u{a0}{all}", count(*after as usize)),
                nonzero(*empty),
                if *after > 0 { measured } else { String::new() },
                nonzero(*before),
            ];
            let slice = if columns.len() > 1 { name.clone() } else { String::new() };
            rows.push((Reverse((*empty, *after)), row(table, &SliceName::new(), slice, cells)));
        }
    }
    rows.sort_by_key(|(rank, _)| *rank);
    KindTable {
        kind: Some(Kind::Overlay),
        title: "Filled: measurements beside the latency",
        heads: "rows measured|empty|median\n(90 % of rows)|measured\nbefore",
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        ..KindTable::default()
    }
}

/// Returns the changed columns with measurements, such as `power`, but not columns with limits, such as `power_limit`.
pub(in crate::report) fn filled_columns(table: &TableDiff) -> impl Iterator<Item = &FilledColumn> {
    let columns = table.served.iter().flat_map(|served| &served.rows.filled);
    let is_changed = |name: &String| table.columns_changed.contains(name);
    columns.filter(move |c| !c.column.ends_with("_limit") && is_changed(&c.column))
}

/// Lists the tables that lost keys: the slices of the lost keys, and how the planner answers queries for lost keys.
fn unserved(all: &[Unserved]) -> KindTable {
    let of_table = |unserved: &Unserved| {
        let Unserved { place, table, slices, .. } = unserved;
        let shared = shared_parts(slices.keys());
        let texts = slices.keys().map(|slice| slice_text(slice, &shared));
        let slice = match slices.len() {
            0..=SLICES => texts.collect::<Vec<_>>().join(", "),
            many => plural(many, "slice"),
        };
        let removed: u64 = slices.values().map(|lost| lost.removed).sum();
        let lost = format!("{}\u{a0}of\u{a0}{}", nonzero(unserved.keys()), nonzero(removed));
        let cells = vec![lost, planner_answer(unserved)];
        let place = [&*place.system, &*place.backend].join(" ");
        KindRow { place, table: short(table), slice, cells, ..KindRow::default() }
    };
    let mut all: Vec<&Unserved> = all.iter().collect();
    all.sort_by_key(|unserved| Reverse(unserved.keys()));
    KindTable {
        title: "Lost: keys that no query reaches any more",
        heads: "lost of\nremoved keys|what answers instead",
        rows: all.into_iter().map(of_table).collect(),
        ..KindTable::default()
    }
}

/// Describes the answer of the planner to a query for a lost key.
fn planner_answer(unserved: &Unserved) -> String {
    let Some(version) = &unserved.best_version else { return "nothing".to_owned() };
    let inner: u64 = unserved.slices.values().map(|lost| lost.interpolated).sum();
    let wrong: u64 = unserved.slices.values().map(|lost| lost.wrongly_interpolated).sum();
    let (shapes, sweeps) = (unserved.shapes() as usize, unserved.shorter_sweeps() as usize);
    let apart: u64 = unserved.slices.values().map(|lost| lost.inner - lost.interpolated).sum();
    let sweeps_end = plural_verb(sweeps, "sweep", ["ends", "end"]);
    let of = |some_of: u64| match some_of {
        all if all == unserved.keys() => String::new(),
        few => format!(" of {}", nonzero(few)),
    };
    let beyond =
        if wrong > 0 { format!(", {} beyond reruns", nonzero(wrong)) } else { String::new() };
    let parts = [
        (shapes > 0, format!("nothing for {}", plural(shapes, "shape"))),
        (sweeps > 0, format!("nothing, {sweeps_end} earlier in {version}")),
        (inner > 0, format!("interpolation{} in {version}{beyond}", of(inner))),
        (apart > 0, format!("neighbours{} in {version}", of(apart))),
    ];
    let parts = parts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words);
    parts.collect::<Vec<_>>().join("; ")
}
