//! Text tables: the comma-separated staging format of collectors, with a header and one row per line.
//!
//! A collector that dies, or two that write at once, tear rows. The reader reports torn rows and does not
//! fill them with nulls.

mod cells;

use std::collections::BTreeMap;

use self::cells::Cells;
use super::lines::{LineCounter, RowLines, past_line_end};
use super::{Column, Table, TableFault, Torn};
use crate::base::error::Reason;
use crate::database::limits::{LONGEST_LINE, MOST_CELLS, MOST_COLUMNS};
use crate::specs::ColumnKind;

/// The byte order mark of UTF-8, which some editors write.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// The maximum number of damaged rows that a message describes.
const SHOWN: usize = 5;

/// Decodes a text table. `wanted` returns the type that a column should have, if it is known.
pub(super) fn decode(
    bytes: &[u8],
    wanted: &dyn Fn(&str) -> Option<ColumnKind>,
) -> Result<Table, TableFault> {
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

    let mut rows = Rows {
        columns: names.iter().map(|name| Cells::new(wanted(name))).collect(),
        lines: Vec::new(),
        torn: Torn::default(),
    };
    let mut counter = LineCounter::new(bytes);
    let mut is_whole = false;
    let mut record = csv::ByteRecord::new();
    loop {
        let start = reader.position().byte();
        match reader.read_byte_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {}
            Err(e) => {
                rows.tear(counter.line(start), e.to_string());
                break;
            }
        }
        let line = counter.line(record.position().map_or(start, csv::Position::byte));
        let damage = damage_reason(&record, &header);
        is_whole = damage.is_none();
        if let Some(why) = damage {
            rows.tear(line, why);
            continue;
        }
        rows.lines.push(line);
        if rows.lines.len() * names.len() > MOST_CELLS {
            let most = MOST_CELLS / 1_000_000;
            return Err(TableFault::Unreadable(format!(
                "the file has more than {most} M cells, which no table has"
            )));
        }
        rows.columns.iter_mut().zip(record.iter()).for_each(|(c, cell)| c.push(cell));
    }
    if !bytes.ends_with(b"\n")
        && is_whole
        && let Some(line) = rows.lines.pop()
    {
        rows.columns.iter_mut().for_each(Cells::pop);
        rows.tear(line, "the last line has no line end, so its last cell may be cut".into());
    }
    Ok(rows.table(names))
}

/// Returns the reason why a record is not a valid row of the table; `None` for a valid row.
fn damage_reason(record: &csv::ByteRecord, header: &csv::ByteRecord) -> Option<String> {
    if record == header {
        Some("the header again".into())
    } else if record.len() != header.len() {
        Some(width(record.len(), header.len()))
    } else {
        record.iter().find_map(not_text).map(str::to_owned)
    }
}

/// The rows of a file while it is read.
struct Rows {
    columns: Vec<Cells>,
    /// The line of each row, from 1.
    lines: Vec<u32>,
    torn: Torn,
}

impl Rows {
    /// Records a damaged row, with its line and the reason why it is damaged.
    fn tear(&mut self, line: u32, why: String) {
        self.torn.rows += 1;
        if self.torn.first.len() < SHOWN {
            self.torn.first.push((u64::from(line), why));
        }
    }

