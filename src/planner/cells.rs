//! The cells of a decoded table as a loader reads them: to which slice a row belongs, and where in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::names::NameCodes;
use super::operations::TableName;
use super::slices::SliceKey;
use super::{CodedColumn, Column, Combinations, IntValues, NULL_CODE, Reason, Table};

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
    /// The coordinates of a row in its slice, outer first, at most three: each the sum of some `numbers`, by place.
    pub at: &'static [&'static [usize]],
    /// Of `numbers` those, by place, that say where in its slice a row is and nothing else, not even whether the
    /// loader refuses it.
    pub inner: &'static [usize],
    /// Of `numbers` those, by place, that distinguish slices which one lookup interpolates between: the shape of a
    /// GEMM, which needs no rows of its very shape.
    pub between: &'static [usize],
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
    numbers: Vec<&'a IntValues>,
    optional: Vec<(Option<&'a Column>, u64)>,
    row: usize,
}

/// A column of texts, and the number of each.
struct Texts<'a> {
    codes: Option<&'a [u32]>,
    dict: &'a [Arc<str>],
    /// Rows in which it is null.
    nulls: usize,
    numbers: Vec<u32>,
    empty: u32,
}

impl<'a> Texts<'a> {
    fn new(column: Option<&'a Column>, names: &NameCodes) -> Self {
        let empty = names.code("");
        match column {
            Some(Column::Text { codes, dict, nulls }) => {
                let numbers = dict.iter().map(|text| names.code(text)).collect();
                Self { codes: Some(codes), dict, nulls: *nulls, numbers, empty }
            }
            _ => Self { codes: None, dict: &[], nulls: 0, numbers: Vec::new(), empty },
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
        self.numbers[column].get(self.row) as u64
    }

    /// A number as part of a slice's key.
    pub fn part(&self, column: usize) -> u32 {
        self.number(column) as u32
    }

    /// A number that may be absent.
    pub fn optional(&self, column: usize) -> u64 {
        let (values, otherwise) = self.optional[column];
        match values {
            Some(Column::Int { values, .. }) => {
                u64::try_from(values.get(self.row)).unwrap_or(otherwise)
            }
            _ => otherwise,
        }
    }
}

/// One of the coordinates of all rows.
enum Coordinates<'a> {
    /// 0: it is not used.
    None,
    Column(&'a CodedColumn),
    Sum(Vec<&'a CodedColumn>),
}

impl Coordinates<'_> {
    /// That of a row.
    #[inline]
    fn of(&self, row: usize) -> u64 {
        match self {
            Self::None => 0,
            Self::Column(column) => column.get(row) as u64,
            // Of a row that the loader refuses a size may be anything.
            Self::Sum(columns) => {
                let sizes = columns.iter().map(|column| column.get(row) as u64);
                sizes.fold(0, u64::wrapping_add)
            }
        }
    }
}

/// The rows of a decoded table as its loader reads them.
pub(super) struct LoadedRows<'a> {
    name: TableName,
    names: &'a NameCodes,
    cells: Cells<'a>,
    kernels: Texts<'a>,
    /// In ms.
    latency: &'a [f64],
    at: [Coordinates<'a>; 3],
    /// Columns with nulls that the loader refuses.
    nullable: Vec<(&'static str, &'a Column)>,
    has_negative: bool,
}

impl<'a> LoadedRows<'a> {
    /// Those of a table.
    ///
    /// # Errors
    ///
    /// Where a column is missing or of another type than the loader reads.
    pub fn of(table: &'a Table, name: TableName, names: &'a NameCodes) -> Result<Self, Reason> {
        let reads = name.columns();
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
        let nullable = (reads.texts.iter().chain(reads.numbers))
            .chain(&["latency"])
            .filter_map(|name| Some((*name, table.column(name)?)))
            .filter(|(_, column)| column.has_nulls());
        let mut at = [const { Coordinates::None }; 3];
        for (at, places) in at.iter_mut().zip(reads.at) {
            *at = match places {
                [place] => Coordinates::Column(cells.numbers[*place].coded()),
                places => {
                    Coordinates::Sum(places.iter().map(|at| cells.numbers[*at].coded()).collect())
                }
            };
        }
        // Nearly no table has a cell that its loader refuses, and whole columns are looked at faster than rows.
        let mut spans = cells.numbers.iter().filter_map(|values| values.coded().span());
        let has_negative = spans.any(|[least, _]| least < 0);
        Ok(Self {
            name,
            names,
            kernels: Texts::new(table.column("kernel_source"), names),
            latency,
            at,
            nullable: nullable.collect(),
            has_negative,
            cells,
        })
    }

