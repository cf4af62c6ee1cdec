//! Example rows in findings, and cells as JSON.

use serde_json::Value;

/// A row that illustrates a finding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Example {
    /// The row number in the table, from 0.
    pub row: u64,
    /// The line of the row in a text table, from 1; `None` for other tables.
    pub line: Option<u64>,
    /// The names and values of the row's key, in the loader's order.
    pub key: Vec<(String, Value)>,
    /// The row's values that the finding is about, by name, such as the measured latency.
    pub values: Vec<(String, Value)>,
}

/// Name of the entry in [`Example::values`] that lists other rows with the same key as the example row.
pub const OTHER_ROWS: &str = "dropped_rows";

/// Name of the entry in [`Example::values`] that marks the example as a row of a reference table. The entry's value is
/// the name of the reference table; other examples lack the entry.
pub const REFERENCE: &str = "row of";

/// The maximum number of examples of a finding.
pub const EXAMPLES: usize = 5;

/// Converts a text to JSON. A text of more than 200 characters is cut, since cells may contain megabytes.
pub fn text_json(text: &str) -> Value {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()).into(),
    }
}

/// Converts a number to JSON: integers without a point, NaN and infinities as texts.
pub fn number_json(value: f64) -> Value {
    if !value.is_finite() {
        value.to_string().into()
    } else if value.fract() == 0.0 && value.abs() < 9e15 {
        (value as i64).into()
    } else {
        value.into()
    }
}
