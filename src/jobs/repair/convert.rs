//! Converts text tables to Parquet files as collectors write them, cell for cell.

use std::path::PathBuf;

use super::restate::TableContent;
use super::{DiskChange, Refused, RepairError, RepairOptions, disk, refusals};
use crate::base::error::{Exit, Reason, Result};
use crate::base::tree_files::TreeFiles;
use crate::base::words::{count, plural};
use crate::database::catalog::{Format, TableFile};
use crate::database::table::{Column, Table, each_row, encode};
use crate::jobs::site::Site;
use crate::specs::{ColumnKind, TableSpec};

/// A conversion of one text table to a Parquet file.
#[derive(Debug)]
pub struct Conversion {
    /// The path of the text table.
    pub path: String,
    /// The name of the Parquet file.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Size of the text table in bytes.
    pub before: usize,
    /// Size of the Parquet file in bytes.
    pub after: usize,
    /// True if the Parquet file exists already with the same cells, so that only the text table is removed.
    pub exists: bool,
}

/// The result of converting the selected text tables to Parquet files, before anything is written.
#[derive(Debug)]
pub struct ConversionPlan {
    /// Number of text tables in the selection.
    pub tables: usize,
    /// The conversions of tables that can be converted, sorted by path.
    pub conversions: Vec<Conversion>,
    /// Text tables that cannot be converted to Parquet, each with a reason.
    pub refused: Vec<Refused>,
    change: DiskChange,
}

/// Converts the selected text tables to Parquet in memory. Nothing is written to disk.
///
/// # Errors
///
/// Returns an error if there is no database, or if the selection names something unknown. Tables that cannot be
/// converted are in [`ConversionPlan::refused`].
pub fn run(options: &RepairOptions) -> Result<ConversionPlan> {
    let (site, tree) = super::open(options)?;
    let work = |file: &TableFile| convert(&site, &tree, file);
    let made = super::map(&site, |file| file.format == Format::Csv, work);
    let mut change = DiskChange::of(&site, tree);
    let tables = made.len();
    let (mut conversions, mut refused) = (Vec::new(), Vec::new());
    for made in made {
        match made.and_then(|made| made.add_to(&mut change)) {
            Ok(conversion) => conversions.push(conversion),
            Err(why) => refused.push(why),
        }
    }
    Ok(ConversionPlan { tables, conversions, refused, change })
}

/// The new Parquet file of a converted text table, with the paths of both files.
struct ConvertedFiles {
    conversion: Conversion,
    table: String,
    text: PathBuf,
    target: PathBuf,
    bytes: Vec<u8>,
}

impl ConvertedFiles {
    /// Adds the new Parquet file to `change`, with the update of the sidecar and the removal of the text table. Refuses
    /// the conversion if another text table has the same target file, or if the sidecar cannot be updated.
    fn add_to(self, change: &mut DiskChange) -> Result<Conversion, Refused> {
        let Self { conversion, table, text, target, bytes } = self;
        let refused = |why| Refused { path: conversion.path.clone(), why };
        if change.files.iter().any(|(path, _)| *path == target) {
            return Err(refused(RepairError::SameTarget(conversion.name.clone())));
        }
        let now = TableContent { table: &table, rows: conversion.rows as u64, bytes: &bytes };
        change.restate(&target, &now).map_err(|why| refused(why.into()))?;
        change.gone.push(text);
        change.files.extend((!conversion.exists).then_some((target, bytes)));
        Ok(conversion)
    }
}

fn convert(site: &Site, tree: &TreeFiles, file: &TableFile) -> Result<ConvertedFiles, RepairError> {
    let (text, table) = super::read(site, file)?;
    let path = disk(file)?.to_owned();
    let target = path.with_extension("parquet");
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let columns = collected(table, site.specs().tables.get(&file.table).map(AsRef::as_ref));
    let rows = same_cells(&columns, &text)?;
    let existing = tree.read(&target)?;
    let exists = existing.is_some();
    let bytes = match existing {
        Some(bytes) => checked(bytes, &name, &columns, &text)?,
        None => encode(&columns)?,
    };
    let conversion = Conversion {
        path: file.entry.path.clone(),
        name,
        rows,
        columns: columns.len(),
        before: text.len(),
        after: bytes.len(),
        exists,
    };
    Ok(ConvertedFiles { conversion, table: file.table.clone(), text: path, target, bytes })
}

