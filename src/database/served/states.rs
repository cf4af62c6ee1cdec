//! The state of each row of a file when the loader reads the file by itself.

use super::rows::{Admission, guarded_rows, missing_column, repeats};
use crate::base::expr::{ExprError, Scope};
use crate::base::words::plural;
use crate::database::table::{Column, Keys, TableScope};
use crate::specs::{ColumnKind, Serves};

/// The state of a row for the loader.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RowState {
    /// The row answers queries of its key.
    Served,
    /// Another row of the same key is served.
    Shadowed,
    /// The loader does not read the row.
    Filtered,
    /// The loader refuses the whole table.
    Refused,
    /// No query can reach the row's version.
    NotQueryable,
}

/// Consecutive rows with one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct RowRun {
    /// The first row of the run, counted from 0.
    pub first: u32,
    /// The number of rows in the run.
    pub rows: u32,
    /// The state of the rows in the run.
    pub state: RowState,
    /// For shadowed rows, the row that is served instead of the first of them. The row after it is served
    /// instead of the second, and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_row: Option<u32>,
}

/// The reason why the loader refuses a table, with the first row that it cannot load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFault {
    /// The row; `None` if the reason is not a single row.
    pub row: Option<u32>,
    /// The row's kernel_source, since rows of other kernels in a donor's file are not read.
    pub kernel: Option<String>,
    /// The reason why the loader cannot load the row.
    pub why: String,
}

/// The states of all rows of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileRowStates {
    /// Runs of equal state that cover every row, in order.
    pub runs: Vec<RowRun>,
    /// The reasons why the loader refuses a table with these rows: the first fault of each kernel.
    pub faults: Vec<RowFault>,
}

impl FileRowStates {
    /// Returns the states of a table's rows when the table is loaded by itself.
    ///
    /// # Errors
    ///
    /// If a formula of the spec does not fit the table's columns.
    pub fn of(scope: &TableScope<'_>) -> Result<Self, ExprError> {
        let rows = scope.rows() as u32;
        let faults = row_faults(scope)?;
        let read = scope.spec.key.iter().flat_map(|part| part.value.columns());
        if scope.spec.key.is_empty() || missing_column(scope, read).is_some() {
            let run = RowRun { first: 0, rows, state: RowState::Served, by_row: None };
            return Ok(Self { runs: vec![run], faults });
        }
        let keys = Keys::new(&scope.spec.key, scope)?;
        let admission = Admission::new(scope)?;
        let shadows = shadows(scope.spec.serves, &admission, &keys);
        let mut this = Self { runs: Vec::new(), faults };
        if shadows.is_empty() && admission.reads_all() {
            this.runs.push(RowRun { first: 0, rows, state: RowState::Served, by_row: None });
            return Ok(this);
        }
        let mut shadows = shadows.into_iter().peekable();
        for row in 0..rows {
            let by_row = shadows.next_if(|(shadowed, _)| *shadowed == row).map(|(_, by)| by);
            let state = match by_row {
                Some(_) => RowState::Shadowed,
                None if admission.reads(row as usize) => RowState::Served,
                None => RowState::Filtered,
            };
            this.push(row, state, by_row);
        }
        Ok(this)
    }

    fn push(&mut self, row: u32, state: RowState, by_row: Option<u32>) {
        if let Some(last) = self.runs.last_mut()
            && last.state == state
            && last.by_row.map(|by| by + last.rows) == by_row
        {
            last.rows += 1;
            return;
        }
        self.runs.push(RowRun { first: row, rows: 1, state, by_row });
    }

    /// Returns the number of rows in the file.
    pub fn rows(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.rows)).sum()
    }

    /// Returns the reason why the loader refuses a table of the rows that `admits` selects by kernel.
    pub fn fault(&self, admits: impl Fn(Option<&str>) -> bool) -> Option<&RowFault> {
        self.faults.iter().find(|f| f.row.is_none() || admits(f.kernel.as_deref()))
    }
}

