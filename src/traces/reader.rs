//! Reads metric files into rows: CSV, and JSON with one row or a list of rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::names::is_blank;
use super::{MetricSpec, TraceCell, TraceFieldType};
use crate::base::error::Reason;
use crate::database::catalog::Format;
use crate::database::table::{Column, Table, TableFault};

/// The maximum number of cells (rows times columns) of a metric file; the largest known file has 20,000.
const MOST_CELLS: usize = 1_000_000;

/// The contents of a metric file.
#[derive(Debug, Default)]
pub(crate) struct MetricRows {
    pub rows: usize,
    pub cells: BTreeMap<String, Vec<TraceCell>>,
    /// Texts found in columns of numbers, as column name, index of the row, and text.
    pub texts: Vec<(String, usize, String)>,
    /// The columns whose cells are lists of numbers, by column name, with one list per row.
    pub lists: BTreeMap<String, Vec<Vec<f64>>>,
    /// The damaged rows, as line number and problem.
    pub torn: Vec<(u64, String)>,
    /// The line number of each row; `None` if unknown.
    pub lines: Vec<Option<u64>>,
    /// The unit and label that the file states for a metric, by the metric's name.
    pub units: BTreeMap<String, (String, String)>,
}

impl MetricRows {
    fn push(&mut self, name: &str, row: usize, cell: TraceCell) {
        let rows = self.rows;
        let column =
            self.cells.entry(name.to_owned()).or_insert_with(|| vec![TraceCell::Null; rows]);
        if let Some(slot) = column.get_mut(row) {
            *slot = cell;
        }
    }
}

/// Refuses a file whose rows and columns would need too many cells. JSON rows with different columns need especially
/// many, since every row gets a cell in every column.
fn guard(rows: usize, columns: usize) -> Result<(), Reason> {
    if rows.saturating_mul(columns) > MOST_CELLS {
        return Err(format!(
            "the file has {rows} rows of {columns} columns, more than such a file can have"
        )
        .into());
    }
    Ok(())
}

/// Reads a metric file.
pub(crate) fn read(name: &str, text: &str, spec: &MetricSpec) -> Result<MetricRows, Reason> {
    if text.trim().is_empty() {
        return Err("the file is empty".into());
    }
    if name.ends_with(".json") { json(text, spec) } else { csv(text, spec) }
}

/// Describes the reason why a metric file has no readable rows.
fn unreadable(fault: TableFault) -> Reason {
    match fault {
        TableFault::Unreadable(why) => why.into(),
        TableFault::Missing => "its object is not in this clone".into(),
        TableFault::LfsPointer(_) | TableFault::InLfs => {
            "this is a git-LFS pointer: `git lfs pull` fetches the file".into()
        }
        TableFault::Torn(torn) => match torn.first.first() {
            Some((line, why)) => format!("every row is damaged; line {line}: {why}").into(),
            None => "every row is damaged".into(),
        },
        TableFault::Empty => "the file has a header but no rows".into(),
    }
}

fn csv(text: &str, spec: &MetricSpec) -> Result<MetricRows, Reason> {
    // The table reader takes a last line without an end for an aborted write. Metric files are
    // written at once, so their last line is complete.
    let whole = format!("{}\n", text.trim_end_matches(['\n', '\r']));
    let is_text =
        |name: &str| spec.columns.get(name).is_some_and(|c| c.kind == TraceFieldType::Text);
    let table = Table::decode(whole.as_bytes(), Format::Csv, &is_text).map_err(unreadable)?;
    guard(table.rows, table.columns().count())?;
    let mut rows = MetricRows {
        rows: table.rows,
        torn: table.torn.first.clone(),
        lines: lines(&whole, &table),
        ..MetricRows::default()
    };
    for (name, column) in table.columns() {
        for row in 0..table.rows {
            let cell = match column {
                _ if column.is_null(row) => TraceCell::Null,
                Column::Text { codes, dict, .. } => {
                    scalar(&mut rows, name, row, &dict[codes[row] as usize], is_text(name))
                }
                _ => TraceCell::Number(column.number(row)),
            };
            rows.push(name, row, cell);
        }
    }
    Ok(rows)
}

/// Reads a text cell. In a column of text, the cell remains text; otherwise, it is parsed as a number. A text that is
/// not a number is added to `rows.texts`.
fn scalar(
    rows: &mut MetricRows,
    name: &str,
    row: usize,
    text: &Arc<str>,
    is_text: bool,
) -> TraceCell {
    if is_text {
        return TraceCell::Text(text.clone());
    }
    if let Ok(number) = text.parse::<f64>() {
        return TraceCell::Number(number);
    }
    rows.texts.push((name.to_owned(), row, text.to_string()));
    TraceCell::Null
}

