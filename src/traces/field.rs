//! Values of a field, and what formulas read of them.

use super::frame::TraceCell;
use super::names::{number_after, number_before};
use super::spec::{Field, FieldType, LISTED};

/// Texts that stand for what nobody measured or knew.
pub fn is_blank(text: &str) -> bool {
    const BLANK: [&str; 11] =
        ["", "tbd", "todo", "n/a", "na", "none", "null", "nil", "unknown", "?", "-"];
    BLANK.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// The columns of a field's values.
pub fn columns(field: &Field, cells: Vec<TraceCell>) -> Vec<(String, TraceCell)> {
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
        FieldType::Numbers => {
            let at = |i: usize| cells.get(i).cloned().unwrap_or_default();
            columns.extend((0..LISTED).map(|i| (format!("{name}_{}", i + 1), at(i))));
        }
        FieldType::Texts => {
            let all: Vec<&str> = cells.iter().filter_map(TraceCell::text).collect();
            let cell = if all.is_empty() {
                TraceCell::Null
            } else {
                TraceCell::Text(all.join(" ").into())
            };
            columns.push((name.clone(), cell));
        }
        // Of a list of sizes, none is the size.
        FieldType::Ints if cells.len() > 1 => columns.push((name.clone(), TraceCell::Null)),
        _ => columns.push((name.clone(), first)),
    }
    columns
}
