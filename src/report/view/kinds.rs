//! Describes each kind of change in one line: the tables, the extent and the largest change.

use std::collections::BTreeSet;

use serde::Serialize;

use super::finding::{below_data, pairs};
use crate::base::escape::clean;
use crate::base::stats::times_off;
use crate::base::words::{count, names, plural};
use crate::database::catalog::Place;
use crate::database::diff::{Diff, FAR, FarthestKey, ServedDiff, TableDiff, Totals};
use crate::report::change::{ByKind, Kind, KindTable, filled_columns, place_text};
use crate::report::change::{short, significant, times};
use crate::specs::measured_unit;

/// The minimum number of latency ratios that a table must have. Tables with fewer ratios are left out of the search for
/// the key whose latency changed most.
const FEW: usize = 10;

/// The maximum number of table names in a line of the report.
const NAMED: usize = 3;

/// A line of the report about the tables with the same kind of change. The text is escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct KindLine {
    pub label: &'static str,
    pub text: String,
}

/// Returns one line per kind of change, such as tables that were added. If no table changed but other files did,
/// returns a single line about these files.
pub(super) fn lines(diff: &Diff, kinds: &ByKind<'_>, tables: &[KindTable]) -> Vec<KindLine> {
    let line = |(kind, changed): (&Kind, &Vec<&TableDiff>)| {
        let is_known = changed.iter().any(|table| table.served.is_some());
        let (label, rest) = match kind {
            Kind::Remeasured | Kind::Appended if !is_known => ("Rows changed", rows(changed)),
            Kind::Remeasured => remeasured(changed, tables),
            Kind::Rekeyed => ("Rekeyed", rekeyed(changed)),
            Kind::Added => added(diff, changed, tables),
            Kind::Appended => ("Rows added", appended(changed)),
            Kind::Pruned => ("Pruned", pruned(diff, changed)),
            Kind::Overlay => ("Overlay", overlay(changed)),
            Kind::Moved => moved(changed),
            Kind::Unread => ("Not compared", "a side cannot be read".to_owned()),
        };
        let of = format!("{} of {}", tables_of(changed), places(changed));
        KindLine { label, text: clean(&format!("{of}; {rest}")) }
    };
    if kinds.is_empty() && !diff.files.is_empty() {
        return vec![KindLine { label: "No table changed", text: clean(&diff.headline()) }];
    }
    kinds.iter().map(line).collect()
}

/// Returns the number of tables as text, such as `3 tables`. If the tables have only a few different names, the names
/// follow in parentheses.
fn tables_of(tables: &[&TableDiff]) -> String {
    let short: BTreeSet<String> = tables.iter().map(|table| short(&table.table)).collect();
    let count = plural(tables.len(), "table");
    match short.len() {
        1..=NAMED => format!("{count} ({})", names(short.iter().map(String::as_str))),
        _ => count,
    }
}

/// Names the system, backend and version of the tables if all tables have the same ones. Otherwise, names the systems
/// and counts the versions.
fn places(tables: &[&TableDiff]) -> String {
    let places: BTreeSet<String> = tables.iter().map(|table| place_text(&table.place)).collect();
    let systems: BTreeSet<&str> = tables.iter().map(|table| &*table.place.system).collect();
    match places.first() {
        Some(only) if places.len() == 1 => only.clone(),
        _ => format!("{} ({})", names(systems.into_iter()), plural(places.len(), "version")),
    }
}

/// Counts the added, removed and changed rows of tables. Used if the loader's key is unknown, so that keys cannot be
/// counted.
fn rows(changed: &[&TableDiff]) -> String {
    let Totals { added, removed, changed, .. } = Totals::of(changed.iter().copied());
    let [added, removed, changed] = [added, removed, changed].map(|n| count(n as usize));
    format!("{added} rows added, {removed} removed, {changed} changed")
}

/// Returns the sum of `number` over the tables whose served keys were compared.
fn sum(tables: &[&TableDiff], number: impl Fn(&ServedDiff) -> u64) -> usize {
    let served = tables.iter().filter_map(|table| table.served.as_ref());
    served.map(number).sum::<u64>() as usize
}

fn remeasured(changed: &[&TableDiff], tables: &[KindTable]) -> (&'static str, String) {
    let served = || changed.iter().filter_map(|table| Some((*table, table.served.as_ref()?)));
    let keys = sum(changed, |served| served.common);
    if served().all(|(_, served)| served.same_latencies()) {
        let new = count(sum(changed, |served| served.gained));
        let gone = count(sum(changed, |served| served.lost));
        let text = format!("{} keys keep their latencies, {new} new, {gone} gone", count(keys));
        return ("Rows replaced", text);
    }
    let is_far = |ratio: &&f64| (**ratio - 1.0).abs() > FAR;
    let far = sum(changed, |served| served.ratios.iter().filter(is_far).count() as u64);
    let (far, keys) = (count(far), count(keys));
    let mut parts = vec![format!("{far} of {keys} keys moved by over {:.0} %", FAR * 100.0)];
    let without = sum(changed, |served| served.rows.without_ratio);
    if without > 0 {
        let keys = plural(without, "key");
        parts.push(format!("{keys} got or lost a latency that is not above zero"));
    }
    parts.extend(most(tables, Kind::Remeasured));
    parts.extend(farthest(served().map(|(table, served)| (&*table.table, served))));
    ("Measured again", parts.join("; "))
}

