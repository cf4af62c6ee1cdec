//! The lines of rows in text tables, and rows as CSV for people, who open it in spreadsheets or terminals: texts are
//! escaped, so that they are never formulas or control codes.

use std::fmt::Write;

use super::Column;
use crate::base::escape::clean;

/// Converts byte positions of a text, given in ascending order, to line numbers.
pub(super) struct LineCounter<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> LineCounter<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, line: 1 }
    }

    /// Returns the number of the line in which a record starts, from 1. `byte` is the record's start as the csv crate
    /// states it, which may be a line break before the record.
    ///
    /// The line numbers of the csv crate are not used, because blank lines and CRLF shift them.
    pub(crate) fn line(&mut self, byte: u64) -> u32 {
        let to = past_line_end(self.bytes, (byte as usize).min(self.bytes.len()));
        let passed = &self.bytes[self.at.min(to)..to];
        self.line += passed.iter().filter(|b| **b == b'\n').count() as u32;
        self.at = self.at.max(to);
        self.line
    }
}

/// Moves the start of a record past the line breaks before the record's first byte.
pub(super) fn past_line_end(text: &[u8], mut at: usize) -> usize {
    while at + 1 < text.len() && matches!(text[at], b'\r' | b'\n') {
        at += 1;
    }
    at
}

/// The line number of each row. Of rows on successive lines, only the first row and its line number are stored.
#[derive(Debug, Default, Clone)]
pub(crate) struct RowLines(Vec<(usize, u32)>);

impl RowLines {
    /// Stores the line of each row, in the order of the rows.
    pub(super) fn of(lines: &[u32]) -> Self {
        let mut runs: Vec<(usize, u32)> = Vec::new();
        for (row, line) in lines.iter().enumerate() {
            if runs.last().is_none_or(|(first, start)| start + (row - first) as u32 != *line) {
                runs.push((row, *line));
            }
        }
        Self(runs)
    }

    /// Returns a row's position as a text for messages: `line 4` of a text table, otherwise `row 2`.
    pub(crate) fn place(&self, row: usize) -> String {
        self.line(row).map_or_else(|| format!("row {row}"), |line| format!("line {line}"))
    }

    /// Returns the line of a row, from 1; `None` for a table without lines.
    pub(crate) fn line(&self, row: usize) -> Option<u64> {
        let run = self.0.partition_point(|(first, _)| *first <= row).checked_sub(1)?;
        let (first, start) = self.0[run];
        Some(u64::from(start) + (row - first) as u64)
    }
}

/// Writes a CSV field. `show` writes the field's text to the buffer `cell`, which all fields share.
pub(crate) fn write_cell(
    out: &mut csv::Writer<Vec<u8>>,
    cell: &mut String,
    show: impl FnOnce(&mut String),
) -> Result<(), csv::Error> {
    cell.clear();
    show(cell);
    out.write_field(cell)
}

/// Appends a value to the text `to`. Appends nothing for `None`.
pub(crate) fn shown<T: std::fmt::Display>(to: &mut String, value: Option<T>) {
    if let Some(value) = value {
        // Writing to a string does not fail.
        let _ = write!(to, "{value}");
    }
}

/// Appends the text of a cell to `to`. `cell` is the cell's column and row number. Appends nothing for `None` or a null
/// cell.
pub(crate) fn shown_cell(to: &mut String, cell: Option<(&Column, u32)>) {
    let Some((column, row)) = cell else { return };
    let row = row as usize;
    if column.is_null(row) {
        return;
    }
    match column {
        Column::Int { values, .. } => shown(to, Some(values[row])),
        Column::Float { values, .. } => shown(to, Some(values[row])),
        Column::Bool { values, .. } => shown(to, Some(values[row])),
        Column::Text { codes, dict, .. } => to.push_str(&inert(&dict[codes[row] as usize])),
        Column::Other(_) => {}
    }
}

/// Escapes a text: control characters are replaced by codes, and a quote is put before a text that would
/// start a formula in a spreadsheet (OWASP, "CSV Injection"). Numbers with a sign are unchanged.
pub(crate) fn inert(text: &str) -> String {
    let mut shown = clean(text);
    // The last four are the full-width forms of the first four.
    let begins = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    if shown.starts_with(begins) && shown.parse::<f64>().is_err() {
        shown.insert(0, '\'');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn texts_that_a_spreadsheet_would_compute_are_quoted() {
        for text in ["=1+1", "+A1", "-1+1", "@SUM(A1)", "＝1", "-", "=cmd|' /C calc'!A0"] {
            assert_eq!(inert(text), format!("'{text}"));
        }
        assert_eq!((inert("\t=1"), inert("\r=1")), ("\\u{9}=1".into(), "\\u{d}=1".into()));
        for text in ["", "cutlass", "a=b", "'=1", "-1", "+2.5", "-1e-3", "0.24.0"] {
            assert_eq!(inert(text), text);
        }
    }
}
