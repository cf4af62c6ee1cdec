//! Rows as CSV for people, who open them in a spreadsheet: text is written so that no cell is a formula
//! there.

use std::borrow::Cow;
use std::fmt::Write;

use super::Column;

/// Writes a field that `show` puts together in `cell`, whose memory is used again.
pub(crate) fn write_cell(
    out: &mut csv::Writer<Vec<u8>>,
    cell: &mut String,
    show: impl FnOnce(&mut String),
) -> Result<(), csv::Error> {
    cell.clear();
    show(cell);
    out.write_field(cell)
}

/// A value, or nothing.
pub(crate) fn shown<T: std::fmt::Display>(to: &mut String, value: Option<T>) {
    if let Some(value) = value {
        // Writing to a string does not fail.
        let _ = write!(to, "{value}");
    }
}

/// A cell as it is, nothing where it is null.
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

/// A text that a spreadsheet reads as text: a quote before what would begin a formula there (OWASP, "CSV
/// Injection"). A number is none, whichever sign it has.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    // The last four are the wide forms of the first.
    let begins = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if text.starts_with(begins) && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn no_text_is_a_formula() {
        for text in
            ["=1+1", "+A1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "-", "=cmd|' /C calc'!A0"]
        {
            assert_eq!(inert(text), format!("'{text}"));
        }
        for text in ["", "cutlass", "a=b", "'=1", "-1", "+2.5", "-1e-3", "0.24.0"] {
            assert_eq!(inert(text), text);
        }
    }
}
