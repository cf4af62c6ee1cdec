//! Lays out a summary table of a change within the width of a pull request comment.

use serde::Serialize;

use super::kind::Kind;
use crate::base::escape::clean;
use crate::database::diff::SliceName;

/// The width of a pull request comment in pixels, in a window of 768 pixels.
const PAGE: usize = 700;
/// The horizontal padding of a cell in pixels: for plain text, then for names in the code font.
const PADDING: [usize; 2] = [27, 40];
/// The width of a character in tenths of a pixel: of plain text, then of names in the code font.
const CHARACTER: [usize; 2] = [68, 72];
/// The minimum and the maximum number of characters in the first column, which contains the names of the rows.
const NAME: [usize; 2] = [16, 40];
const TEXT: usize = 40;
/// The headings of the columns that contain text and are left-aligned.
const TEXTS: [&str; 2] = ["column", "what answers instead"];

/// The summary table of one kind of change, with the most important rows first.
#[derive(Debug, Clone, Default)]
pub struct KindTable {
    /// The kind of change; `None` for the summary of lost keys, because a change of any kind can lose keys.
    pub(in crate::report) kind: Option<Kind>,
    /// The title of the table.
    pub title: &'static str,
    /// Lines about the whole table, which are shown above or below its rows.
    pub notes: Vec<String>,
    /// The names of the columns, separated by `|`. A name can contain a line break.
    pub heads: &'static str,
    pub rows: Vec<KindRow>,
}

/// A row of a summary table. Its texts are not escaped yet.
#[derive(Debug, Clone, Default)]
pub struct KindRow {
    /// The system, backend and version of the table. For an added table, the name of its reference follows.
    pub place: String,
    /// The table's name without `_perf`; empty if the row is about all tables of the place.
    pub table: String,
    /// The name of the slice as text, without the parts that all slices of the table share; empty if the row is about a
    /// whole table.
    pub slice: String,
    /// The texts of the row's cells, one for each column in [`KindTable::heads`].
    pub cells: Vec<String>,
    /// The path of the table; empty if the row is about several tables.
    pub path: String,
    /// The full name of the slice, as pairs of key part and text; empty if the row is about a whole table.
    pub texts: SliceName,
    /// The median of the slice's ratios as text, such as `× 1.05`. A ratio is a key's latency after the change divided
    /// by its latency before the change. For an added table, latencies are divided by those of a reference, which the
    /// text names. `None` if no latency changed.
    pub moved: Option<String>,
}

/// A summary table in the form that reports show: with escaped texts, without empty columns, and with rows grouped
/// under headings for the places and tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChangeTable {
    pub title: &'static str,
    pub notes: Vec<String>,
    /// True if the summary is about added tables or rows. Reports then show the notes above the rows instead of below,
    /// because the notes describe the new keys.
    pub is_new: bool,
    /// The system, backend and version that all rows share; empty if the rows have several places.
    pub place: String,
    /// The names of the columns, each with a flag: true if the column contains numbers.
    pub heads: Vec<(&'static str, bool)>,
    pub lines: Vec<ChangeLine>,
    /// The number of rows that are not shown.
    pub more: usize,
}

/// A line of a [`ChangeTable`]: a heading, or a row with its cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChangeLine {
    pub name: String,
    /// The kind of the line: `place` and `table` are headings, `slice` is a row below a heading, `row` is a row without
    /// a heading.
    pub kind: &'static str,
    pub cells: Vec<String>,
}

impl KindRow {
    /// Returns true if another row is about the same table.
    fn is_of_same_table(&self, other: &Self) -> bool {
        (&self.place, &self.table) == (&other.place, &other.table)
    }

    fn name(&self) -> String {
        let name = [&*self.table, &*self.slice].join(" ").trim().to_owned();
        if name.is_empty() { self.place.clone() } else { name }
    }
}

impl KindTable {
    /// Lays out the first rows of the table in at most `most` lines; at least one row is shown. `None` if the table has
    /// no rows.
    pub(crate) fn shaped(&self, most: usize) -> Option<ChangeTable> {
        let first = self.rows.first()?;
        let mut rows = &self.rows[..self.rows.len().min(most.max(1))];
        let is_one_place = rows.iter().all(|row| row.place == first.place && !row.table.is_empty());
        let heads: Vec<&'static str> = self.heads.split('|').collect();
        let mut columns: Vec<usize> = (0..heads.len()).collect();
        columns.retain(|column| rows.iter().any(|row| !row.cells[*column].is_empty()));
        let is_text = |column: usize| TEXTS.contains(&heads[column]);
        let width = |column: &usize| {
            let cells = rows.iter().map(|row| row.cells[*column].as_str());
            let texts = cells.chain(heads[*column].split('\n')).map(|text| text.chars().count());
            let longest = texts.max().unwrap_or(0);
            let longest = if is_text(*column) { longest.min(TEXT) } else { longest };
            longest * CHARACTER[0] / 10 + PADDING[0]
        };
        let left = PAGE.saturating_sub(columns.iter().map(width).sum::<usize>() + PADDING[1]);
        let room = (left * 10 / CHARACTER[1]).clamp(NAME[0], NAME[1]);
        while rows.len() > 1 && lines(rows, is_one_place, room).len() > most {
            rows = &rows[..rows.len() - 1];
        }
        let lines = lines(rows, is_one_place, room);
        let line = |(name, kind, row): &(String, &'static str, Option<&KindRow>)| ChangeLine {
            // A place may take two lines.
            name: clean(&if *kind == "place" { name.clone() } else { cut(name, room) }),
            kind,
            cells: columns
                .iter()
                .map(|c| row.map_or("", |row| &row.cells[*c]))
                .map(clean)
                .collect(),
        };
        Some(ChangeTable {
            title: self.title,
            is_new: matches!(self.kind, Some(Kind::Added | Kind::Appended)),
            notes: self.notes.iter().map(|note| clean(note)).collect(),
            place: if is_one_place { clean(&first.place) } else { String::new() },
            heads: columns.iter().map(|c| (heads[*c], !is_text(*c))).collect(),
            lines: lines.iter().map(line).collect(),
            more: self.rows.len() - rows.len(),
        })
    }
}

