//! Stacks a table and the files of a run into one table: the table's rows first, then the rows of
//! each file.

use std::collections::BTreeSet;
use std::ops::Range;

use super::options::{MergeFailure, refuse};
use super::shards::RunFile;
use crate::base::words::{names, plural};
use crate::database::catalog::{Place, TableFile};
use crate::database::table::{Column, Table, TableFault};
use crate::jobs::rows::entry;
use crate::specs::{Specs, Unit, measured_unit};

/// Columns that state the origin of a row. They do not distinguish measurements.
pub(super) const ORIGIN: [&str; 3] = ["framework", "version", "device"];

/// The rows of a table and of a run.
#[derive(Debug)]
pub(super) struct Stack {
    /// All rows: the table's rows first, then the run's.
    pub(super) table: Table,
    /// Number of rows that come from the table. All rows after these come from the run.
    pub(super) own: usize,
    /// The files of the run by name, each with its range of rows.
    pub(super) files: Vec<(String, Range<usize>)>,
}

impl Stack {
    /// Reads the files of a run and appends their rows to the rows of the table. If `incomplete` is true, files without
    /// rows are skipped. Returns `None` if neither the table nor the run has rows.
    pub(super) fn read(
        file: &TableFile,
        own: Option<Table>,
        run: &[RunFile],
        specs: &Specs,
        incomplete: bool,
    ) -> Result<Option<Self>, MergeFailure> {
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
            let column = joined(tables.iter(), name).map_err(MergeFailure::refused)?;
            Ok((name.to_owned(), column))
        });
        let columns = columns.collect::<Result<Vec<(String, Column)>, MergeFailure>>()?;
        let mut end = own;
        let files = names.into_iter().zip(&tables[usize::from(own > 0)..]).map(|(name, table)| {
            let start = end;
            end += table.rows;
            (name, start..end)
        });
        let files = files.collect();
        Ok(Some(Self { table: Table::of(end, columns), own, files }))
    }

    /// Returns the file that a row of the run comes from, and the row's index in that file, from 0.
    pub(super) fn origin(&self, row: usize) -> (&str, usize) {
        let file = self.files.iter().find(|(_, rows)| rows.contains(&row));
        file.map_or(("", row), |(name, rows)| (name, row - rows.start))
    }

    /// Refuses rows whose device, framework or version differs from the table's. All devices of the
    /// table's system are accepted.
    pub(super) fn check_origin(&self, place: &Place, specs: &Specs) -> Result<(), MergeFailure> {
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
                // All rows of a new table must have the origin of its first row.
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

/// Refuses a file whose columns differ from the table's in name or type. A column of power may be
/// absent.
fn check_columns(model: &Table, file: &str, table: &Table) -> Result<(), MergeFailure> {
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
            .map_err(|why| MergeFailure::refused(format!("{file}: {why}")))?;
    }
    Ok(())
}

/// Joins a column of several tables. Only a column of power may be missing in a table; its rows then have 0 W,
/// because the planner cannot read nulls.
fn joined<'a>(all: impl Iterator<Item = &'a Table> + Clone, name: &str) -> Result<Column, String> {
    let zeros = |table: &Table| Column::Float { values: vec![0.0; table.rows], nulls: None };
    let absent: Vec<Column> = all.clone().map(zeros).collect();
    let parts = all.zip(&absent).map(|(t, zeros)| t.column(name).unwrap_or(zeros));
    let parts: Vec<&Column> = parts.collect();
    Column::joined(&parts).map_err(|why| format!("column {name} contains {why}"))
}

/// Reads a file of a run with the spec of the table.
fn read(source: &RunFile, file: &TableFile, specs: &Specs) -> Result<Table, TableFault> {
    let bytes =
        std::fs::read(&source.path).map_err(|e| TableFault::Unreadable(e.kind().to_string()))?;
    TableFile { entry: entry(&source.path), format: source.format, ..file.clone() }
        .decode(specs, &bytes)
}
