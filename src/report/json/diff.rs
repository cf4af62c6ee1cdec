//! The JSON of the differences between two states.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::database::diff::{AttributeChange, Diff, FileDiff, ServedDiff, SliceDiff, TableDiff};

#[derive(Serialize, JsonSchema)]
pub(super) struct JsonTable<'a> {
    path: &'a str,
    old_path: Option<&'a str>,
    status: &'static str,
    base_rows: Option<u64>,
    head_rows: Option<u64>,
    added: Option<usize>,
    removed: Option<usize>,
    changed: Option<usize>,
    median_ratio: Option<f64>,
    /// The class of the table's change, such as `append-only`; null if the table cannot be read before or after the
    /// change.
    class: Option<&'static str>,
    columns_changed: &'a [String],
    served: Option<JsonServed<'a>>,
}

/// The numbers of served keys before and after a change, and the ratios of their latencies.
#[derive(Serialize, JsonSchema)]
struct JsonServed<'a> {
    common: u64,
    lost: u64,
    gained: u64,
    /// The number of keys that the change replaced by another key with the same measurements. These keys are neither
    /// lost nor gained.
    rekeyed: u64,
    median_ratio: Option<f64>,
    slower_2x: u64,
    faster_2x: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<JsonAttribute<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slices: Vec<JsonSlice<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct JsonAttribute<'a> {
    column: &'a str,
    before: &'a [String],
    after: &'a [String],
    keys: u64,
}

#[derive(Serialize, JsonSchema)]
struct JsonSlice<'a> {
    slice: BTreeMap<&'a str, &'a str>,
    common: u64,
    lost: u64,
    gained: u64,
    median_ratio: Option<f64>,
}

/// The change of all tables together: its class, such as `append-only`, its served keys and its versions.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonChange<'a> {
    class: &'static str,
    columns_changed: Vec<&'a str>,
    attributes_changed: Vec<&'a str>,
    served: JsonServed<'a>,
    /// The numbers of removed keys and shapes that no version serves after the change.
    unserved: JsonUnserved,
    /// Two lists of versions: those that a query can select only after the change, and those that the loader no longer
    /// reads after the change.
    versions: JsonVersions<'a>,
}

#[derive(Serialize, JsonSchema)]
struct JsonVersions<'a> {
    selectable: &'a [String],
    hidden: &'a [String],
}

#[derive(Serialize, JsonSchema)]
struct JsonUnserved {
    keys: u64,
    /// The number of shapes that no version serves. A shape is a key without the axes along which the planner
    /// interpolates.
    shapes: u64,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct JsonFile<'a> {
    path: &'a str,
    status: &'static str,
}

pub(super) fn table(table: &TableDiff) -> JsonTable<'_> {
    let rows = table.rows.as_ref();
    JsonTable {
        path: &table.path,
        old_path: table.old_path.as_deref(),
        status: table.status.into_str(),
        base_rows: table.base_rows,
        head_rows: table.head_rows,
        added: rows.map(|r| r.added.len()),
        removed: rows.map(|r| r.removed.len()),
        changed: rows.map(|r| r.changed.len()),
        median_ratio: table.ratios.as_ref().map(|r| r.median),
        class: table.class.map(|class| class.into_str()),
        columns_changed: &table.columns_changed,
        served: table.served.as_ref().map(served),
    }
}

fn served(served: &ServedDiff) -> JsonServed<'_> {
    JsonServed {
        attributes: served.attributes.iter().map(attribute).collect(),
        slices: served.differing_slices().map(slice).collect(),
        ..counts(served)
    }
}

/// Returns the numbers of served keys for the JSON report. The lists `attributes` and `slices` remain empty.
fn counts<'a>(served: &ServedDiff) -> JsonServed<'a> {
    JsonServed {
        common: served.common,
        lost: served.lost,
        gained: served.gained,
        rekeyed: served.rekeyed,
        median_ratio: served.median_ratio(),
        slower_2x: served.slower_2x(),
        faster_2x: served.faster_2x(),
        attributes: Vec::new(),
        slices: Vec::new(),
    }
}

fn attribute(change: &AttributeChange) -> JsonAttribute<'_> {
    JsonAttribute {
        column: &change.column,
        before: &change.before,
        after: &change.after,
        keys: change.keys,
    }
}

fn slice(diff: &SliceDiff) -> JsonSlice<'_> {
    JsonSlice {
        slice: diff.slice.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        common: diff.common,
        lost: diff.lost,
        gained: diff.gained,
        median_ratio: diff.latency.map(|latency| latency.ratio),
    }
}

pub(super) fn change(diff: &Diff) -> JsonChange<'_> {
    let (keys, shapes) = diff.unserved_counts();
    JsonChange {
        class: diff.class().into_str(),
        columns_changed: diff.columns_changed().into_iter().collect(),
        attributes_changed: diff.attributes_changed().into_iter().collect(),
        served: counts(&diff.served()),
        unserved: JsonUnserved { keys, shapes },
        versions: JsonVersions {
            selectable: &diff.versions.selectable,
            hidden: &diff.versions.hidden,
        },
    }
}

pub(super) fn file(file: &FileDiff) -> JsonFile<'_> {
    JsonFile { path: &file.path, status: file.status.into_str() }
}
