//! A finding and its example rows, as every format shows them.

use serde::Serialize;
use serde_json::Value;

use crate::base::escape::clean;
use crate::base::words::count;
use crate::findings::{ComparedStates, Example, Finding, Novelty};
use crate::report::below_data;

/// A finding. Its texts are escaped.
#[derive(Serialize)]
pub struct FindingView<'a> {
    /// The finding itself, for numbers, for its order, and for formats that encode raw text by
    /// themselves: JSON and URIs.
    #[serde(skip)]
    pub raw: &'a Finding,
    /// How bad it is.
    pub severity: &'static str,
    /// For sorting: 0 is the worst.
    pub rank: u8,
    /// Whether it counts, and if not, why not.
    pub state: &'static str,
    /// Rule id.
    pub rule: String,
    /// File or directory concerned.
    pub path: String,
    /// The same below `systems/data/`.
    pub short_path: String,
    /// Table; empty where none is concerned.
    pub table: String,
    /// Its place; empty where there is none.
    pub system: String,
    pub backend: String,
    pub version: String,
    /// Rows concerned.
    pub count: u64,
    /// Rows concerned in words; empty where none are.
    pub rows: String,
    /// One sentence.
    pub message: String,
    /// Who waived it.
    pub waived_by: Option<String>,
    /// Names the same defect in the next run.
    pub fingerprint: String,
    /// The slice concerned, by column.
    pub slice: Vec<(String, String)>,
    /// The slice on one line: `dtype=fp8 k=128`.
    pub slice_line: String,
    /// Figures behind the sentence.
    pub evidence: Vec<(String, String)>,
    /// Rows that show it.
    pub examples: ExamplesView,
    /// The command that finds it again.
    pub command: String,
    /// The command that draws its table; none of a finding that is not on a table.
    pub explore: Option<String>,
}

/// Example rows, as lines and as a table. The texts are escaped.
#[derive(Serialize, Default)]
pub struct ExamplesView {
    /// How many there are.
    pub count: usize,
    /// One line per row: number, key, values.
    pub lines: Vec<String>,
    /// Names of the columns: those of keys first, in the order in which they come.
    pub columns: Vec<String>,
    /// One table row per example, the row's number first.
    pub rows: Vec<Vec<String>>,
}

impl<'a> FindingView<'a> {
    /// Escapes a finding.
    pub fn new(finding: &'a Finding, states: &ComparedStates, is_compared: bool) -> Self {
        let place = finding.place.as_ref();
        let named = |(name, value): (&String, &Value)| (clean(name), clean(&plain(value)));
        let slice: Vec<String> =
            finding.slice.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
        Self {
            raw: finding,
            severity: finding.severity.name(),
            rank: finding.severity as u8,
            state: state(finding),
            rule: clean(&finding.rule),
            path: clean(&finding.path),
            short_path: clean(below_data(&finding.path)),
            table: clean(finding.table.as_deref().unwrap_or_default()),
            system: clean(place.map_or("", |p| &p.system)),
            backend: clean(place.map_or("", |p| &p.backend)),
            version: clean(place.map_or("", |p| &p.version)),
            count: finding.rows,
            rows: if finding.rows == 0 { String::new() } else { count(finding.rows as usize) },
            message: clean(&finding.message),
            waived_by: finding.waived_by.as_deref().map(clean),
            fingerprint: finding.fingerprint(),
            slice: finding.slice.iter().map(named).collect(),
            slice_line: clean(&slice.join(" ")),
            evidence: finding.evidence.json().iter().map(named).collect(),
            examples: ExamplesView::new(&finding.examples),
            command: clean(&finding.command(states)),
            explore: finding.explore_command(states, is_compared).map(|command| clean(&command)),
        }
    }
}

/// Whether a finding counts, and if not, why not.
fn state(finding: &Finding) -> &'static str {
    match (&finding.waived_by, finding.novelty) {
        (Some(_), _) => "waived",
        (None, Novelty::Inherited) => "known",
        (None, Novelty::Moved) => "moved",
        (None, Novelty::New) => "new",
        (None, Novelty::Unjudged) => "open",
    }
}

impl ExamplesView {
    /// Escapes example rows.
    pub fn new(examples: &[Example]) -> Self {
        let columns = columns(examples);
        Self {
            count: examples.len(),
            lines: examples.iter().map(|e| clean(&line(e))).collect(),
            rows: examples.iter().map(|e| cells(e, &columns)).collect(),
            columns: columns.iter().map(|column| clean(column.name)).collect(),
        }
    }
}

/// A column of a table of examples.
#[derive(PartialEq)]
struct ExampleColumn<'a> {
    of_key: bool,
    name: &'a str,
}

/// The columns of examples: keys first, then values, each in the order in which they come.
fn columns(examples: &[Example]) -> Vec<ExampleColumn<'_>> {
    let keys = examples.iter().flat_map(|e| &e.key).map(|(name, _)| (true, name));
    let values = examples.iter().flat_map(|e| &e.values).map(|(name, _)| (false, name));
    let mut columns = Vec::new();
    for (of_key, name) in keys.chain(values) {
        let column = ExampleColumn { of_key, name };
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// An example as a row of a table with these columns; a value that it lacks is empty.
fn cells(example: &Example, columns: &[ExampleColumn<'_>]) -> Vec<String> {
    let mut cells = vec![example.row.to_string()];
    for column in columns {
        let pairs = if column.of_key { &example.key } else { &example.values };
        let value = pairs.iter().find(|(name, _)| name == column.name);
        cells.push(value.map(|(_, value)| clean(&plain(value))).unwrap_or_default());
    }
    cells
}

/// An example on one line: row, key, values.
fn line(example: &Example) -> String {
    let (key, values) = (pairs(&example.key), pairs(&example.values));
    let arrow = if key.is_empty() || values.is_empty() { "" } else { " → " };
    format!("row {}: {key}{arrow}{values}", example.row)
}

/// Names and values on one line, not yet escaped.
pub fn pairs<'a>(items: impl IntoIterator<Item = &'a (String, Value)>) -> String {
    let pairs: Vec<String> =
        items.into_iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
    pairs.join(" ")
}

/// A value without JSON's quotes, with six digits after the point, not yet escaped.
fn plain(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        Value::Number(n) if n.is_f64() => {
            let n = n.as_f64().unwrap_or(f64::NAN);
            format!("{}", (n * 1e6).round() / 1e6)
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_with_other_columns_share_a_table() {
        let example = |row, key: &str| Example {
            row,
            key: vec![(key.into(), 1.into())],
            values: vec![("latency".into(), 0.5.into())],
        };
        let table = ExamplesView::new(&[example(7, "m"), example(9, "n")]);
        assert_eq!(table.columns, ["m", "n", "latency"]);
        assert_eq!(table.rows, [["7", "1", "", "0.5"], ["9", "", "1", "0.5"]]);
        assert_eq!(table.lines, ["row 7: m=1 → latency=0.5", "row 9: n=1 → latency=0.5"]);
    }
}
