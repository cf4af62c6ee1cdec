//! The cells of a decoded table as a loader reads them, and where each row belongs.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::combinations::Combinations;
use super::names::NameCodes;
use super::operations::TableName;
use super::slices::SliceKey;
use super::{Column, NULL_CODE, Reason, Table};

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
    /// Of `numbers` those, by place, that say where in its slice a row is and nothing else, not even whether the
    /// loader refuses it. The shape of a GEMM is among them: a lookup needs no rows of its very shape.
    pub inner: &'static [usize],
}

impl Columns {
    /// Their names, with those of what is read of every table: latency and kernel.
    pub fn names(self) -> BTreeSet<&'static str> {
        let own = self.texts.iter().chain(self.numbers).chain(self.optional_texts).copied();
        let optional = self.optional.iter().map(|(name, _)| *name);
        own.chain(optional).chain(["latency", "kernel_source"]).collect()
    }
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

/// A row of a decoded table, and where it belongs.
pub(super) struct LocatedRow {
    /// Its index.
    pub row: usize,
    /// Latency, ms.
    pub ms: f64,
    /// Its kernel_source.
    pub kernel: u32,
    /// Its slice and coordinates, `None` where the loader ignores it, or why it refuses the row.
    pub place: Result<Option<Located>, Reason>,
}

/// Which rows of a table are located.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rows {
    /// All of them.
    All,
    /// Of rows that differ only in where in their slice they are, the first.
    FirstOfEach,
}

/// Calls `each` on rows of a decoded table.
///
/// # Errors
///
/// Where a column is missing or of another type than the loader reads.
pub(super) fn locate_rows(
    table: &Table,
    name: TableName,
    names: &NameCodes,
    rows: Rows,
    mut each: impl FnMut(LocatedRow),
) -> Result<(), Reason> {
    let reads = name.columns();
    let kernels = Texts::new(table.column("kernel_source"), names);
    let mut cells = Cells { texts: Vec::new(), numbers: Vec::new(), optional: Vec::new(), row: 0 };
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
        .filter(|(_, column)| column.has_nulls())
        .collect();
    // Nearly no table has a cell that its loader refuses, and whole columns are looked at faster than rows.
    let has_negative =
        cells.numbers.iter().any(|values| values.iter().fold(0, |bits, n| bits | n) < 0);
    let may_refuse = has_negative || !nullable.is_empty();
    let first = (rows == Rows::FirstOfEach && !may_refuse)
        .then(|| outer_columns(&cells, kernels.codes, reads.inner).first_rows(table.rows));
    let locate = |row: usize| {
        cells.row = row;
        let refusal = || refused(&nullable, &cells, reads.texts.len(), row);
        let refusal = may_refuse.then(refusal).flatten();
        let place = refusal.map_or_else(|| name.locate(&cells, names), Err);
        each(LocatedRow { row, ms: latency[row], kernel: kernels.code(row), place });
    };
    match first {
        Some(first) => first.into_iter().for_each(locate),
        None => (0..table.rows).for_each(locate),
    }
    Ok(())
}

/// The columns that say more of a row than its place in its slice.
fn outer_columns<'a>(
    cells: &Cells<'a>,
    kernels: Option<&'a [u32]>,
    inner: &[usize],
) -> Combinations<'a> {
    let mut outer = Combinations::default();
    let texts = cells.texts.iter().filter_map(|texts| texts.codes);
    texts.chain(kernels).for_each(|codes| outer.add_codes(codes));
    let numbers = cells.numbers.iter().enumerate().filter(|(place, _)| !inner.contains(place));
    numbers.for_each(|(_, values)| outer.add_numbers(values));
    for (column, _) in &cells.optional {
        if let Some(Column::Int { values, .. }) = column {
            outer.add_numbers(values);
        }
    }
    outer
}

fn wrong_column(name: &str, found: Option<&Column>, wanted: &str) -> Reason {
    let why = match found {
        None => format!("the table has no column {name}"),
        Some(column) => format!("{name} contains {}, not {wanted}", column.kind_name()),
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
    let null = nullable.iter().find(|(_, c)| c.is_null(row));
    null.map(|(name, _)| format!("{name} is null").into())
}
