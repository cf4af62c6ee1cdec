//! Turns the values of a document's field into columns that formulas read.

use super::frame::TraceCell;
use super::names::{number_after, number_before};
use super::spec::{Field, LISTED, TraceFieldType};

/// Returns true if a text is empty or means "unknown", such as `TBD` or `n/a`.
pub(super) fn is_blank(text: &str) -> bool {
    const BLANK: [&str; 11] =
        ["", "tbd", "todo", "n/a", "na", "none", "null", "nil", "unknown", "?", "-"];
    BLANK.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Returns the columns that a field's values fill, as pairs of name and cell.
pub(super) fn columns(field: &Field, cells: Vec<TraceCell>) -> Vec<(String, TraceCell)> {
    let mut columns = Vec::new();
    let first = cells.first().cloned().unwrap_or_default();
    if let Some(text) = first.text() {
        let number = |n: Option<f64>| n.map_or(TraceCell::Null, TraceCell::Number);
        let after = field.number_after.iter();
        columns.extend(after.map(|(p, name)| (name.clone(), number(number_after(text, p)))));
        let before = field.number_before.iter();
        columns.extend(before.map(|(w, name)| (name.clone(), number(number_before(text, w)))));
    }
    let Some(name) = &field.column else { return columns };
    match field.kind {
        TraceFieldType::Numbers => {
            let at = |i: usize| cells.get(i).cloned().unwrap_or_default();
            columns.extend((0..LISTED).map(|i| (format!("{name}_{}", i + 1), at(i))));
        }
        TraceFieldType::Texts => {
            let all: Vec<&str> = cells.iter().filter_map(TraceCell::text).collect();
            let cell = if all.is_empty() {
                TraceCell::Null
            } else {
                TraceCell::Text(all.join(" ").into())
            };
            columns.push((name.clone(), cell));
        }
        // A list of several sizes has no single value that a formula could read.
        TraceFieldType::Ints if cells.len() > 1 => columns.push((name.clone(), TraceCell::Null)),
        _ => columns.push((name.clone(), first)),
    }
    columns
}
