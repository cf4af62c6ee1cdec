//! Compares the rows that lookups find with the rows that the specs say are served.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::keys::FileKeys;
use super::names::NameCodes;
use super::slices::{FileSlices, SliceKey};
use super::tables::TableName;
use crate::base::random::Random;
use crate::database::catalog::{Format, Place};
use crate::database::served::{FileRowStates, RowState};
use crate::database::table::{Column, Keys, Table, TableScope};
use crate::specs::{ColumnKind, Specs, TableSpec};

fn place(backend: &str, version: &str) -> Place {
    let [system, backend, version] = ["synthetic", backend, version].map(str::to_owned);
    Place { system, family: None, backend, version }
}

fn spec(specs: &Specs, table: TableName) -> &TableSpec {
    specs.tables.get(table.stem()).unwrap()
}

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

/// Reports on rows use hashes of keys to decide which rows are served; lookups use slices.
#[test]
fn the_rows_that_are_served_are_those_that_a_lookup_finds() {
    let fixture = include_str!("../../tests/it/fixtures/planner-synthetic.json");
    let fixture: Value = serde_json::from_str(fixture).unwrap();
    let specs = Specs::embedded().unwrap();
    let names = NameCodes::default();
    let mut seen = BTreeSet::new();
    for (path, rows) in fixture["tables"].as_object().unwrap() {
        let parts: Vec<&str> = path.trim_end_matches(".parquet").split('/').collect();
        let name = TableName::of(parts[3]).unwrap();
        let (table, place) = (table(rows), place(parts[1], parts[2]));
        let scope = TableScope::new(&table, spec(&specs, name), &place, None, &specs.lookups);
        let states = FileRowStates::of(&scope).unwrap();
        let runs = states.runs.iter().filter(|run| run.state == RowState::Served);
        let by_spec: BTreeSet<u32> = runs.flat_map(|run| run.first..run.first + run.rows).collect();
        let slices = FileSlices::group(&scope, &names).unwrap();
        let mut first: BTreeMap<(SliceKey, [u64; 3]), u32> = BTreeMap::new();
        for (key, parts) in slices.iter() {
            for row in parts.iter().flat_map(|part| part.rows.iter().copied()) {
                let known = first.entry((*key, slices.at(row))).or_insert(row);
                *known = row.min(*known);
            }
        }
        let by_lookup: BTreeSet<u32> = first.into_values().collect();
        assert_eq!(by_spec, by_lookup, "{path}");
        seen.insert(name);
    }
    assert_eq!(seen.len(), TableName::ALL.len() - 1, "all but oneCCL's");
}

/// A random table with the columns that the loader reads and few distinct values. About one cell in
/// `refused` is refused by the loader; 0 refuses none.
fn random_table(spec: &TableSpec, random: &mut Random, refused: usize) -> Table {
    let read = FileSlices::columns(spec);
    let kind = |column: &&&str| spec.kind(column).filter(|_| **column != "latency");
    let columns: Vec<(&str, ColumnKind)> =
        read.iter().filter_map(|column| Some((*column, kind(&column)?))).collect();
    let columns: Vec<_> = columns.into_iter().filter(|(name, _)| *name != "power").collect();
    let mut text = columns.iter().map(|(name, _)| format!("{name},")).collect::<String>();
    text += "latency\n";
    for row in 0..400 {
        for (column, kind) in &columns {
            let is_refused = refused > 0 && random.below(refused) == 0;
            text += &match (*column, kind) {
                ("model", _) => "deepseek-ai/DeepSeek-V3".to_owned(),
                ("tp_size", _) => "1".to_owned(),
                (_, ColumnKind::Text) if is_refused => String::new(),
                (_, ColumnKind::Text) => format!("text{}", random.below(3)),
                _ if is_refused => "-3".to_owned(),
                _ => (1 + random.below(5)).to_string(),
            };
            text.push(',');
        }
        text += &format!("{row}.5\n");
    }
    let is_text = |column: &str| spec.kind(column) == Some(ColumnKind::Text);
    Table::decode(text.as_bytes(), Format::Csv, &is_text).unwrap()
}

