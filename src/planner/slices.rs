//! The rows of one file, grouped by the key parts that a lookup must match exactly.
//!
//! A file is read and grouped once, whoever asks: both states of a comparison, and every version that
//! it is a donor of.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;

use super::names::NameCodes;
use super::operations::TableName;
use super::{Column, NULL_CODE, Reason, Table};

/// Key parts that must match exactly, texts by their number in [`NameCodes`]; unused parts are 0.
pub type SliceKey = [u32; 9];

/// The slice of a GEMM's shape: a lookup needs the rows of a few of a dtype's thousand shapes.
pub(super) fn shape_slice(dtype: u32, shape: [u64; 2]) -> SliceKey {
    let [n, k] = shape.map(|size| [size as u32, (size >> 32) as u32]);
    [dtype, n[0], n[1], k[0], k[1], 0, 0, 0, 0]
}

/// The shape of such a slice.
fn shape_of(key: &SliceKey) -> [u64; 2] {
    let [_, n, n_high, k, k_high, ..] = key.map(u64::from);
    [n | n_high << 32, k | k_high << 32]
}

/// A row of a table, by the place of its file among the table's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowRef {
    /// Index among the sources.
    pub source: u16,
    /// Index in its file.
    pub row: u32,
    /// Whether its power was measured too.
    pub powered: bool,
}

/// A row as interpolators see it.
#[derive(Debug, Clone, Copy)]
pub struct Leaf {
    /// Coordinates, outer first; unused ones are 0.
    pub at: [u64; 3],
    /// Latency, ms.
    pub ms: f64,
    /// Where it comes from.
    pub row: RowRef,
    /// Its place in the order of reading.
    pub seq: u32,
}

/// A row of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileRow {
    pub at: [u64; 3],
    pub ms: f64,
    pub row: u32,
    /// Its kernel_source.
    pub kernel: u32,
}

/// The rows of a file by slice, each slice in file order.
#[derive(Debug, Default)]
pub struct FileSlices {
    slices: HashMap<SliceKey, Vec<FileRow>>,
    /// The lowest and the highest outer coordinate of each slice.
    spans: OnceLock<HashMap<SliceKey, [u64; 2]>>,
    /// Rows that the loader refuses to load, each with its kernel_source: one of them fails the table.
    faults: Vec<(u32, String)>,
    /// Rows whose power was measured; empty where none was.
    powered: Vec<bool>,
}

/// Where a row belongs.
pub(super) struct Located {
    pub key: SliceKey,
    pub at: [u64; 3],
}

/// The columns of a table that its loader reads, in the order in which it asks for them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    /// Texts that every row has.
    pub texts: &'static [&'static str],
    /// Whole numbers that every row has.
    pub numbers: &'static [&'static str],
    /// Whole numbers that may be null or absent, with what stands for those.
    pub optional: &'static [(&'static str, u64)],
    /// Texts that may be null or absent; those read as empty.
    pub optional_texts: &'static [&'static str],
}

/// A row's cells, by the order of [`Columns`].
pub(super) struct Cells<'a> {
    texts: Vec<Texts<'a>>,
    numbers: Vec<&'a [i64]>,
    optional: Vec<(Option<&'a Column>, u64)>,
    row: usize,
}

/// A column of texts, and the number of each.
struct Texts<'a> {
    codes: Option<&'a [u32]>,
    dict: &'a [Arc<str>],
    numbers: Vec<u32>,
    empty: u32,
}

impl<'a> Texts<'a> {
    fn new(column: Option<&'a Column>, names: &NameCodes) -> Self {
        let empty = names.code("");
        match column {
            Some(Column::Text { codes, dict, .. }) => {
                let numbers = dict.iter().map(|text| names.code(text)).collect();
                Self { codes: Some(codes), dict, numbers, empty }
            }
            _ => Self { codes: None, dict: &[], numbers: Vec::new(), empty },
        }
    }

    fn code(&self, row: usize) -> u32 {
        let local = self.codes.and_then(|c| c.get(row));
        local.and_then(|c| self.numbers.get(*c as usize)).copied().unwrap_or(self.empty)
    }

