//! Findings in the form that the examples of rules use.

use std::collections::BTreeSet;

use perfdb_gate::checks::rule::{ExampleFinding, ExampleTree};
use perfdb_gate::findings::Finding;

/// Converts a finding to the form that a rule's example states: path, message and lines. Row 0 of a text table is line 2.
/// The lines are empty if the finding is on all rows of a table.
pub fn finding_of_example(example: &ExampleTree, finding: &Finding) -> ExampleFinding {
    let text = example.files.get(&finding.path);
    let is_table = text.is_some() && finding.table.is_some();
    // A finding on missing keys has example rows of other tables.
    let own = finding.examples.iter().filter(|e| e.values.iter().all(|(name, _)| name != "row of"));
    let rows: BTreeSet<usize> = match &finding.named_rows[..] {
        [] => own.map(|example| example.row as usize).collect(),
        named => named.iter().map(|row| *row as usize).collect(),
    };
    let lines = match finding.line() {
        Some(line) if text.is_some() && !is_table => vec![line as usize],
        _ if is_table => rows.into_iter().map(|row| row + 2).collect(),
        _ => Vec::new(),
    };
    // A finding on all rows of a table has no lines in the example.
    let all = text.map_or(0, |text| text.lines().count());
    let lines = if lines.len() + 1 == all && all > 3 { Vec::new() } else { lines };
    ExampleFinding { path: finding.path.clone(), message: finding.message.clone(), lines }
}
