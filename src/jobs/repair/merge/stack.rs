//! A table and the files of a run as one table: the table's rows first, then each file's.

use std::collections::BTreeSet;
use std::ops::Range;

use super::refusal::{NotMerged, refuse};
use super::shards::RunFile;
use crate::base::words::{names, plural};
use crate::database::catalog::{Place, TableFile};
use crate::database::source::{Entry, EntryKind};
use crate::database::table::{Column, Table, TableFault};
use crate::specs::{Specs, Unit, measured_unit};

/// Columns that say where a row comes from. They do not make it another measurement.
pub(super) const ORIGIN: [&str; 3] = ["framework", "version", "device"];

/// Rows of a table and of a run.
#[derive(Debug)]
pub(super) struct Stack {
    /// All rows.
    pub(super) table: Table,
    /// The number of rows that are the table's own.
    pub(super) own: usize,
    /// The files of the run by name, each with its rows.
    pub(super) files: Vec<(String, Range<usize>)>,
}

impl Stack {
    /// Reads a run and puts it below the table's own rows. With `incomplete`, empty files are left out; `None` if no
    /// rows are left, neither of the run nor of the table.
    pub(super) fn read(
        file: &TableFile,
        own: Option<Table>,
        run: &[RunFile],
        specs: &Specs,
        incomplete: bool,
    ) -> Result<Option<Self>, NotMerged> {
        let mut names = Vec::new();
        let mut tables: Vec<Table> = own.into_iter().collect();
        let own = tables.first().map_or(0, |table| table.rows);
        for source in run {
            let name = source.shown();
            let table = match read(source, file, specs) {
                Ok(table) => table,
                Err(TableFault::Empty) if incomplete => continue,
                Err(TableFault::Empty) => {
                    return refuse(format!(
                        "{name} has no rows, so this shard is lost; --incomplete merges without it"
                    ));
                }
                Err(fault) => return refuse(format!("{name}: {fault}")),
            };
            if table.torn.rows > 0 {
                return refuse(format!("{name}: {}", table.torn));
            }
            check_columns(tables.first().unwrap_or(&table), &name, &table)?;
            names.push(name);
            tables.push(table);
        }
        let Some(first) = tables.first() else { return Ok(None) };
        let columns = first.columns().map(|(name, _)| {
            let column = joined(tables.iter(), name).map_err(NotMerged::refused)?;
            Ok((name.to_owned(), column))
        });
        let columns = columns.collect::<Result<Vec<(String, Column)>, NotMerged>>()?;
        let mut end = own;
        let files = names.into_iter().zip(&tables[usize::from(own > 0)..]).map(|(name, table)| {
            let start = end;
            end += table.rows;
            (name, start..end)
        });
        let files = files.collect();
        Ok(Some(Self { table: Table::of(end, columns), own, files }))
    }

    /// The file that a row of the run comes from, and its number there.
    pub(super) fn origin(&self, row: usize) -> (&str, usize) {
        let file = self.files.iter().find(|(_, rows)| rows.contains(&row));
        file.map_or(("", row), |(name, rows)| (name, row - rows.start))
    }

    /// Refuses rows of another device, framework or version than the table's. All devices of the table's
    /// system are right.
    pub(super) fn check_origin(&self, place: &Place, specs: &Specs) -> Result<(), NotMerged> {
        let system = specs.systems.get(&place.system);
        for name in ORIGIN {
            let Some(column) = self.table.column(name) else { continue };
            let mut known: BTreeSet<&str> =
                (0..self.own).filter_map(|row| column.text(row)).collect();
            if name == "version" && system.is_some() {
                known.insert(&place.version);
            }
            let run = self.own..self.table.rows;
            if known.is_empty() {
                // The rows of a new table all have the origin of its first row.
                known.extend(run.clone().next().and_then(|row| column.text(row)));
            }
            let device_of = system.filter(|_| name == "device");
            let is_right = |row: usize| {
                let text = column.text(row).unwrap_or("");
                device_of.map_or_else(|| known.contains(text), |system| system.is_device(text))
            };
            let wrong: Vec<usize> = run.filter(|row| !is_right(*row)).collect();
            let Some(first) = wrong.first() else { continue };
            let wanted = match device_of {
                Some(system) => {
                    let devices = names(system.devices.iter().map(String::as_str));
                    format!("a device of {}, {devices}", place.system)
                }
                None => names(known.into_iter()),
            };
            return refuse(format!(
                "{}: {name} is '{}' in {} instead of {wanted}",
                self.origin(*first).0,
                column.text(*first).unwrap_or(""),
                plural(wrong.len(), "row"),
            ));
        }
        Ok(())
    }
}

/// Refuses a file whose columns are not the table's, in name or type. A file may lack the power, which
/// was not measured then.
fn check_columns(model: &Table, file: &str, table: &Table) -> Result<(), NotMerged> {
    let lacks = |table: &Table, of: &Table| -> Vec<String> {
        let columns = of.columns().map(|(name, _)| name);
        columns.filter(|name| table.column(name).is_none()).map(str::to_owned).collect()
    };
    let mut missing = lacks(table, model);
    missing.retain(|name| measured_unit(name) != Some(Unit::W));
    let parts = [("lacks", missing), ("also has", lacks(model, table))];
    let parts = parts.iter().filter(|(_, columns)| !columns.is_empty());
    let parts: Vec<String> = parts
        .map(|(verb, columns)| format!("it {verb} {}", names(columns.iter().map(String::as_str))))
        .collect();
    if !parts.is_empty() {
        return refuse(format!(
            "{file} has another header than the table: {}",
            parts.join(" and ")
        ));
    }
    for (name, _) in model.columns() {
        joined([model, table].into_iter(), name)
            .map_err(|why| NotMerged::refused(format!("{file}: {why}")))?;
    }
    Ok(())
}

/// A column of several tables in one; nulls where a table lacks it.
fn joined<'a>(
    tables: impl Iterator<Item = &'a Table> + Clone,
    name: &str,
) -> Result<Column, String> {
    let absent: Vec<Column> = tables.clone().map(|t| Column::null_numbers(t.rows)).collect();
    let parts = tables.zip(&absent).map(|(t, nulls)| t.column(name).unwrap_or(nulls));
    let parts: Vec<&Column> = parts.collect();
    Column::joined(&parts).map_err(|why| format!("column {name} contains {why}"))
}

/// Reads a file of a run as a part of the table.
fn read(source: &RunFile, file: &TableFile, specs: &Specs) -> Result<Table, TableFault> {
    let bytes =
        std::fs::read(&source.path).map_err(|e| TableFault::Unreadable(e.kind().to_string()))?;
    let kind = EntryKind::Path(source.path.clone());
    let entry = Entry { path: source.shown(), kind, size: bytes.len() as u64 };
    let file = TableFile { entry, format: source.format, ..file.clone() };
    file.decode(specs, &bytes)
}
