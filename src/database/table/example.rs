//! Example rows in findings.

use serde_json::Value;

/// A row that illustrates a finding.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Example {
    /// The row number in the table, from 0.
    pub row: u64,
    /// The loader's key of the row, in the loader's order.
    pub key: Vec<(String, Value)>,
    /// The faulty or measured values of the row.
    pub values: Vec<(String, Value)>,
}

/// The maximal number of examples of a finding.
pub const EXAMPLES: usize = 5;
