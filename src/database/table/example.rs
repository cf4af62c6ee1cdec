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

/// Name of the example value that lists the other rows with the example's key.
pub const OTHER_ROWS: &str = "dropped_rows";

/// Name of the example value that contains the name of a reference table. Only examples that are rows of a reference
/// table have this value.
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
