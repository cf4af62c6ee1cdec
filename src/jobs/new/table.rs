//! The rows of a new table, from a CSV, and the sidecar beside them.

use std::ops::RangeInclusive;
use std::path::Path;

use super::files::{NewFile, NewPlace};
use super::options::NewOptions;
use super::system::kept;
use crate::base::error::{Error, Result};
use crate::base::stats::least_positive;
use crate::base::words::{Figure, plural};
use crate::database::catalog::{self, Format, TableFile};
use crate::database::sidecar::{Meta, by_hand};
use crate::database::table::{Column, RowLines, Table, TableScope, encode};
use crate::jobs::repair::convert::collected;
use crate::jobs::rows::{self, LoadedRows};
use crate::specs::system::System;
use crate::specs::{IDENTITY, Specs, TableSpec};

/// The expected range of a table's smallest latency, in ms. Outside this range, the latencies are probably not in ms.
const FASTEST_MS: RangeInclusive<f64> = 0.001..=3.0;

/// The rows of a CSV file as a new table.
pub(super) struct NewRows {
    /// The table's file.
    pub file: NewFile,
    /// The line number of each row in the CSV file.
    pub lines: RowLines,
    /// The spec that was learned from the rows; `None` if the table already has a spec.
    pub spec: Option<NewFile>,
    /// A warning that latencies are probably not in milliseconds; `None` if the unit is plausible.
    pub doubt: Option<String>,
}

/// Reads the rows of a CSV file as a table.
pub(super) fn read(
    place: &NewPlace,
    options: &NewOptions,
    from: &Path,
    system: &NewFile,
) -> Result<NewRows> {
    let path = format!("{}/{}.parquet", place.folder, place.table);
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
            family: Some(place.family.clone()),
            backend: options.backend.clone(),
            version: options.version.clone(),
        },
        table: place.table.clone(),
        format: Format::Csv,
    };
    let bad = |why: String| {
        let columns =
            place.spec.as_deref().map(|spec| format!(" with these columns: {}", header(spec)));
        let hint = format!("the file is a CSV{}", columns.unwrap_or_default());
        Error::new(format!("{shown}: {why}"), hint)
    };
    let first: &[u8] = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if !first.contains(&b',') && first.iter().any(|byte| b";\t".contains(byte)) {
        return Err(Error::new(
            format!("{shown}: the columns are separated by semicolons or tabs"),
            "write commas between the columns, and a point in numbers such as 0.5",
        ));
    }
    let table = file.decode(&place.specs, &bytes).map_err(|why| bad(why.to_string()))?;
    if table.torn.rows > 0 {
        return Err(bad(table.torn.to_string()));
    }
    let doubt = place.spec.as_deref().and_then(|spec| doubt(spec, &file, &table, &place.specs));
    let (count, lines) = (table.rows, table.lines.clone());
    let mut columns = collected(table, place.spec.as_deref());
    let added = identify(&mut columns, place, system, count);
    let added =
        if added.is_empty() { String::new() } else { format!(", with {}", added.join(", ")) };
    let says = format!("{} of {shown}{added}", plural(count, "row"));
    let bytes = encode(&columns)?;
    let made = TableFile { format: Format::Parquet, ..file };
    let learn = || {
        let table = made.decode(&place.specs, &bytes).map_err(|why| bad(why.to_string()))?;
        place.learned(&made, &table)
    };
    let spec = place.spec.is_none().then(learn).transpose()?;
    let file = NewFile { path, bytes, text: None, says, exists: false };
    Ok(NewRows { file, lines, spec, doubt })
}

/// Returns a warning if latencies are probably not in milliseconds, because the fastest row's latency is outside
/// [`FASTEST_MS`]; otherwise `None`.
fn doubt(spec: &TableSpec, file: &TableFile, table: &Table, specs: &Specs) -> Option<String> {
    let scope = TableScope::new(table, spec, &file.place, None, &specs.lookups);
    let rows = LoadedRows::new(&scope).ok()?;
    let fastest = least_positive(&rows.latency)?;
    (!FASTEST_MS.contains(&fastest)).then(|| {
        format!(
            "The fastest row takes {} ms, and that of other tables {} to {} ms: are the latencies in milliseconds?",
            Figure(fastest), FASTEST_MS.start(), FASTEST_MS.end()
        )
    })
}

/// Adds the columns framework, version and device if the rows lack them. Returns the added columns as `name=value`.
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

/// Returns the sidecar of a new table. A sidecar that exists already is kept; if it does not list the table, this is an
/// error.
pub(super) fn sidecar(place: &NewPlace, options: &NewOptions) -> Result<NewFile> {
    let path = format!("{}/collection_meta.yaml", place.folder);
    let table = &place.table;
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
