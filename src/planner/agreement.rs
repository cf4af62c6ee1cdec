//! The specs of `rules/tables/` and the loaders of this room both state which rows are served; here
//! the two are compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::asked::AskedSlices;
use super::names::NameCodes;
use super::operations::TableName;
use super::slices::FileSlices;
use super::{Column, Specs, Table};
use crate::database::catalog::Place;
use crate::database::served::{RowState, RowStates};
use crate::database::table::TableScope;

fn table(rows: &Value) -> Table {
    let rows_of = rows["rows"].as_array().unwrap();
    let names = rows["columns"].as_array().unwrap().iter().map(|n| n.as_str().unwrap());
    let columns = names.enumerate().map(|(i, name)| {
        let cells: Vec<&Value> = rows_of.iter().map(|row| &row[i]).collect();
        let column = if name == "latency" {
            let values = cells.iter().map(|c| c.as_f64().unwrap()).collect();
            Column::Float { values, nulls: None }
        } else if cells[0].is_string() {
            Column::texts(cells.into_iter().map(Value::as_str))
        } else {
            let nulls = cells.iter().map(|c| c.is_null()).collect();
            let values = cells.iter().map(|c| c.as_i64().unwrap_or(0)).collect();
            Column::Int { values, nulls: Some(nulls) }
        };
        (name.to_owned(), column)
    });
    Table::of(rows_of.len(), columns.collect())
}

/// The specs of `rules/tables/` and the loaders of this room are two statements of which rows a
/// table serves.
#[test]
fn the_rows_that_a_spec_serves_are_those_that_a_lookup_finds() {
    let fixture = include_str!("../../tests/it/fixtures/planner-synthetic.json");
    let fixture: Value = serde_json::from_str(fixture).unwrap();
    let specs = Specs::embedded().unwrap();
    let names = NameCodes::default();
    let mut seen = BTreeSet::new();
    for (path, rows) in fixture["tables"].as_object().unwrap() {
        let parts: Vec<&str> = path.trim_end_matches(".parquet").split('/').collect();
        let name = TableName::of(parts[3]).unwrap();
        let table = table(rows);
        let [system, backend, version] = ["synthetic", parts[1], parts[2]].map(str::to_owned);
        let place = Place { system, family: None, backend, version };
        let spec = specs.tables.get(parts[3]).unwrap();
        let scope = TableScope::new(&table, spec, &place, None, &specs.lookups);
        let states = RowStates::of(&scope).unwrap();
        let runs = states.runs.iter().filter(|run| run.state == RowState::Served);
        let by_spec: BTreeSet<u32> = runs.flat_map(|run| run.first..run.first + run.rows).collect();
        let slices = FileSlices::group(&table, name, &names, &AskedSlices::default()).unwrap();
        let mut by_loader = BTreeSet::new();
        for (key, rows) in slices.iter() {
            // The loader keeps rows without CUDA graphs apart and does not read them.
            if name == TableName::CustomAllReduce && key[1] == 1 {
                continue;
            }
            let mut first: BTreeMap<[u64; 3], u32> = BTreeMap::new();
            for row in rows {
                first.entry(slices.at(row)).or_insert(row.row);
            }
            by_loader.extend(first.into_values());
        }
        assert_eq!(by_spec, by_loader, "{path}");
        seen.insert(name);
    }
    assert_eq!(seen.len(), TableName::ALL.len() - 1, "all but oneCCL's");
}
