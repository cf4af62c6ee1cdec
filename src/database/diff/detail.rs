//! Lists of changed rows as CSV files: one per table, and a summary. People open them in spreadsheets, so
//! cells are escaped and never become formulas.

use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::cells::comparable;
use super::{Diff, LatencyChange, RowDiff};
use crate::base::error::{Error, Result};
use crate::base::escape::file_stem;
use crate::base::files::{remove_leftovers, write_whole};
use crate::base::folder::{STAGED, lock_staged};
use crate::base::interrupt::{Leftover, RemovedOnSignal};
use crate::database::catalog::{Place, TableFile};
use crate::database::table::{Column, Table, inert, shown, shown_cell, write_cell};
use crate::specs::measured_unit;

/// The name of the CSV file with one line per changed table.
const SUMMARY: &str = "summary.csv";

/// The header of the CSV file with one line per changed table: the column names, separated by spaces.
const HEADER: &str = "path old_path status base_rows head_rows added removed changed median_ratio ratio_p5 ratio_p95 \
                      share_beyond_5_percent fault details";

/// A value of the base and a value of the head. Each is `None` if it does not exist.
type BaseAndHead<T> = (Option<T>, Option<T>);

/// An output folder for CSV files that list changed rows. The files appear in the folder together, after all of them
/// are written.
pub(crate) struct Details {
    folder: PathBuf,
    staged: TempDir,
    _removed: RemovedOnSignal,
    /// The lock that keeps other runs from deleting the temporary folder `staged`.
    _lock: File,
}

impl Details {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created or written to.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| cannot_write(folder, &e.to_string());
        std::fs::create_dir_all(folder).map_err(failed)?;
        remove_leftovers(folder);
        loop {
            let staged = tempfile::Builder::new().prefix(STAGED).tempdir_in(folder);
            let staged = staged.map_err(failed)?;
            let lock = File::open(staged.path()).map_err(failed)?;
            if lock_staged(&lock, staged.path()) {
                let removed = Leftover::Folder(staged.path().to_owned());
                let _removed = RemovedOnSignal::new(removed);
                return Ok(Self { folder: folder.to_owned(), staged, _removed, _lock: lock });
            }
        }
    }

    /// Writes a CSV file that lists the added, removed and changed rows of a table. Writes no file if there are no such
    /// rows.
    pub(super) fn write(
        &self,
        file: &TableFile,
        tables: BaseAndHead<&Table>,
        rows: &RowDiff,
        latencies: &[LatencyChange],
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let name = file_name(&file.place, &file.entry.path);
        let text = text(tables, rows, latencies)
            .map_err(|e| cannot_write(Path::new(&name), &e.to_string()))?;
        write_whole(&self.staged.path().join(name), &text)
    }

    /// Writes the summary and moves all files to the output folder.
    pub(crate) fn finish(self, diff: &Diff) -> Result<()> {
        let summary = self.staged.path().join(SUMMARY);
        let text = self.summary(diff).map_err(|e| cannot_write(&summary, &e.to_string()))?;
        write_whole(&summary, &text)?;
        let failed = |e: std::io::Error| cannot_write(&self.folder, &e.to_string());
        for item in std::fs::read_dir(self.staged.path()).map_err(failed)? {
            let item = item.map_err(failed)?;
            std::fs::rename(item.path(), self.folder.join(item.file_name())).map_err(failed)?;
        }
        Ok(())
    }

    fn summary(&self, diff: &Diff) -> Result<Vec<u8>, csv::Error> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record(HEADER.split(' '))?;
        for table in &diff.tables {
            let count = |n: Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
            let rows = |of: fn(&RowDiff) -> usize| count(table.rows.as_ref().map(|r| of(r) as u64));
            let ratio = |of: fn(&super::Ratios) -> f64| {
                table.ratios.as_ref().map(|r| of(r).to_string()).unwrap_or_default()
            };
            let written = table.rows.as_ref().is_some_and(|r| !r.is_empty());
            let record = [
                inert(&table.path),
                table.old_path.as_deref().map(inert).unwrap_or_default(),
                table.status.into_str().to_owned(),
                count(table.base_rows),
                count(table.head_rows),
                rows(|r| r.added.len()),
                rows(|r| r.removed.len()),
                rows(|r| r.changed.len()),
                ratio(|r| r.median),
                ratio(|r| r.low),
                ratio(|r| r.high),
                ratio(|r| r.far),
                table.fault.as_ref().map(|f| inert(&f.to_string())).unwrap_or_default(),
                if written { inert(&file_name(&table.place, &table.path)) } else { String::new() },
            ];
            out.write_record(record)?;
        }
        Ok(out.into_inner().map_err(csv::IntoInnerError::into_error)?)
    }
}