/// Returns the line number of each row in a CSV file. Blank and damaged lines are not rows. If a row spans several
/// lines, all line numbers are `None`.
fn lines(text: &str, table: &Table) -> Vec<Option<u64>> {
    let torn: Vec<u64> = table.torn.first.iter().map(|(line, _)| *line).collect();
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()).skip(1);
    let lines = lines.map(|(i, _)| i as u64 + 1).filter(|line| !torn.contains(line));
    let lines: Vec<Option<u64>> = lines.map(Some).collect();
    if lines.len() == table.rows { lines } else { vec![None; table.rows] }
}

fn json(text: &str, spec: &MetricSpec) -> Result<MetricRows, Reason> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Json = serde_json::from_str(text).map_err(|e| {
        let word = ["NaN", "Infinity"].iter().find(|w| text.contains(**w));
        let word = word.map_or(String::new(), |w| {
            format!(" ({w} is not valid JSON: write null for unmeasured values)")
        });
        format!("the file is not JSON: {e}{word}")
    })?;
    let mut rows = MetricRows::default();
    let list = match &spec.rows {
        None => std::slice::from_ref(&file),
        Some(name) => match file.get(name) {
            Some(Json::Array(items)) => &items[..],
            _ => return Err(format!("the file has no list `{name}`").into()),
        },
    };
    if list.iter().any(|row| !row.is_object()) {
        return Err("a row is not an object".into());
    }
    rows.rows = list.len();
    rows.lines = vec![None; list.len()];
    if let Some(Json::Object(units)) = spec.units.as_ref().and_then(|name| file.get(name)) {
        let text = |unit: &Json, name: &str| {
            unit.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let each = units.iter().map(|(n, u)| (n.clone(), (text(u, "unit"), text(u, "label"))));
        rows.units = each.collect();
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for row in list {
        names.extend(objects(row, spec).flat_map(|(o, _)| o.keys().map(String::as_str)));
    }
    guard(list.len(), names.len())?;
    for (i, row) in list.iter().enumerate() {
        for (object, metrics) in objects(row, spec) {
            for (name, value) in object {
                member(&mut rows, spec, name, i, value, metrics);
            }
        }
    }
    Ok(rows)
}

/// Returns the JSON objects within a row whose members become columns. The flag returned with an object is true if the
/// object's members are metrics, which must be numbers.
fn objects<'j>(
    row: &'j Json,
    spec: &MetricSpec,
) -> impl Iterator<Item = (&'j Map<String, Json>, bool)> {
    let within: Vec<(&Json, bool)> = match spec.within.split_last() {
        None => vec![(row, true)],
        Some((metrics, before)) => {
            let describe = before.iter().filter_map(|name| Some((row.get(name)?, false)));
            describe.chain(row.get(metrics).map(|m| (m, true))).collect()
        }
    };
    within.into_iter().filter_map(|(object, metrics)| Some((object.as_object()?, metrics)))
}

fn member(
    rows: &mut MetricRows,
    spec: &MetricSpec,
    name: &str,
    row: usize,
    value: &Json,
    metric: bool,
) {
    let column = spec.columns.get(name);
    if column.is_none() && !metric {
        return;
    }
    let is_text = column.is_some_and(|c| c.kind == TraceFieldType::Text);
    let is_list = column.is_some_and(|c| c.kind == TraceFieldType::Numbers);
    let cell = match value {
        Json::Null => TraceCell::Null,
        Json::Bool(b) => TraceCell::Number(f64::from(*b)),
        Json::Number(n) => TraceCell::Number(n.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) if !metric && !is_text && is_blank(text) => TraceCell::Null,
        Json::String(text) => {
            let text = text.as_str().into();
            scalar(rows, name, row, &text, is_text)
        }
        Json::Array(items) if is_list => {
            let all: Vec<f64> = items.iter().filter_map(Json::as_f64).collect();
            if all.len() < items.len() {
                let other = items.iter().find(|i| !i.is_number()).map(Json::to_string);
                rows.texts.push((name.to_owned(), row, other.unwrap_or_default()));
            }
            let count = rows.rows;
            let lists = rows.lists.entry(name.to_owned()).or_insert_with(|| vec![vec![]; count]);
            lists[row] = all;
            return;
        }
        Json::Array(_) | Json::Object(_) => {
            if column.is_some() {
                rows.texts.push((name.to_owned(), row, "a list or map".into()));
            }
            TraceCell::Null
        }
    };
    rows.push(name, row, cell);
}