/// Returns the columns with the types that collectors write: measured columns are floating-point
/// even if all cells are whole numbers.
pub(crate) fn collected(table: Table, spec: Option<&TableSpec>) -> Vec<(String, Column)> {
    let mut columns = table.into_columns();
    for (name, column) in &mut columns {
        let kind = spec.and_then(|s| s.column(name)).map(|c| c.kind);
        if matches!(kind, Some(ColumnKind::Measure(_) | ColumnKind::Number))
            && let Column::Int { nulls, .. } = &*column
        {
            let nulls = nulls.clone();
            *column = Column::Float { values: column.numbers(column.len()).into_owned(), nulls };
        }
    }
    columns
}

/// Checks that an existing Parquet file, whose content is `bytes`, has the same cells as the text table. Returns
/// `bytes` unchanged, or an error if the cells differ.
fn checked(
    bytes: Vec<u8>,
    name: &str,
    columns: &[(String, Column)],
    text: &[u8],
) -> Result<Vec<u8>, RepairError> {
    let name = name.to_owned();
    let existing = match Table::decode(&bytes, Format::Parquet, &|_| false) {
        Ok(table) => table.into_columns(),
        Err(fault) => return Err(RepairError::BrokenTarget { name, fault }),
    };
    let same_names = columns.iter().map(|(n, _)| n).eq(existing.iter().map(|(n, _)| n));
    if !same_names || same_cells(&existing, text).is_err() {
        return Err(RepairError::OtherTarget(name));
    }
    Ok(bytes)
}

/// Checks that columns have the same cells as a text table, and returns the number of rows.
fn same_cells(columns: &[(String, Column)], text: &[u8]) -> Result<usize, Reason> {
    let rows = columns.first().map_or(0, |(_, c)| c.len());
    let found = each_row(text, |row, cells| same_row(columns, rows, row, cells))?;
    if found == rows { Ok(rows) } else { Err(other_rows(rows)) }
}

fn other_rows(rows: usize) -> Reason {
    format!("the {rows} rows of the new file would differ from its lines").into()
}

/// Checks that row `row` has the same cells as one line of a text table. `rows` is the total number of rows.
fn same_row(
    columns: &[(String, Column)],
    rows: usize,
    row: usize,
    cells: &[&str],
) -> Result<(), Reason> {
    if row >= rows || cells.len() != columns.len() {
        return Err(other_rows(rows));
    }
    let mut both = columns.iter().zip(cells);
    let Some(((name, column), cell)) = both.find(|((_, c), cell)| !same_cell(c, row, cell)) else {
        return Ok(());
    };
    let (before, now) = (serde_json::Value::from(*cell), column.json(row));
    Err(format!("the cell {before} in column {name}, row {row}, would become {now}").into())
}

fn same_cell(column: &Column, row: usize, cell: &str) -> bool {
    if column.is_null(row) {
        return cell.is_empty();
    }
    match column {
        Column::Int { values, .. } => cell.trim().parse() == Ok(values[row]),
        Column::Float { values, .. } => {
            cell.trim().parse().is_ok_and(|v: f64| v.to_bits() == values[row].to_bits())
        }
        Column::Bool { values, .. } => {
            cell.trim().eq_ignore_ascii_case(if values[row] { "true" } else { "false" })
        }
        Column::Text { .. } => column.text(row) == Some(cell),
        Column::Other(_) => false,
    }
}

impl ConversionPlan {
    /// Returns the exit code: findings if a table was refused, inconclusive if there are no text
    /// tables.
    pub fn exit(&self) -> Exit {
        if self.tables == 0 {
            Exit::Inconclusive
        } else if self.refused.is_empty() {
            Exit::Clean
        } else {
            Exit::Findings
        }
    }

    /// Writes the Parquet files, then removes the text tables.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written or removed.
    pub fn write(self) -> Result<()> {
        self.change.sweep();
        self.change.make(None)
    }

    /// Renders the result for people; `written` is true if the conversion was written.
    pub fn text(&self, written: bool) -> String {
        let mut out = refusals(&self.refused);
        for c in &self.conversions {
            out += &if c.exists {
                format!("{}: {} has the same cells, so the text file is removed\n", c.path, c.name)
            } else {
                format!(
                    "{}: {} of {} → {}, {} → {} bytes\n",
                    c.path,
                    plural(c.rows, "row"),
                    plural(c.columns, "column"),
                    c.name,
                    count(c.before),
                    count(c.after)
                )
            };
        }
        if !out.is_empty() {
            out.push('\n');
        }
        if self.tables == 0 {
            return out + "nothing was converted: the database has no text tables\n";
        }
        let all = plural(self.tables, "text table");
        out += &format!("{} of {all} ", count(self.conversions.len()));
        out + if written {
            "converted\n"
        } else {
            "would be converted\ndry run: nothing was written; add --write to convert\n"
        }
    }
}
