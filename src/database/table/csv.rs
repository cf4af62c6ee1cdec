//! Text tables: the comma-separated staging format of collectors, with a header and one row per line.
//!
//! A collector that dies, or two that write at once, tear rows. The reader reports torn rows and does not
//! fill them with nulls.

use std::sync::Arc;

use super::limits::{MOST_CELLS, MOST_COLUMNS};
use super::{Column, Table, TableFault, Torn};
use crate::base::reason::Reason;

/// The maximal length of a line in bytes; a file with a longer line is not a text table.
const LONGEST_LINE: usize = 1 << 20;

/// The byte order mark of UTF-8, which some editors write.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The maximal number of torn rows that are shown.
const SHOWN: usize = 5;

pub(super) fn decode(bytes: &[u8], is_text: &dyn Fn(&str) -> bool) -> Result<Table, TableFault> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    if let Some(at) = long_line(bytes) {
        let why =
            format!("line {at} is longer than {LONGEST_LINE} bytes, so this is not a text table");
        return Err(TableFault::Unreadable(why));
    }
    if bytes[..bytes.len().min(4096)].contains(&0) {
        return Err(TableFault::Unreadable("the file contains binary data, not text".into()));
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.byte_headers().map_err(|e| TableFault::Unreadable(e.to_string()))?.clone();
    if let Some(why) = header.iter().find_map(not_text) {
        return Err(TableFault::Unreadable(format!("in its header, {why}")));
    }
    let names: Vec<String> =
        header.iter().map(|n| String::from_utf8_lossy(n).into_owned()).collect();
    if names.is_empty() || names.iter().all(|n| n.trim().is_empty()) {
        return Err(TableFault::Unreadable("the file has no header".into()));
    }
    if names.len() > MOST_COLUMNS {
        return Err(TableFault::Unreadable(format!(
            "the file has more than {MOST_COLUMNS} columns, which no table has"
        )));
    }
    if let Some(twice) = names.iter().enumerate().find(|(i, n)| names[..*i].contains(n)) {
        return Err(TableFault::Unreadable(format!("the header names {} twice", twice.1)));
    }

    let mut columns: Vec<ColumnBuilder> =
        names.iter().map(|n| ColumnBuilder::new(is_text(n))).collect();
    let mut torn = Tears { bytes, found: Torn::default() };
    let mut rows = 0;
    let mut whole = false;
    let mut record = csv::ByteRecord::new();
    loop {
        let start = reader.position().byte();
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {}
            Err(e) => {
                torn.push(start, e.to_string());
                break;
            }
        }
        whole = false;
        let start = record.position().map_or(start, csv::Position::byte);
        if record == header {
            torn.push(start, "the header again".into());
        } else if record.len() != names.len() {
            torn.push(start, width(record.len(), names.len()));
        } else if let Some(why) = record.iter().find_map(not_text) {
            torn.push(start, why.into());
        } else {
            rows += 1;
            whole = true;
            if rows * names.len() > MOST_CELLS {
                let most = MOST_CELLS / 1_000_000;
                return Err(TableFault::Unreadable(format!(
                    "the file has more than {most} M cells, which no table has"
                )));
            }
            columns.iter_mut().zip(record.iter()).for_each(|(c, cell)| c.push(cell));
        }
    }
    if !bytes.ends_with(b"\n") && whole {
        rows -= 1;
        columns.iter_mut().for_each(|c| drop(c.texts.pop()));
        torn.push(
            bytes.len() as u64 - 1,
            "the last line has no line end, so its last cell may be cut".into(),
        );
    }
    let columns = names.into_iter().zip(columns.into_iter().map(ColumnBuilder::finish)).collect();
    Ok(Table { rows, columns, torn: torn.found, stored: None })
}

/// Returns the byte position of each row.
///
/// # Errors
///
/// If the text cannot be split into rows.
pub(super) fn starts(bytes: &[u8]) -> Result<Vec<usize>, Reason> {
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let skipped = bytes.len() - text.len();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let mut record = csv::ByteRecord::new();
    let mut starts = Vec::new();
    while reader.read_byte_record(&mut record).map_err(|e| e.to_string())? {
        let start = record.position().map_or(0, csv::Position::byte) as usize;
        starts.push(skipped + past_line_end(text, start));
    }
    Ok(starts)
}

/// Calls `row` with the number and the unparsed cells of each row, without the header, and returns the number
/// of rows. Stops at the first error of `row`.
///
/// # Errors
///
/// The error of `row`, or an error if the text cannot be split into rows of UTF-8.
pub fn each_row(
    bytes: &[u8],
    mut row: impl FnMut(usize, &[&str]) -> Result<(), Reason>,
) -> Result<usize, Reason> {
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let mut record = csv::StringRecord::new();
    let mut rows = 0;
    while reader.read_record(&mut record).map_err(|e| e.to_string())? {
        row(rows, &record.iter().collect::<Vec<_>>())?;
        rows += 1;
    }
    Ok(rows)
}

/// Moves a record's position past the line break before it.
fn past_line_end(text: &[u8], mut at: usize) -> usize {
    while at + 1 < text.len() && matches!(text[at], b'\r' | b'\n') {
        at += 1;
    }
    at
}

fn long_line(bytes: &[u8]) -> Option<usize> {
    bytes.split(|b| *b == b'\n').position(|line| line.len() > LONGEST_LINE).map(|i| i + 1)
}

fn width(found: usize, wanted: usize) -> String {
    let fields = if found == 1 { "field" } else { "fields" };
    // Two joined rows lose the line end between them, and possibly a comma.
    let together =
        if found + 1 == 2 * wanted || found == 2 * wanted { ", two rows run together" } else { "" };
    format!("{found} {fields} instead of {wanted}{together}")
}