/// Describes the key whose latency changed by the largest factor, over all tables. Tables with few latency ratios are
/// left out.
fn farthest<'a>(tables: impl Iterator<Item = (&'a str, &'a ServedDiff)>) -> Option<String> {
    let many = tables.filter(|(_, served)| served.ratios.len() >= FEW);
    let keys = many.filter_map(|(table, served)| Some((table, served.rows.farthest.as_ref()?)));
    let moved = keys.filter(|(_, far)| times_off(far.ratio) > 1.0 + FAR);
    let far = moved.max_by(|a, b| times_off(a.1.ratio).total_cmp(&times_off(b.1.ratio)));
    far.map(|(table, FarthestKey { ratio, key })| {
        format!("farthest key: {} {} at {}", short(table), times(*ratio), pairs(key))
    })
}

/// Describes the slice whose median latency changed most. Only slices of tables with this `kind` of change are
/// considered.
fn most(tables: &[KindTable], kind: Kind) -> Option<String> {
    let table = tables.iter().find(|table| table.kind == Some(kind))?;
    let row = table.rows.first()?;
    let name = [&*row.table, &*row.slice].join(" ");
    let what = if kind == Kind::Added { "ratio" } else { "change" };
    Some(format!("largest median {what}: {} {}", name.trim(), row.moved.as_ref()?))
}

fn rekeyed(changed: &[&TableDiff]) -> String {
    let served = changed.iter().filter_map(|table| table.served.as_ref());
    let columns: BTreeSet<&str> =
        served.flat_map(|served| &served.rows.rekeyed_values).map(|c| &*c.column).collect();
    let keys = plural(sum(changed, |served| served.rekeyed), "key");
    format!("{} of {keys}, the measurements stay", names(columns.into_iter()))
}

fn added(diff: &Diff, changed: &[&TableDiff], tables: &[KindTable]) -> (&'static str, String) {
    let rows: u64 = changed.iter().filter_map(|table| table.head_rows).sum();
    let most = most(tables, Kind::Added).unwrap_or("no table to compare with".to_owned());
    let of = |path: &str| changed.iter().find(|table| table.path == path);
    let with = diff.added.iter().filter_map(|with| Some((&*of(&with.path)?.table, &with.served)));
    let far = farthest(with).map(|far| format!("; {far}")).unwrap_or_default();
    let text = format!("{}; {most}{far}", plural(rows as usize, "row"));
    let is_new = |table: &&TableDiff| diff.versions.selectable.contains(&place_text(&table.place));
    (if changed.iter().all(is_new) { "Added version" } else { "Added" }, text)
}

fn appended(changed: &[&TableDiff]) -> String {
    let is_same = changed.iter().filter_map(|t| t.served.as_ref()).all(ServedDiff::same_latencies);
    let before = count(sum(changed, |served| served.common));
    let rest = if is_same { "keep their latencies" } else { "do not all keep their latencies" };
    let new = plural(sum(changed, |served| served.gained), "new key");
    format!("{new}; the {before} existing keys {rest}")
}

fn pruned(diff: &Diff, changed: &[&TableDiff]) -> String {
    let rows: usize = changed.iter().filter_map(|t| t.rows.as_ref()).map(|r| r.removed.len()).sum();
    let (keys, _) = diff.unserved_counts();
    let most = diff.unserved.iter().max_by_key(|unserved| unserved.keys());
    let lost = most.map(|most| {
        let Place { system, backend, .. } = &most.place;
        let (lost, own) = (plural(keys as usize, "key"), count(most.keys() as usize));
        format!("{lost} lost ({own} of {system} {backend} {})", short(&most.table))
    });
    let none = "every removed key is impossible or served by another version";
    let lost = lost.as_deref().unwrap_or(none);
    format!("{} removed; {lost}", plural(rows, "row"))
}

fn overlay(changed: &[&TableDiff]) -> String {
    let columns: BTreeSet<&str> =
        changed.iter().flat_map(|table| &table.columns_changed).map(String::as_str).collect();
    let name = changed.iter().find_map(|table| filled_columns(table).next()).map(|c| &c.column);
    let filled = changed.iter().flat_map(|table| filled_columns(table));
    let filled: Vec<_> = filled.filter(|column| Some(&column.column) == name).collect();
    let mut medians: Vec<f64> = filled.iter().map(|column| column.quantiles[1]).collect();
    medians.retain(|median| *median > 0.0);
    medians.sort_unstable_by(f64::total_cmp);
    let mut text = names(columns.into_iter());
    if let ([low, ..], [.., high], Some(name)) = (&medians[..], &medians[..], name) {
        let unit = measured_unit(name).map_or("", |unit| unit.name());
        let [low, high] = [low, high].map(|median| significant(*median));
        text += &format!("; medians of {name} by table {low} … {high} {unit}");
    }
    let empty: u64 = filled.iter().map(|column| column.empty).sum();
    let measured: u64 = filled.iter().map(|column| column.after).sum();
    format!("{text}; {} rows measured, {} empty", count(measured as usize), count(empty as usize))
}

/// Describes tables in which no cell changed. If a table was moved, names its old and its new path.
fn moved(changed: &[&TableDiff]) -> (&'static str, String) {
    let from = changed.iter().find_map(|table| Some((table.old_path.as_ref()?, &table.path)));
    let Some((from, to)) = from else { return ("Written again", "no cell changed".to_owned()) };
    let more = if changed.len() > 1 { ", …" } else { "" };
    ("Moved", format!("no row changed: {} → {}{more}", below_data(from), below_data(to)))
}
