//! The finding of a rule's example, as the example shows it.

use std::collections::BTreeSet;

use perfdb_gate::checks::rule::{ExampleFinding, ExampleTree};
use perfdb_gate::findings::Finding;

/// A finding as its example shows it: rows of a text table are lines below the header.
pub fn finding_of_example(example: &ExampleTree, finding: &Finding) -> ExampleFinding {
    let text = example.files.get(&finding.path);
    let is_table = text.is_some() && finding.table.is_some();
    // A finding on what is missing shows rows of other tables.
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
    // Where every row is one of them, no row is.
    let all = text.map_or(0, |text| text.lines().count());
    let lines = if lines.len() + 1 == all && all > 3 { Vec::new() } else { lines };
    ExampleFinding { path: finding.path.clone(), message: finding.message.clone(), lines }
}
