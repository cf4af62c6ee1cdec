//! A table and the files of a run as one table: the table's rows first, then each file's.

use std::collections::BTreeSet;
use std::ops::Range;

use super::objection::Objection;
use super::shards::RunFile;
use crate::database::catalog::{Place, TableFile};
use crate::database::source::{Entry, EntryKind};
use crate::database::table::{Column, Table, TableFault};
use crate::specs::{Specs, Unit, measured_unit};

/// Columns that say where a row comes from and make no other measurement of it.
pub const ORIGIN: [&str; 3] = ["framework", "version", "device"];

/// Rows of a table and of a run.
#[derive(Debug)]
pub struct Stack {
    /// All of them.
    pub table: Table,
    /// How many are the table's own.
    pub own: usize,
    /// The rows of each file of the run that could be read, with its number.
    pub files: Vec<(usize, Range<usize>)>,
}

/// A file of the run, read.
struct RunPart {
    number: usize,
    table: Table,
}

impl Stack {
    /// Reads a run and puts it below the table's own rows; none where nothing of it can be read.
    pub fn read(
        file: &TableFile,
        own: Option<&Table>,
        run: &[RunFile],
        specs: &Specs,
        incomplete: bool,
        objections: &mut Vec<Objection>,
    ) -> Option<Self> {
        let mut parts = Vec::new();
        for (number, source) in run.iter().enumerate() {
            match read(source, file, specs) {
                Ok(table) if table.torn.rows > 0 => {
                    objections.push(Objection::Torn { file: source.shown(), torn: table.torn });
                }
                Ok(table) => parts.push(RunPart { number, table }),
                Err(TableFault::Empty) if incomplete => {}
                Err(fault) => {
                    objections.push(Objection::Unreadable { file: source.shown(), fault });
                }
            }
        }
        Self::join(own, parts, run, objections)
    }

    fn join(
        own: Option<&Table>,
        mut parts: Vec<RunPart>,
        run: &[RunFile],
        objections: &mut Vec<Objection>,
    ) -> Option<Self> {
        let model = own.or(parts.first().map(|p| &p.table))?;
        let names: Vec<String> = model.columns().map(|(name, _)| name.to_owned()).collect();
        parts.retain(|part| {
            let (mut missing, unknown) = header(&names, &part.table);
            // A run may have measured no power: what it replaces must not have any, then.
            missing.retain(|name| measured_unit(name) != Some(Unit::W));
            let fits = missing.is_empty() && unknown.is_empty();
            if !fits {
                let file = run[part.number].shown();
                objections.push(Objection::Header { file, missing, unknown });
            }
            fits
        });
        if parts.is_empty() {
            return None;
        }
        let tables = || own.into_iter().chain(parts.iter().map(|p| &p.table));
        let mut columns = Vec::new();
        for name in names {
            let absent: Vec<Column> = tables().map(|t| Column::null_numbers(t.rows)).collect();
            let cells = tables().zip(&absent).map(|(t, nulls)| t.column(&name).unwrap_or(nulls));
            let all: Vec<&Column> = cells.collect();
            match Column::joined(&all) {
                Ok(column) => columns.push((name, column)),
                Err(why) => {
                    // The first of the run that does not fit the columns before it.
                    let fits = |n: &usize| Column::joined(&all[..=*n]).is_err();
                    let at = (0..all.len()).find(fits).unwrap_or(0);
                    let part = at.saturating_sub(usize::from(own.is_some()));
                    let file = parts.get(part).map_or_else(String::new, |p| run[p.number].shown());
                    objections.push(Objection::Type { file, column: name, why: why.to_string() });
                }
            }
        }
        if objections.iter().any(|o| matches!(o, Objection::Type { .. })) {
            return None;
        }
        let own = own.map_or(0, |t| t.rows);
        let mut end = own;
        let files = parts.iter().map(|part| {
            let start = end;
            end += part.table.rows;
            (part.number, start..end)
        });
        let files: Vec<_> = files.collect();
        Some(Self { table: Table::of(end, columns), own, files })
    }

    /// The number of the file that a row of the run comes from, and its number there.
    pub fn origin(&self, row: usize) -> Option<(usize, usize)> {
        let (number, rows) = self.files.iter().find(|(_, rows)| rows.contains(&row))?;
        Some((*number, row - rows.start))
    }

    /// Objects to rows of another device, framework or version than the table's. A system's own devices
    /// are right whatever the table says.
    pub fn check_origin(
        &self,
        place: &Place,
        specs: &Specs,
        run: &[RunFile],
        objections: &mut Vec<Objection>,
    ) {
        let system = specs.systems.get(&place.system);
        for name in ORIGIN {
            let Some(column) = self.table.column(name) else { continue };
            let own: BTreeSet<&str> = (0..self.own).filter_map(|row| column.text(row)).collect();
            let mut wanted: Vec<String> = own.iter().map(|text| (*text).to_owned()).collect();
            // A folder that is no place in a database does not say a version.
            let says = name == "version" && system.is_some();
            if says && !own.contains(place.version.as_str()) {
                wanted.push(place.version.clone());
            }
            if wanted.is_empty() {
                // Of a table that is made of shards, all say what the first says.
                wanted.extend(column.text(self.own).map(str::to_owned));
            }
            let machine = system.filter(|_| name == "device");
            if let Some(system) = machine {
                wanted = vec![format!("a device of {}", place.system)];
                wanted.extend(own.iter().filter(|d| system.is_device(d)).map(|d| (*d).to_owned()));
            }
            let is_right = |text: &str| match machine {
                Some(system) => system.is_device(text),
                None => wanted.iter().any(|w| w == text),
            };
            for (number, rows) in &self.files {
                let text = |row: usize| column.text(row).unwrap_or("");
                let wrong: Vec<usize> = rows.clone().filter(|row| !is_right(text(*row))).collect();
                let Some(first) = wrong.first() else { continue };
                objections.push(Objection::Origin {
                    file: run[*number].shown(),
                    column: name,
                    rows: wrong.len(),
                    found: text(*first).to_owned(),
                    wanted: wanted.clone(),
                });
            }
        }
    }
}

/// Columns that a run's file lacks, and those that the table does not have.
fn header(names: &[String], table: &Table) -> (Vec<String>, Vec<String>) {
    let missing = names.iter().filter(|name| table.column(name).is_none()).cloned().collect();
    let unknown = table.columns().map(|(name, _)| name.to_owned());
    (missing, unknown.filter(|name| !names.contains(name)).collect())
}

/// Reads a file of a run as the table that it is a part of.
fn read(source: &RunFile, file: &TableFile, specs: &Specs) -> Result<Table, TableFault> {
    let bytes =
        std::fs::read(&source.path).map_err(|e| TableFault::Unreadable(e.kind().to_string()))?;
    let kind = EntryKind::Path(source.path.clone());
    let entry = Entry { path: source.shown(), kind, size: bytes.len() as u64 };
    let file = TableFile { entry, format: source.format, ..file.clone() };
    file.decode(specs, &bytes)
}