/// Arranges rows as lines, grouped by place and then by table. Each line consists of a text, a kind (see
/// [`ChangeLine::kind`]) and a row; headings have no row. A place has a heading unless `is_one_place` is true. A table
/// has a heading if it has several rows, or if the name of its only row is longer than `room` characters.
fn lines(
    rows: &[KindRow],
    is_one_place: bool,
    room: usize,
) -> Vec<(String, &'static str, Option<&KindRow>)> {
    let mut sorted: Vec<&KindRow> = rows.iter().collect();
    sorted.sort_by_cached_key(|row| {
        let place = rows.iter().position(|other| other.place == row.place);
        (place, rows.iter().position(|other| other.is_of_same_table(row)))
    });
    let mut lines = Vec::new();
    for of_place in sorted.chunk_by(|a, b| a.place == b.place) {
        if !is_one_place && !of_place[0].table.is_empty() {
            lines.push((of_place[0].place.clone(), "place", None));
        }
        for of_table in of_place.chunk_by(|a, b| a.is_of_same_table(b)) {
            let fits = |row: &KindRow| row.slice.is_empty() || row.name().chars().count() <= room;
            if let [row] = of_table
                && fits(row)
            {
                lines.push((row.name(), "row", Some(*row)));
                continue;
            }
            lines.push((of_table[0].table.clone(), "table", None));
            lines.extend(of_table.iter().map(|row| (row.slice.clone(), "slice", Some(*row))));
        }
    }
    lines
}

/// Shortens a name to `room` characters by cutting its middle.
fn cut(name: &str, room: usize) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= room {
        return name.to_owned();
    }
    let (start, end) = characters.split_at(room / 2);
    let end = &end[end.len() + 1 - room / 2..];
    let [start, end] = [start, end].map(|part| part.iter().collect::<String>());
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(place: &str, table: &str, slice: &str, cells: &[&str]) -> KindRow {
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        let [place, table, slice] = [place, table, slice].map(str::to_owned);
        KindRow { place, table, slice, cells, ..KindRow::default() }
    }

    fn shaped(rows: Vec<KindRow>, most: usize) -> ChangeTable {
        let table = KindTable { title: "t", heads: "a|b|c", rows, ..KindTable::default() };
        table.shaped(most).unwrap()
    }

    #[test]
    fn rows_are_grouped_by_place_and_table_and_empty_columns_are_omitted() {
        let rows = vec![
            row("h vllm 1", "gemm", "fp8", &["1", "", "x"]),
            row("h vllm 2", "moe", "", &["2", "", ""]),
            row("h vllm 1", "gemm", "bf16", &["3", "", ""]),
            row("h vllm 3", "moe", "", &["4", "", ""]),
        ];
        let table = shaped(rows, 6);
        let lines: Vec<(&str, &str)> =
            table.lines.iter().map(|line| (line.kind, line.name.as_str())).collect();
        let expected = [
            ("place", "h vllm 1"),
            ("table", "gemm"),
            ("slice", "fp8"),
            ("slice", "bf16"),
            ("place", "h vllm 2"),
            ("row", "moe"),
        ];
        assert_eq!(lines, expected);
        assert_eq!((table.heads, table.more), (vec![("a", true), ("c", true)], 1));
        assert_eq!(table.lines[2].cells, ["1", "x"]);
    }

    #[test]
    fn all_columns_are_shown_and_long_names_are_shortened_in_the_middle() {
        let name = "vllm_compressedtensorsw4a4nvfp4moe_flashinfer_trtllm_modular";
        for (cell, length) in [("2", NAME[1]), ("× 1.03, 0.0781 → 0.0814 ms", 30)] {
            let table = shaped(vec![row("p", "moe", name, &[cell, "2", cell])], 9);
            assert_eq!((table.heads.len(), table.place.as_str()), (3, "p"));
            let lines: Vec<&str> = table.lines.iter().map(|line| line.kind).collect();
            assert_eq!(lines, ["table", "slice"], "a long name takes two lines");
            let name = &table.lines[1].name;
            assert!(name.starts_with("vllm_compr") && name.ends_with("_modular"), "{name}");
            assert_eq!(name.chars().count(), length);
        }
    }
}
