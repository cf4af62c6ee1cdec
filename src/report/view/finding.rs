//! A finding and its example rows, escaped for every format.

use serde::Serialize;
use serde_json::Value;

use crate::base::escape::clean;
use crate::base::words::count;
use crate::findings::{ComparedStates, Example, Finding, Novelty};

/// A finding. The texts are escaped.
#[derive(Serialize)]
pub(crate) struct FindingView<'a> {
    /// The finding with unescaped texts, for outputs that have their own escapes, such as JSON and URIs.
    #[serde(skip)]
    pub raw: &'a Finding,
    /// The name of the severity.
    pub severity: &'static str,
    /// The severity as a number for sorting; 0 is the worst.
    pub rank: u8,
    /// The finding's status: `waived`; `new`; `known` if the base or the baseline also has the finding; `moved` if the
    /// base has it on the table's old path; `open` if nothing was compared.
    pub state: &'static str,
    /// The rule's id.
    pub rule: String,
    /// The path of the file or directory concerned.
    pub path: String,
    /// The part of the path below `systems/data/`.
    pub short_path: String,
    /// The table's name; empty if no table is concerned.
    pub table: String,
    /// The table's system; empty if no table is concerned.
    pub system: String,
    pub backend: String,
    pub version: String,
    /// The number of rows that the finding is about.
    pub count: u64,
    /// The number of rows formatted for people; empty for 0.
    pub rows: String,
    /// The message of the finding.
    pub message: String,
    /// A sentence such as `its table moves STEP by 12 %`, about the predicted step that the finding's table changes
    /// most; `None` if the change is too small to mention or if nothing was predicted.
    pub moves: Option<String>,
    /// The waiver that applies to the finding; `None` if the finding is not waived.
    pub waived_by: Option<String>,
    /// The hash by which the same problem is recognised in other runs.
    pub fingerprint: String,
    /// The slice of the table that the finding is about, as pairs of column name and value.
    pub slice: Vec<(String, String)>,
    /// The slice on one line: `dtype=fp8 k=128`.
    pub slice_line: String,
    /// The evidence behind the message, as pairs of name and value.
    pub evidence: Vec<(String, String)>,
    /// The example rows.
    pub examples: ExamplesView,
    /// The command that reproduces the finding.
    pub command: String,
    /// The command that draws a chart of the finding's table; `None` if the finding is not about a table.
    pub explore: Option<String>,
}

/// Example rows as lines and as a table. The texts are escaped.
#[derive(Serialize, Default)]
pub(crate) struct ExamplesView {
    /// The number of examples.
    pub count: usize,
    /// One line per example. The line contains the example's row number (its line number in a text file), its key and
    /// its values.
    pub lines: Vec<String>,
    /// The names of the example table's columns: first those of keys, then those of values.
    pub columns: Vec<String>,
    /// The cells of the example table, one list per example. The first cell is the example's row number, or its line
    /// number in a text file.
    pub rows: Vec<Vec<String>>,
}

impl<'a> FindingView<'a> {
    /// Returns the message, followed by the finding's effect on predictions.
    pub(crate) fn sentence(&self) -> String {
        match &self.moves {
            Some(moves) => format!("{}; {moves}", self.message),
            None => self.message.clone(),
        }
    }

    /// Builds the view of a finding and escapes its texts. The view contains commands that reproduce and plot the
    /// finding on the commits in `states`. If `is_compared` is true, the plot also shows the base.
    pub(crate) fn new(finding: &'a Finding, states: &ComparedStates, is_compared: bool) -> Self {
        let place = finding.place.as_ref();
        let named = |(name, value): (&String, &Value)| (clean(name), clean(&plain(value)));
        let slice: Vec<String> =
            finding.slice.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
        Self {
            raw: finding,
            severity: finding.severity.into_str(),
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
            moves: finding.evidence.models.as_ref().and_then(|m| m.moves.as_deref()).map(clean),
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

/// Returns the finding's status: `waived`, `known`, `moved`, `new` or `open`. Only `new` and `open` findings can fail
/// the run.
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
    /// Builds the view of example rows and escapes their texts.
    pub(crate) fn new(examples: &[Example]) -> Self {
        let columns = columns(examples);
        Self {
            count: examples.len(),
            lines: examples.iter().map(|e| clean(&line(e))).collect(),
            rows: examples.iter().map(|e| cells(e, &columns)).collect(),
            columns: columns.iter().map(|(_, name)| clean(name)).collect(),
        }
    }
}

/// A column of the example table. The flag is true if the column is part of the key. The text is the column's name.
type ExampleColumn<'a> = (bool, &'a str);

/// Returns the columns of examples: keys first, then values, in order of appearance.
fn columns(examples: &[Example]) -> Vec<ExampleColumn<'_>> {
    let keys = examples.iter().flat_map(|e| &e.key).map(|(name, _)| (true, name.as_str()));
    let values = examples.iter().flat_map(|e| &e.values).map(|(name, _)| (false, name.as_str()));
    let mut columns = Vec::new();
    for column in keys.chain(values) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// Returns an example as a row of a table; missing values are empty.
fn cells(example: &Example, columns: &[ExampleColumn<'_>]) -> Vec<String> {
    let mut cells = vec![match example.line {
        Some(_) => place(example),
        None => example.row.to_string(),
    }];
    for (is_key, column) in columns {
        let pairs = if *is_key { &example.key } else { &example.values };
        let value = pairs.iter().find(|(name, _)| name == column);
        cells.push(value.map(|(_, value)| clean(&plain(value))).unwrap_or_default());
    }
    cells
}

/// Formats an example on one line: row or line number, key, and values.
fn line(example: &Example) -> String {
    // The place of the example already shows its line.
    let values = example.values.iter().filter(|(name, _)| example.line.is_none() || name != "line");
    let (key, values) = (pairs(&example.key), pairs(values));
    let arrow = if key.is_empty() || values.is_empty() { "" } else { " → " };
    format!("{}: {key}{arrow}{values}", place(example))
}

/// Returns the position of an example for people: the line if the table is a text file, otherwise the row.
fn place(example: &Example) -> String {
    match example.line {
        Some(line) => format!("line {line}"),
        None => format!("row {}", example.row),
    }
}

/// Returns the part of a path after `systems/data/`.
pub(crate) fn below_data(path: &str) -> &str {
    path.rsplit_once("systems/data/").map_or(path, |(_, below)| below)
}

/// Formats pairs of name and value on one line. The result is not yet escaped.
pub(crate) fn pairs<'a>(items: impl IntoIterator<Item = &'a (String, Value)>) -> String {
    let pairs: Vec<String> =
        items.into_iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
    pairs.join(" ")
}

/// Formats a JSON value without quotes and with at most six decimals. The result is not yet escaped.
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
    fn examples_with_different_columns_share_one_table() {
        let example = |row, key: &str| Example {
            row,
            line: None,
            key: vec![(key.into(), 1.into())],
            values: vec![("latency".into(), 0.5.into())],
        };
        let table = ExamplesView::new(&[example(7, "m"), example(9, "n")]);
        assert_eq!(table.columns, ["m", "n", "latency"]);
        assert_eq!(table.rows, [["7", "1", "", "0.5"], ["9", "", "1", "0.5"]]);
        assert_eq!(table.lines, ["row 7: m=1 → latency=0.5", "row 9: n=1 → latency=0.5"]);
    }
}
