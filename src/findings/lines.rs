//! Adds line numbers to the example rows of text tables, so that an editor can open them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Finding;
use crate::database::catalog::{Format, TableFile};
use crate::database::state::State;
use crate::database::table::{OTHER_ROWS, REFERENCE, Table};

/// The example value [`OTHER_ROWS`] after its row numbers were replaced by line numbers.
const OTHER_LINES: &str = "dropped_lines";

/// Adds the line number of each example row in a text table. Tables are dropped after they were judged, so those with
/// findings are read again.
pub(crate) fn number_lines(findings: &mut [Finding], state: State<'_>) {
    let texts = state.catalog.tables.iter().filter(|file| file.format == Format::Csv);
    let texts: BTreeMap<&str, &TableFile> =
        texts.map(|file| (file.entry.path.as_str(), file)).collect();
    let mut of_file: BTreeMap<&str, Vec<&mut Finding>> = BTreeMap::new();
    for finding in findings.iter_mut().filter(|finding| !finding.examples.is_empty()) {
        if let Some((path, _)) = texts.get_key_value(finding.path.as_str()) {
            of_file.entry(path).or_default().push(finding);
        }
    }
    for (path, findings) in of_file {
        let Ok(table) = state.table(texts[path]) else { continue };
        findings.into_iter().for_each(|finding| number(finding, &table));
    }
}

fn number(finding: &mut Finding, table: &Table) {
    for example in &mut finding.examples {
        if example.values.iter().any(|(name, _)| name == REFERENCE) {
            continue;
        }
        let line = |row: u64| table.lines.line(row as usize);
        example.line = example.line.or_else(|| line(example.row));
        for (name, value) in example.values.iter_mut().filter(|(name, _)| name == OTHER_ROWS) {
            let rows = value.as_array().into_iter().flatten();
            let lines: Vec<Value> = rows.map(|row| row.as_u64().and_then(line).into()).collect();
            (*name, *value) = (OTHER_LINES.to_owned(), lines.into());
        }
    }
}
