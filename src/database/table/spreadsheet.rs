//! Writes rows as CSV for people, who open it in spreadsheets or terminals. Texts are escaped, so that they
//! are never formulas or control codes.

use std::fmt::Write;

use super::Column;
use crate::base::escape::clean;

/// Writes a field whose text `show` writes to `cell`, a reused buffer.
pub(crate) fn write_cell(
    out: &mut csv::Writer<Vec<u8>>,
    cell: &mut String,
    show: impl FnOnce(&mut String),
) -> Result<(), csv::Error> {
    cell.clear();
    show(cell);
    out.write_field(cell)
}

/// Appends a value, or nothing for `None`.
pub(crate) fn shown<T: std::fmt::Display>(to: &mut String, value: Option<T>) {
    if let Some(value) = value {
        // Writing to a string does not fail.
        let _ = write!(to, "{value}");
    }
}

/// Appends a cell, or nothing if it is null.
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
    fn no_text_is_a_formula() {
        for text in ["=1+1", "+A1", "-1+1", "@SUM(A1)", "＝1", "-", "=cmd|' /C calc'!A0"] {
            assert_eq!(inert(text), format!("'{text}"));
        }
        assert_eq!((inert("\t=1"), inert("\r=1")), ("\\u{9}=1".into(), "\\u{d}=1".into()));
        for text in ["", "cutlass", "a=b", "'=1", "-1", "+2.5", "-1e-3", "0.24.0"] {
            assert_eq!(inert(text), text);
        }
    }
}