    /// The table's name.
    pub fn name(&self) -> TableName {
        self.name
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.latency.len()
    }

    /// The latency of a row in ms.
    pub fn ms(&self, row: usize) -> f64 {
        self.latency[row]
    }

    /// The kernel_source of a row.
    pub fn kernel(&self, row: usize) -> u32 {
        self.kernels.code(row)
    }

    /// The coordinates of a row; unused ones are 0.
    #[inline]
    pub fn at(&self, row: usize) -> [u64; 3] {
        // Written out: for each of millions of rows `map` calls a function three times.
        let [outer, middle, inner] = &self.at;
        [outer.of(row), middle.of(row), inner.of(row)]
    }

    /// The slice of a row, `None` where the loader ignores it. Rows that are alike in the columns of
    /// [`outer`](Self::outer) are of one.
    ///
    /// # Errors
    ///
    /// Where the loader refuses the row, which fails the whole table.
    pub fn slice(&mut self, row: usize) -> Result<Option<SliceKey>, Reason> {
        self.cells.row = row;
        self.name.slice(&self.cells, self.names)
    }

    /// Whether a row may have a [`refused_cell`](Self::refused_cell): in nearly no table one does.
    pub fn may_have_refused_cells(&self) -> bool {
        self.has_negative || !self.nullable.is_empty()
    }

    /// Why the loader cannot read a row: a null, or a number that is negative or beyond its range.
    pub fn refused_cell(&self, row: usize) -> Option<Reason> {
        let texts = self.name.columns().texts.len();
        for text in &self.cells.texts[..texts] {
            if text.is_null(row) {
                return Some("a text is null".into());
            }
        }
        for values in &self.cells.numbers {
            let value = values.get(row);
            if value.is_negative() {
                return Some(format!("{value} is negative").into());
            }
        }
        let null = self.nullable.iter().find(|(_, c)| c.is_null(row));
        null.map(|(name, _)| format!("{name} is null").into())
    }

    /// The columns that decide the slice of a row, and its kernel.
    pub fn outer(&self) -> Combinations<'a> {
        self.without(&[])
    }

    /// Of [`outer`](Self::outer) those that a lookup needs rows of.
    pub fn asked_for(&self) -> Combinations<'a> {
        self.without(self.name.columns().between)
    }

    fn without(&self, places: &[usize]) -> Combinations<'a> {
        let inner = self.name.columns().inner;
        let mut outer = Combinations::default();
        for texts in self.cells.texts.iter().chain([&self.kernels]) {
            if let Some(codes) = texts.codes {
                outer.add_texts(codes, texts.dict.len(), texts.nulls);
            }
        }
        for (place, values) in self.cells.numbers.iter().enumerate() {
            if !inner.contains(&place) && !places.contains(&place) {
                outer.add_numbers(values.coded());
            }
        }
        for (column, _) in &self.cells.optional {
            if let Some(Column::Int { values, .. }) = column {
                outer.add_numbers(values.coded());
            }
        }
        outer
    }
}

fn wrong_column(name: &str, found: Option<&Column>, wanted: &str) -> Reason {
    let why = match found {
        None => format!("the table has no column {name}"),
        Some(column) => format!("{name} contains {}, not {wanted}", column.kind_name()),
    };
    why.into()
}