fn cannot_write(path: &Path, why: &str) -> Error {
    Error::new(
        format!("cannot write {}: {why}", path.display()),
        "check that the folder exists and that its disk has free space",
    )
}

/// Returns the name of the CSV file that lists a table's changed rows. It is made from the table's system, family,
/// backend, version and file name.
fn file_name(place: &Place, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let family = place.family.as_deref();
    let parts = [Some(place.system.as_str()), family, Some(&place.backend), Some(&place.version)];
    let parts: Vec<&str> = parts.into_iter().flatten().chain([file]).collect();
    file_stem(&parts, "__") + ".csv"
}

/// A column of a table in the CSV file that lists changed rows.
struct DetailField<'a> {
    name: &'a str,
    columns: BaseAndHead<&'a Column>,
    /// True if the column identifies rows, so that base and head share one CSV field. Other columns have one CSV field
    /// for the base and one for the head.
    key: bool,
}

/// Returns the columns of both tables: first those of the head in their order, then the columns that only the base has.
fn fields<'a>((base, head): BaseAndHead<&'a Table>) -> Vec<DetailField<'a>> {
    let names = |t: Option<&'a Table>| t.into_iter().flat_map(Table::columns).map(|(name, _)| name);
    let lost = names(base).filter(|name| head.is_none_or(|h| h.column(name).is_none()));
    names(head).chain(lost).map(|name| DetailField::new(name, (base, head))).collect()
}

impl<'a> DetailField<'a> {
    fn new(name: &'a str, (base, head): BaseAndHead<&'a Table>) -> Self {
        let columns = (base.and_then(|t| t.column(name)), head.and_then(|t| t.column(name)));
        let shared = match columns {
            (Some(b), Some(h)) => comparable(b, h),
            _ => base.is_none() || head.is_none(),
        };
        Self { name, columns, key: shared && measured_unit(name).is_none() }
    }
}

/// Returns the CSV text that lists changed rows. Each line states the kind of change, the row numbers and the cells.
fn text(
    tables: BaseAndHead<&Table>,
    rows: &RowDiff,
    latencies: &[LatencyChange],
) -> Result<Vec<u8>, csv::Error> {
    let mut lines = Lines::new(fields(tables))?;
    for (i, (base, head)) in rows.changed.iter().enumerate() {
        let ratio = latencies.get(i).and_then(LatencyChange::ratio);
        lines.write("changed", (Some(*base), Some(*head)), ratio)?;
    }
    for row in &rows.removed {
        lines.write("removed", (Some(*row), None), None)?;
    }
    for row in &rows.added {
        lines.write("added", (None, Some(*row)), None)?;
    }
    lines.out.into_inner().map_err(|e| e.into_error().into())
}

/// The writer of the CSV text that lists a table's changed rows.
struct Lines<'a> {
    out: csv::Writer<Vec<u8>>,
    fields: Vec<DetailField<'a>>,
    /// A reused buffer for the text of a cell.
    cell: String,
}

impl<'a> Lines<'a> {
    /// Creates a writer, and writes the header line.
    fn new(fields: Vec<DetailField<'a>>) -> Result<Self, csv::Error> {
        let mut out = csv::Writer::from_writer(Vec::new());
        for name in ["change", "base_row", "head_row"] {
            out.write_field(name)?;
        }
        for field in &fields {
            if field.key {
                out.write_field(inert(field.name))?;
            } else {
                out.write_field(inert(&format!("base_{}", field.name)))?;
                out.write_field(inert(&format!("head_{}", field.name)))?;
            }
        }
        out.write_field("ratio")?;
        out.write_record(None::<&[u8]>)?;
        Ok(Self { out, fields, cell: String::new() })
    }

    fn write(
        &mut self,
        change: &str,
        (base, head): BaseAndHead<u32>,
        ratio: Option<f64>,
    ) -> Result<(), csv::Error> {
        let Self { out, fields, cell } = self;
        out.write_field(change)?;
        write_cell(out, cell, |to| shown(to, base))?;
        write_cell(out, cell, |to| shown(to, head))?;
        for DetailField { columns, key, .. } in fields {
            let before = columns.0.zip(base);
            let after = columns.1.zip(head);
            if *key {
                write_cell(out, cell, |to| shown_cell(to, after.or(before)))?;
            } else {
                write_cell(out, cell, |to| shown_cell(to, before))?;
                write_cell(out, cell, |to| shown_cell(to, after))?;
            }
        }
        write_cell(out, cell, |to| shown(to, ratio))?;
        out.write_record(None::<&[u8]>)
    }
}
