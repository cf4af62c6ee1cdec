//! The value of a key part at one point.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::database::table::{number_json, text_json};
/// The value of one key part: null, a number or a text. Null sorts first, then numbers, then texts.
#[derive(Debug, Clone)]
pub enum Cell {
    /// A null value.
    Null,
    /// A numeric value.
    Number(f64),
    /// A name such as `fp8`, or a flag as the text `true` or `false`.
    Text(Arc<str>),
}

impl Cell {
    /// Returns the value for JSON reports.
    pub(crate) fn json(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Number(n) => number_json(*n),
            Self::Text(t) => text_json(t),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.json() {
            serde_json::Value::Null => f.write_str("null"),
            serde_json::Value::String(text) if text.is_empty() => f.write_str("''"),
            serde_json::Value::String(text) => f.write_str(&text),
            other => write!(f, "{other}"),
        }
    }
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) | (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (_, Self::Null) | (Self::Text(_), Self::Number(_)) => Ordering::Greater,
            (Self::Number(a), Self::Number(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
        }
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cell {}

#[cfg(test)]
mod tests {
    use super::Cell;

    #[test]
    fn cells_are_ordered_as_nulls_numbers_and_texts() {
        let mut cells = [
            Cell::Text("b".into()),
            Cell::Number(-0.0),
            Cell::Null,
            Cell::Number(2.5),
            Cell::Text("a".into()),
        ];
        cells.sort();
        let shown: Vec<String> = cells.iter().map(Cell::to_string).collect();
        assert_eq!(shown, ["null", "0", "2.5", "a", "b"]);
        assert_eq!(Cell::Number(0.0), Cell::Number(-0.0));
    }
}