/// Values of selected parts of a row's key, in the form shown to people.
fn shown(keys: &Keys<'_>, row: usize, parts: impl Fn(&String) -> bool) -> Vec<String> {
    let shown = keys.show(row).into_iter().filter(|(name, _)| parts(name));
    shown.map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn every_row_is_in_its_slice() {
    let mut random = Random::new(5);
    let specs = Specs::embedded().unwrap();
    let place = place("vllm", "1.0.0");
    for name in TableName::ALL {
        let spec = spec(&specs, name);
        for refused in [0, 40] {
            let table = random_table(spec, &mut random, refused);
            let scope = TableScope::new(&table, spec, &place, None, &specs.lookups);
            let names = NameCodes::default();
            let slices = FileSlices::group(&scope, &names).unwrap();
            let found = FileKeys::of(&scope, &names);
            assert_eq!(found.is_some(), refused == 0, "{name:?}");
            let faults = FileRowStates::of(&scope).unwrap().faults;
            assert_eq!(faults.is_empty(), refused == 0, "{name:?}");
            for fault in faults {
                let kernel = names.code(fault.kernel.as_deref().unwrap_or(""));
                assert!(slices.fault(|own| own == kernel).is_some(), "{name:?}");
            }
            if refused > 0 {
                continue;
            }
            let keys = Keys::new(&spec.key, &scope).unwrap();
            let kernel = |row: usize| {
                let kernel = table.column("kernel_source").and_then(|column| column.text(row));
                kernel.unwrap_or("").to_owned()
            };
            let (mut expected, mut expected_keys) = (BTreeSet::new(), BTreeSet::new());
            let mut rows: BTreeMap<Vec<String>, Vec<u32>> = BTreeMap::new();
            for row in 0..table.rows {
                let mut key = shown(&keys, row, |part| !spec.axes.contains(part));
                rows.entry(key.clone()).or_default().push(row as u32);
                key.retain(|part| {
                    spec.near.iter().all(|near| !part.starts_with(&format!("{near}=")))
                });
                expected_keys.insert((key, kernel(row)));
                let at = slices.at(row as u32);
                let axes = spec.axes.iter().zip(at).map(|(axis, at)| format!("{axis}={at}"));
                let axes: BTreeSet<String> = axes.collect();
                let all = shown(&keys, row, |part| spec.axes.contains(part));
                assert_eq!(axes, all.into_iter().collect(), "{name:?}");
                assert_eq!(slices.ms(row as u32), row as f64 + 0.5);
            }
            expected.extend(rows.into_values());
            let mut grouped = BTreeSet::new();
            for (_, parts) in slices.iter() {
                for part in parts {
                    assert!(
                        part.rows
                            .iter()
                            .all(|row| names.code(&kernel(*row as usize)) == part.kernel)
                    );
                    let outer = part.rows.iter().map(|row| slices.at(*row)[0]);
                    let span = [outer.clone().min().unwrap(), outer.max().unwrap()];
                    assert_eq!(part.span, span, "{name:?}");
                }
                let mut rows: Vec<u32> =
                    parts.iter().flat_map(|part| part.rows.iter().copied()).collect();
                rows.sort_unstable();
                grouped.insert(rows);
            }
            assert_eq!(grouped, expected, "{name:?}");
            let found: BTreeSet<_> = slices.keys().collect();
            assert_eq!(found.len(), expected_keys.len(), "{name:?}");
            assert!(!spec.axes.is_empty(), "{name:?}");
        }
    }
}

/// Synthetic messages of up to 2³³ elements, measured by two kernels.
#[test]
fn rows_keep_coordinates_and_kernels_of_any_size_and_order() {
    let sizes = [1_u64 << 33, 8, u64::from(u32::MAX), 4];
    let kernels = ["nccl", "nccl", "oneshot", "nccl"];
    let row = |(size, kernel): (&u64, &str)| format!("half,all_reduce,{kernel},8,{size},0.5\n");
    let rows: String = sizes.iter().zip(kernels).map(row).collect();
    let text = format!("nccl_dtype,op_name,kernel_source,num_gpus,message_size,latency\n{rows}");
    let table = Table::decode(text.as_bytes(), Format::Csv, &|_| false).unwrap();
    let (specs, names) = (Specs::embedded().unwrap(), NameCodes::default());
    let place = place("nccl", "2.27");
    let scope =
        TableScope::new(&table, spec(&specs, TableName::Nccl), &place, None, &specs.lookups);
    let slices = FileSlices::group(&scope, &names).unwrap();
    let read: Vec<u64> = (0..4).map(|row| slices.at(row)[0]).collect();
    assert_eq!(read, sizes);
    let (_, parts) = slices.iter().next().unwrap();
    for part in parts {
        assert!(part.rows.iter().all(|row| names.code(kernels[*row as usize]) == part.kernel));
    }
    let spans: BTreeSet<[u64; 2]> = parts.iter().map(|part| part.span).collect();
    assert_eq!(spans, [[4, 1 << 33], [u64::from(u32::MAX); 2]].into());
}
