//! Names of series and slices, in as few words as tell them apart.

use serde_json::Value;

use crate::database::table::{Column, Keys, Table};

/// Characters that fit beside a line.
const ROOM: usize = 22;

/// Names of the series in a chart.
pub(super) struct SeriesNames {
    /// One per series: `n=512 k=128`, or `512, 128` where that is too long.
    pub of_each: Vec<String>,
    /// The columns of these values, where the names do not hold them.
    pub columns: Option<String>,
}

impl SeriesNames {
    /// Names each series, given by its rows, by the columns in which they differ; a series alone by
    /// its numbers.
    pub fn new(keys: &Keys<'_>, series: &[Vec<usize>]) -> Self {
        let shown: Vec<Vec<(String, Value)>> =
            series.iter().map(|rows| keys.show(rows[0])).collect();
        let parts: Vec<usize> = match &shown[..] {
            [] => Vec::new(),
            [alone] => (0..alone.len()).filter(|i| alone[*i].1.is_number()).collect(),
            [first, rest @ ..] => (0..first.len())
                .filter(|i| rest.iter().any(|other| other[*i].1 != first[*i].1))
                .collect(),
        };
        let full: Vec<String> =
            shown.iter().map(|key| joined(parts.iter().map(|i| pair(&key[*i])), " ")).collect();
        if full.iter().all(|name| name.chars().count() <= ROOM) {
            return Self { of_each: full, columns: None };
        }
        let values =
            |key: &Vec<(String, Value)>| joined(parts.iter().map(|i| text(&key[*i].1)), ", ");
        Self {
            of_each: shown.iter().map(values).collect(),
            columns: shown.first().map(|key| joined(parts.iter().map(|i| key[*i].0.clone()), ", ")),
        }
    }
}

/// The slice that a chart shows, without the columns that hold one text in the whole table.
pub(super) fn slice_words(slice: &[(String, Value)], table: &Table) -> String {
    joined(slice.iter().filter(|(column, _)| !is_constant(table, column)).map(pair), " ")
}

fn is_constant(table: &Table, column: &str) -> bool {
    matches!(table.column(column), Some(Column::Text { dict, .. }) if dict.len() == 1)
}

fn pair((column, value): &(String, Value)) -> String {
    format!("{column}={}", text(value))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}
