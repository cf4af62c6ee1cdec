//! Plans rows so that a measured column is present for a given share of each slice.

use std::collections::BTreeMap;

use super::wish::Wish;
use crate::base::error::{Error, Result};
use crate::base::expr::ExprError;
use crate::base::words::plural_verb;
use crate::database::catalog::TableFile;
use crate::database::table::{Table, TableScope};
use crate::jobs::rows::{LoadedRows, misfit, read_table};
use crate::jobs::site::Site;

/// Returns rows to measure for each slice of the selected tables in which fewer than `share` of the
/// keys have the column. The rows lack the column and are evenly spaced by latency.
pub fn wishes(site: &Site, column: &str, share: f64, notes: &mut Vec<String>) -> Result<Vec<Wish>> {
    let (mut all, mut without, mut tables) = (Vec::new(), 0, 0);
    for file in site.tables() {
        let specs = site.specs();
        let table = read_table(site.source.as_ref(), file, specs)?;
        tables += 1;
        if table.column(column).is_none() {
            without += 1;
            continue;
        }
        let found = of_table(site, file, &table, column, share);
        all.extend(found.map_err(|e| misfit(file, e))?);
    }
    if without == tables {
        return Err(Error::new(
            format!("none of the selected tables has a column {column}"),
            "name a measured column that the tables have, such as power",
        ));
    }
    if without > 0 {
        let tables = plural_verb(without, "table", ["has", "have"]);
        notes.push(format!("{tables} no column {column}, and a merge does not add columns"));
    }
    Ok(all)
}

/// The keys of a slice: the number of rows with the column, and latency and row number of each row
/// without it.
#[derive(Default)]
struct SliceCoverage {
    having: usize,
    lacking: Vec<(f64, usize)>,
}

fn of_table(
    site: &Site,
    file: &TableFile,
    table: &Table,
    column: &str,
    share: f64,
) -> Result<Vec<Wish>, ExprError> {
    let specs = site.specs();
    let spec = file.spec(specs, Some(table));
    let system = specs.systems.get(&file.place.system);
    let scope = TableScope::new(table, &spec, &file.place, system, &specs.lookups);
    let loaded = LoadedRows::new(&scope)?;
    let mut slices: BTreeMap<u64, SliceCoverage> = BTreeMap::new();
    for rows in loaded.competing() {
        let Some(row) = loaded.served(&rows) else { continue };
        let slice = slices.entry(loaded.keys.text_code(row)).or_default();
        let has = table.column(column).is_some_and(|c| c.number(row) > 0.0);
        if has {
            slice.having += 1;
        } else {
            slice.lacking.push((loaded.latency[row], row));
        }
    }
    let mut wishes = Vec::new();
    for mut slice in slices.into_values() {
        let of = slice.having + slice.lacking.len();
        let wanted = (share * of as f64).ceil() as usize;
        let missing = wanted.saturating_sub(slice.having).min(slice.lacking.len());
        slice.lacking.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for i in 0..missing {
            let (_, row) = slice.lacking[i * slice.lacking.len() / missing];
            let have = 100.0 * slice.having as f64 / of as f64;
            wishes.push(Wish {
                place: file.place.clone(),
                file: file.clone(),
                row,
                key: BTreeMap::new(),
                reason: format!(
                    "{column} is missing (its slice has it for {have:.0} % of {of} keys)"
                ),
            });
        }
    }
    Ok(wishes)
}