    fn text(&self, row: usize) -> &str {
        let local = self.codes.and_then(|c| c.get(row));
        local.and_then(|c| self.dict.get(*c as usize)).map_or("", AsRef::as_ref)
    }

    fn is_null(&self, row: usize) -> bool {
        self.codes.and_then(|c| c.get(row)).is_none_or(|c| *c == NULL_CODE)
    }
}

impl Cells<'_> {
    /// The number of a text, texts first and optional texts after them.
    pub fn code(&self, column: usize) -> u32 {
        self.texts[column].code(self.row)
    }

    /// A text.
    pub fn text(&self, column: usize) -> &str {
        self.texts[column].text(self.row)
    }

    /// A number.
    pub fn number(&self, column: usize) -> u64 {
        self.numbers[column][self.row] as u64
    }

    /// A number as part of a slice's key.
    pub fn part(&self, column: usize) -> u32 {
        self.number(column) as u32
    }

    /// A number that may be absent.
    pub fn optional(&self, column: usize) -> u64 {
        let (values, otherwise) = self.optional[column];
        match values {
            Some(Column::Int { values, .. }) if !values[self.row].is_negative() => {
                values[self.row] as u64
            }
            _ => otherwise,
        }
    }
}

impl FileSlices {
    /// Groups the rows of a decoded table.
    ///
    /// # Errors
    ///
    /// Where a column is missing or of another type than the loader reads. A row that the loader
    /// refuses becomes a fault, since a filter may leave it out.
    pub fn group(table: &Table, name: TableName, names: &NameCodes) -> Result<Self, Reason> {
        let reads = name.columns();
        let kernels = Texts::new(table.column("kernel_source"), names);
        let mut cells =
            Cells { texts: Vec::new(), numbers: Vec::new(), optional: Vec::new(), row: 0 };
        for column in reads.texts {
            match table.column(column) {
                Some(text @ Column::Text { .. }) => cells.texts.push(Texts::new(Some(text), names)),
                other => return Err(wrong_column(column, other, "text")),
            }
        }
        for column in reads.optional_texts {
            cells.texts.push(Texts::new(table.column(column), names));
        }
        for column in reads.numbers {
            match table.column(column) {
                Some(Column::Int { values, .. }) => cells.numbers.push(values),
                other => return Err(wrong_column(column, other, "whole numbers")),
            }
        }
        for (column, otherwise) in reads.optional {
            cells.optional.push((table.column(column), *otherwise));
        }
        let Some(Column::Float { values: latency, .. }) = table.column("latency") else {
            return Err(wrong_column("latency", table.column("latency"), "numbers"));
        };
        let nullable: Vec<(&str, &Column)> = (reads.texts.iter().chain(reads.numbers))
            .chain(&["latency"])
            .filter_map(|name| Some((*name, table.column(name)?)))
            .collect();
        let mut grouping = Grouping::default();
        for (row, ms) in latency.iter().enumerate() {
            cells.row = row;
            let kernel = kernels.code(row);
            let located = refused(&nullable, &cells, reads.texts.len(), row)
                .map_or_else(|| name.locate(&cells, names), Err);
            match located {
                Ok(Some(Located { key, at })) => {
                    grouping.add(key, FileRow { at, ms: *ms, row: row as u32, kernel });
                }
                Ok(None) => {}
                Err(why) => grouping.fault(kernel, row, &why),
            }
        }
        Ok(FileSlices { powered: powered(table), ..grouping.finish() })
    }

    /// Whether the power of a row was measured.
    pub(super) fn is_powered(&self, row: u32) -> bool {
        self.powered.get(row as usize).copied().unwrap_or(false)
    }