/// Returns why a cell is not text. Failing disks and processes leave such bytes behind.
fn not_text(cell: &[u8]) -> Option<&'static str> {
    if cell.contains(&0) {
        Some("a cell contains a NUL byte")
    } else if std::str::from_utf8(cell).is_err() {
        Some("a cell is not UTF-8 text")
    } else {
        None
    }
}

struct Tears<'a> {
    bytes: &'a [u8],
    found: Torn,
}

impl Tears<'_> {
    fn push(&mut self, byte: u64, why: String) {
        self.found.rows += 1;
        if self.found.first.len() < SHOWN {
            // The csv crate counts records and not lines, so blank lines and CRLF would shift its line
            // numbers.
            let at = past_line_end(self.bytes, (byte as usize).min(self.bytes.len()));
            let line = self.bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
            self.found.first.push((line as u64, why));
        }
    }
}

/// The cells of a column. Its type is the first that fits all cells: integer, number, flag, text.
struct ColumnBuilder {
    texts: Vec<Option<Arc<str>>>,
    text: bool,
}

impl ColumnBuilder {
    fn new(text: bool) -> Self {
        Self { texts: Vec::new(), text }
    }

    fn push(&mut self, cell: &[u8]) {
        let cell = String::from_utf8_lossy(cell);
        let cell = cell.trim();
        self.texts.push(match self.texts.last() {
            _ if cell.is_empty() => None,
            Some(Some(last)) if last.as_ref() == cell => Some(last.clone()),
            _ => Some(cell.into()),
        });
    }

    fn finish(self) -> Column {
        let cells = &self.texts;
        let nulls =
            cells.iter().any(Option::is_none).then(|| cells.iter().map(Option::is_none).collect());
        if !self.text {
            if let Some(values) = parsed(cells, 0, |t| t.parse::<i64>().ok()) {
                return Column::Int { values: values.into(), nulls };
            }
            if let Some(values) = parsed(cells, f64::NAN, |t| t.parse::<f64>().ok()) {
                return Column::Float { values, nulls };
            }
            let flag = |t: &str| match t {
                "True" | "true" => Some(true),
                "False" | "false" => Some(false),
                _ => None,
            };
            if let Some(values) = parsed(cells, false, flag) {
                return Column::Bool { values, nulls };
            }
        }
        Column::texts(cells.iter().map(Option::as_deref))
    }
}

/// Parses all cells as `T`, with `null` for empty cells; `None` if a cell cannot be parsed.
fn parsed<T: Copy>(
    cells: &[Option<Arc<str>>],
    null: T,
    parse: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    cells.iter().map(|c| c.as_deref().map_or(Some(null), &parse)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, TableFault> {
        decode(text.as_bytes(), &|name| name == "version")
    }

    fn torn(text: &str) -> Vec<(u64, String)> {
        table(text).unwrap().torn.first
    }

    #[test]
    fn types_come_from_the_cells_but_a_version_stays_text() {
        let t = table("version,m,latency,graph\n0.19,1,0.5,True\n0.19,2,1,False\n").unwrap();
        let kinds: Vec<&str> = t.columns().map(|(_, c)| c.kind_name()).collect();
        assert_eq!(kinds, ["text", "int", "number", "bool"]);
    }

    #[test]
    fn bom_and_crlf_are_fine() {
        let t = table("\u{feff}m,latency\r\n1,0.5\r\n").unwrap();
        assert_eq!((t.rows, t.column("m").unwrap().number(0)), (1, 1.0));
    }

    #[test]
    fn torn_rows_are_named_by_line() {
        assert_eq!(torn("m,latency\n1,0.5\n\n2\n")[0].0, 4);
        assert_eq!(torn("m,latency\r\n1,0.5\r\n2\r\n")[0].0, 3);
        assert!(torn("m,latency\n3,0.4\n1,0.52,0.6\n")[0].1.contains("run together"));
        assert!(torn("m,latency\n1,0.5\nm,latency\n2,0.6\n")[0].1.contains("header"));
        assert!(torn("m,latency\n1,0.5\n2,0.")[0].1.contains("no line end"));
    }

    #[test]
    fn cells_that_are_not_text_are_torn_rows() {
        let filler = "a,0.5\n".repeat(1000);
        let torn = |cell: &[u8]| {
            let row = [b"\n".as_slice(), cell, b",0.5\n"].concat();
            let text = [b"op,latency\n", filler.trim_end().as_bytes(), &row].concat();
            decode(&text, &|_| false).unwrap().torn
        };
        assert_eq!(torn(b"a").rows, 0);
        assert!(torn(b"a\xffb").first[0].1.contains("not UTF-8"));
        let header = decode(b"o\xff,latency\na,0.5\n", &|_| false).unwrap_err();
        assert_eq!(header.to_string(), "cannot be read: in its header, a cell is not UTF-8 text");
        assert_eq!(torn(b"a\0b").first, [(1002, "a cell contains a NUL byte".to_owned())]);
    }

    #[test]
    fn what_is_no_text_table_is_unreadable() {
        assert!(matches!(table("m,m\n1,2\n"), Err(TableFault::Unreadable(_))));
        assert!(matches!(decode(b"\0\0\0", &|_| false), Err(TableFault::Unreadable(_))));
        let long = format!("m\n{}\n", "1".repeat(LONGEST_LINE + 1));
        assert!(matches!(table(&long), Err(TableFault::Unreadable(_))));
    }
}
