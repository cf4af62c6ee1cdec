//! Rows that are shown to people.

use serde_json::Value;

/// A row that shows what is meant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Example {
    /// Row of the table, counted from 0.
    pub row: u64,
    /// The loader's key of the row, in the loader's order.
    pub key: Vec<(String, Value)>,
    /// What is wrong or measured there.
    pub values: Vec<(String, Value)>,
}

/// The most examples that are shown of anything.
pub const EXAMPLES: usize = 5;