    /// The keys of its slices, with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SliceKey, &[FileRow])> {
        self.slices.iter().map(|(key, rows)| (key, rows.as_slice()))
    }

    /// The shapes of a dtype with their lowest and highest m, of the rows that pass a filter.
    pub(super) fn shapes(
        &self,
        dtype: u32,
        kernels: Option<&HashSet<u32>>,
    ) -> Vec<([u64; 2], [u64; 2])> {
        let of_dtype = |key: &&SliceKey| key[0] == dtype;
        let Some(kernels) = kernels else {
            let spans = self.spans.get_or_init(|| {
                let all = self.slices.iter().filter_map(|(key, rows)| Some((*key, span(rows)?)));
                all.collect()
            });
            let own = spans.iter().filter(|(key, _)| of_dtype(key));
            return own.map(|(key, span)| (shape_of(key), *span)).collect();
        };
        let mut shapes = Vec::new();
        for (key, rows) in self.slices.iter().filter(|(key, _)| of_dtype(key)) {
            let span = span(rows.iter().filter(|row| kernels.contains(&row.kernel)));
            shapes.extend(span.map(|span| (shape_of(key), span)));
        }
        shapes
    }

    /// The rows of a slice, in file order.
    pub(super) fn rows(&self, key: &SliceKey) -> &[FileRow] {
        self.slices.get(key).map_or(&[], Vec::as_slice)
    }

    /// Why the loader refuses the file, where one of the rows that pass a filter does.
    pub fn fault(&self, admits: impl Fn(u32) -> bool) -> Option<&str> {
        self.faults.iter().find(|(kernel, _)| admits(*kernel)).map(|(_, why)| why.as_str())
    }
}

/// The lowest and the highest outer coordinate of some rows.
fn span<'r>(rows: impl IntoIterator<Item = &'r FileRow>) -> Option<[u64; 2]> {
    rows.into_iter().fold(None, |span, row| {
        let [low, high] = span.unwrap_or([row.at[0]; 2]);
        Some([low.min(row.at[0]), high.max(row.at[0])])
    })
}

/// Rows with a power; the loader reads an absent one, a null and zero alike.
fn powered(table: &Table) -> Vec<bool> {
    let Some(power) = table.column("power") else { return Vec::new() };
    let rows: Vec<bool> = (0..table.rows).map(|row| power.number(row) > 0.0).collect();
    if rows.contains(&true) { rows } else { Vec::new() }
}

fn wrong_column(name: &str, found: Option<&Column>, wanted: &str) -> Reason {
    let why = match found {
        None => format!("it has no column {name}"),
        Some(column) => format!("{name} holds {}, not {wanted}", column.kind_name()),
    };
    why.into()
}

/// Why the loader cannot read a row: a null, or a number that is negative or beyond its range.
fn refused(
    nullable: &[(&str, &Column)],
    cells: &Cells<'_>,
    texts: usize,
    row: usize,
) -> Option<Reason> {
    for text in &cells.texts[..texts] {
        if text.is_null(row) {
            return Some("a text is null".into());
        }
    }
    for values in &cells.numbers {
        if values[row].is_negative() {
            return Some(format!("{} is negative", values[row]).into());
        }
    }
    let null = nullable.iter().find(|(_, c)| c.has_nulls() && c.is_null(row));
    null.map(|(name, _)| format!("{name} is null").into())
}

/// Collects rows; most rows belong to the slice of the row before, which needs no look-up.
#[derive(Default)]
struct Grouping {
    by_key: HashMap<SliceKey, usize>,
    slices: Vec<(SliceKey, Vec<FileRow>)>,
    last: usize,
    faults: Vec<(u32, String)>,
}

impl Grouping {
    fn add(&mut self, key: SliceKey, row: FileRow) {
        if self.slices.get(self.last).is_none_or(|(last, _)| *last != key) {
            self.last = *self.by_key.entry(key).or_insert_with(|| {
                self.slices.push((key, Vec::new()));
                self.slices.len() - 1
            });
        }
        self.slices[self.last].1.push(row);
    }

    fn fault(&mut self, kernel: u32, row: usize, why: &Reason) {
        if self.faults.iter().all(|(k, _)| *k != kernel) {
            self.faults.push((kernel, format!("row {row}: {why}")));
        }
    }

    fn finish(self) -> FileSlices {
        FileSlices {
            slices: self.slices.into_iter().collect(),
            faults: self.faults,
            ..FileSlices::default()
        }
    }
}
