//! The rows of a new table, from a CSV, and the sidecar beside them.

use std::path::Path;

use super::files::{NewFile, NewPlace};
use super::options::NewOptions;
use super::system::kept;
use crate::base::error::{Error, Result};
use crate::base::words::plural;
use crate::database::catalog::{self, Format, TableFile};
use crate::database::sidecar::{Meta, by_hand};
use crate::database::table::{Column, RowLines, encode};
use crate::jobs::repair::convert::collected;
use crate::jobs::rows;
use crate::specs::system::System;
use crate::specs::{IDENTITY, TableSpec};

/// Returns the table with the rows of a CSV file, and the lines of these rows.
pub(super) fn file(
    place: &NewPlace,
    options: &NewOptions,
    from: &Path,
    system: &NewFile,
) -> Result<(NewFile, RowLines)> {
    let path = format!("{}/{}.parquet", place.folder, place.spec.name);
    if place.tree.has(&place.top.join(&path))? {
        let hint = "`perfdb-gate merge` adds rows to a table; remove the file to start again";
        return Err(Error::new(format!("{path} exists already"), hint));
    }
    let shown = from.display();
    let bytes = std::fs::read(from).map_err(|e| {
        Error::caused(format!("cannot read {shown}"), "--from takes a CSV file with a header", e)
    })?;
    let file = TableFile {
        entry: rows::entry(from),
        place: catalog::Place {
            system: options.system.clone(),
            family: Some(place.spec.family.clone()),
            backend: options.backend.clone(),
            version: options.version.clone(),
        },
        table: place.spec.name.clone(),
        format: Format::Csv,
    };
    let bad = |why: String| {
        let header = header(&place.spec);
        Error::new(
            format!("{shown}: {why}"),
            format!("the file is a CSV with these columns: {header}"),
        )
    };
    let table = file.decode(&place.specs, &bytes).map_err(|why| bad(why.to_string()))?;
    if table.torn.rows > 0 {
        return Err(bad(table.torn.to_string()));
    }
    let (count, lines) = (table.rows, table.lines.clone());
    let mut columns = collected(table, Some(&place.spec));
    let added = identify(&mut columns, place, system, count);
    let added =
        if added.is_empty() { String::new() } else { format!(", with {}", added.join(", ")) };
    let says = format!("{} of {shown}{added}", plural(count, "row"));
    Ok((NewFile { path, bytes: encode(&columns)?, text: None, says, exists: false }, lines))
}

/// Adds the columns that the command line answers, if the rows lack them; returns what was added.
fn identify(
    columns: &mut Vec<(String, Column)>,
    place: &NewPlace,
    system: &NewFile,
    rows: usize,
) -> Vec<String> {
    let read = System::parse(&place.system, &String::from_utf8_lossy(&system.bytes)).ok();
    let read = read.map(|system| system.with_facts(place.specs.systems.get(&place.system)));
    let devices = read.iter().flat_map(|system| &system.devices);
    let device = devices.into_iter().find(|name| !name.contains(['*', '?', '[']));
    let known = [
        ("framework", Some(&place.backend)),
        ("version", Some(&place.version)),
        ("device", device),
    ];
    let mut added = Vec::new();
    for (name, value) in known {
        let Some(value) = value.filter(|_| columns.iter().all(|(column, _)| column != name)) else {
            continue;
        };
        let column = Column::texts((0..rows).map(|_| Some(value)));
        columns.insert(added.len(), (name.to_owned(), column));
        added.push(format!("{name}={value}"));
    }
    added
}

/// Returns the sidecar: the existing one if it lists the table, else a new one.
pub(super) fn sidecar(place: &NewPlace, options: &NewOptions) -> Result<NewFile> {
    let path = format!("{}/collection_meta.yaml", place.folder);
    let table = &place.spec.name;
    let text = by_hand(&options.backend, &options.version, table);
    let Some(file) = kept(place, &path)? else {
        let bytes = text.clone().into_bytes();
        let says = "where the rows come from".to_owned();
        return Ok(NewFile { path, bytes, text: Some(text), says, exists: false });
    };
    let meta = Meta::parse(&String::from_utf8_lossy(&file.bytes));
    if meta.is_ok_and(|meta| meta.tables.contains_key(table)) {
        return Ok(file);
    }
    Err(Error::new(
        format!("{path} exists and does not list {table}"),
        format!("add two lines below `tables:`: `  {table}:` and `    status: complete`"),
    ))
}

/// Returns the header of a CSV with rows of the table; a `?` marks columns that a table may lack.
pub(super) fn header(spec: &TableSpec) -> String {
    let own = spec
        .columns
        .iter()
        .map(|column| format!("{}{}", column.name, if column.optional { "?" } else { "" }));
    IDENTITY.map(str::to_owned).into_iter().chain(own).collect::<Vec<_>>().join(",")
}