/// Returns the rows that no map serves, each with the row that is served instead, sorted by row.
fn shadows(serves: Serves, admission: &Admission<'_>, keys: &Keys<'_>) -> Vec<(u32, u32)> {
    let mut lost: Vec<(u32, u32)> = Vec::new();
    let hashes = keys.run_hashes();
    for bucket in 0..admission.buckets() {
        let goes = |row: usize| admission.goes(bucket, row);
        let later = repeats(&hashes, goes, |a, b| keys.equal(a, b));
        if serves == Serves::Last {
            let mut copies: Vec<(usize, usize)> =
                later.iter().map(|(row, first)| (*first, *row)).collect();
            copies.sort_unstable();
            for of_key in copies.chunk_by(|a, b| a.0 == b.0) {
                let Some((first, served)) = of_key.last().copied() else { continue };
                lost.push((first as u32, served as u32));
                let middle = &of_key[..of_key.len() - 1];
                lost.extend(middle.iter().map(|(_, row)| (*row as u32, served as u32)));
            }
        } else {
            lost.extend(later.into_iter().map(|(row, first)| (row as u32, first as u32)));
        }
    }
    lost.sort_unstable();
    if admission.buckets() > 1 {
        // A row in several maps is served if at least one of them serves it.
        let maps = |row: u32| {
            (0..admission.buckets()).filter(|b| admission.goes(*b, row as usize)).count()
        };
        let everywhere = lost.chunk_by(|a, b| a.0 == b.0).filter(|l| l.len() == maps(l[0].0));
        return everywhere.map(|l| l[0]).collect();
    }
    lost
}

/// Returns the faults for which the loader refuses a table: the first fault of each kernel.
///
/// # Errors
///
/// If a formula of the spec does not fit the table's columns.
pub(crate) fn row_faults(scope: &TableScope<'_>) -> Result<Vec<RowFault>, ExprError> {
    let spec = scope.spec;
    let whole = |why: String| vec![RowFault { row: None, kernel: None, why }];
    if spec.inferred {
        return Ok(Vec::new());
    }
    let mut found = RowFaults { kernels: scope.table.column("kernel_source"), faults: Vec::new() };
    for column in spec.columns.iter().filter(|c| !c.optional && spec.reads(&c.name)) {
        let Some(cells) = scope.table.column(&column.name) else {
            return Ok(whole(format!("the table has no column {}", column.name)));
        };
        let fits = match column.kind {
            ColumnKind::Text => matches!(cells, Column::Text { .. }),
            ColumnKind::Bool => matches!(cells, Column::Bool { .. }),
            ColumnKind::Int => matches!(cells, Column::Int { .. }),
            ColumnKind::Number | ColumnKind::Measure(_) => {
                matches!(cells, Column::Int { .. } | Column::Float { .. })
            }
        };
        if !fits {
            return Ok(whole(format!("{} contains {}", column.name, cells.kind_name())));
        }
        if cells.has_nulls() {
            found.add((0..cells.len()).filter(|row| cells.is_null(*row)), || {
                format!("{} is null", column.name)
            });
        }
        if let (Column::Int { values, .. }, ColumnKind::Int) = (cells, column.kind)
            && values.coded().span().is_some_and(|[least, _]| least < 0)
        {
            found.add((0..values.count()).filter(|row| values.get(*row) < 0), || {
                format!("{} is negative", column.name)
            });
        }
    }
    let needed = spec.key.iter().flat_map(|part| part.value.columns());
    if let Some(name) = missing_column(scope, needed) {
        return Ok(whole(format!("the table has no column {name}")));
    }
    if let Some(require) = &spec.require {
        if let Some(name) = missing_column(scope, require.columns().into_iter()) {
            return Ok(whole(format!("the table has no column {name}")));
        }
        let accepted = require.mask(scope)?;
        found.add((0..scope.rows()).filter(|row| !accepted.get(*row)), || {
            "the loader does not accept such a value".to_owned()
        });
    }
    if let Some(guard) = &spec.guard {
        found.add(guarded_rows(scope.table, guard).into_iter(), || {
            format!("{} varies while {} does not", guard.varies, guard.with)
        });
    }
    if spec.serves == Serves::Error {
        let keys = Keys::new(&spec.key, scope)?;
        let admission = Admission::new(scope)?;
        let goes = |row: usize| admission.reads(row);
        let copies = repeats(&keys.run_hashes(), goes, |a, b| keys.equal(a, b));
        let why = || format!("{} repeat a key", plural(copies.len(), "row"));
        found.add(copies.iter().map(|(row, _)| *row), why);
    }
    Ok(found.faults)
}

/// A collector of faults that keeps the first of each kernel.
struct RowFaults<'a> {
    kernels: Option<&'a Column>,
    faults: Vec<RowFault>,
}

impl RowFaults<'_> {
    fn add(&mut self, rows: impl Iterator<Item = usize>, why: impl Fn() -> String) {
        for row in rows {
            let kernel = self.kernels.and_then(|column| column.text(row));
            if self.faults.iter().all(|f| f.kernel.as_deref() != kernel) {
                let kernel = kernel.map(str::to_owned);
                self.faults.push(RowFault { row: Some(row as u32), kernel, why: why() });
            }
        }
    }
}