    /// Converts the rows to a table. If most cells of a column have the type that the spec states, the rows with
    /// another type in this column are left out as damaged.
    fn table(mut self, names: Vec<String>) -> Table {
        let mut columns: Vec<Column> = self.columns.iter().map(Cells::column).collect();
        let mut strays: BTreeMap<usize, String> = BTreeMap::new();
        for ((cells, column), name) in self.columns.iter().zip(&columns).zip(&names) {
            for row in cells.strays(column) {
                strays.entry(row).or_insert_with(|| cells.describe_stray(name, row));
            }
        }
        if !strays.is_empty() {
            let keep: Vec<bool> =
                (0..self.lines.len()).map(|row| !strays.contains_key(&row)).collect();
            self.torn.rows += strays.len();
            let lines = &self.lines;
            let first = strays.into_iter().take(SHOWN);
            self.torn.first.extend(first.map(|(row, why)| (u64::from(lines[row]), why)));
            self.torn.first.sort_unstable();
            self.torn.first.truncate(SHOWN);
            let mut row = 0..;
            self.lines.retain(|_| row.next().is_some_and(|row: usize| keep[row]));
            self.columns.iter_mut().for_each(|cells| cells.retain(&keep));
            columns = self.columns.iter().map(Cells::column).collect();
        }
        Table {
            rows: self.lines.len(),
            lines: RowLines::of(&self.lines),
            columns: names.into_iter().zip(columns).collect(),
            torn: self.torn,
            stored: None,
        }
    }
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

/// Returns the reason why a cell is not text; `None` if it is text. Failing disks and processes leave NUL bytes and
/// invalid UTF-8 behind.
fn not_text(cell: &[u8]) -> Option<&'static str> {
    if cell.contains(&0) {
        Some("a cell contains a NUL byte")
    } else if std::str::from_utf8(cell).is_err() {
        Some("a cell is not UTF-8 text")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<Table, TableFault> {
        decode(text.as_bytes(), &|name| match name {
            "version" => Some(ColumnKind::Text),
            "latency" => Some(ColumnKind::Number),
            "graph" => Some(ColumnKind::Bool),
            _ => None,
        })
    }

    fn torn(text: &str) -> Vec<(u64, String)> {
        table(text).unwrap().torn.first
    }

    #[test]
    fn column_types_follow_from_the_cells_but_a_version_is_text() {
        let t = table("version,m,latency,graph\n0.19,1,0.5,True\n0.19,2,1,False\n").unwrap();
        let kinds: Vec<&str> = t.columns().map(|(_, c)| c.kind_name()).collect();
        assert_eq!(kinds, ["text", "int", "number", "bool"]);
    }

    #[test]
    fn a_byte_order_mark_and_crlf_line_ends_are_accepted() {
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
    fn a_cell_of_another_type_removes_its_row_and_not_its_column() {
        let t = table(
            "m,latency,graph\n1,0.5,True\n\n2,abc,True\n3,0.7,maybe\n4,0.8,False\n5,1,True\n",
        );
        let t = t.unwrap();
        let first = [
            (4, "latency is 'abc', not a number".to_owned()),
            (5, "graph is 'maybe', not True or False".to_owned()),
        ];
        assert_eq!((t.rows, t.torn.rows, &t.torn.first[..]), (3, 2, &first[..]));
        assert_eq!(t.column("latency").unwrap().numbers(3)[..], [0.5, 0.8, 1.0]);
        assert_eq!([0, 1, 2, 3].map(|row| t.lines.line(row)), [Some(2), Some(6), Some(7), Some(8)]);
        // If most cells are of another type, it is the column that is wrong.
        let t = table("m,latency\n1,a\n2,b\n3,0.7\n").unwrap();
        assert_eq!((t.rows, t.column("latency").unwrap().kind_name()), (3, "text"));
    }

    #[test]
    fn cells_that_are_not_utf_8_are_torn_rows() {
        let filler = "a,0.5\n".repeat(1000);
        let torn = |cell: &[u8]| {
            let row = [b"\n".as_slice(), cell, b",0.5\n"].concat();
            let text = [b"op,latency\n", filler.trim_end().as_bytes(), &row].concat();
            decode(&text, &|_| None).unwrap().torn
        };
        assert_eq!(torn(b"a").rows, 0);
        assert!(torn(b"a\xffb").first[0].1.contains("not UTF-8"));
        let header = decode(b"o\xff,latency\na,0.5\n", &|_| None).unwrap_err();
        assert_eq!(header.to_string(), "cannot be read: in its header, a cell is not UTF-8 text");
        assert_eq!(torn(b"a\0b").first, [(1002, "a cell contains a NUL byte".to_owned())]);
    }

    #[test]
    fn a_binary_file_or_a_repeated_column_is_unreadable() {
        assert!(matches!(table("m,m\n1,2\n"), Err(TableFault::Unreadable(_))));
        assert!(matches!(decode(b"\0\0\0", &|_| None), Err(TableFault::Unreadable(_))));
        let long = format!("m\n{}\n", "1".repeat(LONGEST_LINE + 1));
        assert!(matches!(table(&long), Err(TableFault::Unreadable(_))));
    }
}
