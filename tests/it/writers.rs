//! Parquet files of other writers: pyarrow, polars, DuckDB and fastparquet, in every codec and encoding that is
//! read.

use std::path::PathBuf;

use crate::common::layout::File;
use crate::common::parquet::fixture;
use perfdb_gate::database::catalog::Format;
use perfdb_gate::database::table::{Table, TableFault};
use serde_json::{Value, json};

/// The cells of a row, as `make.py` beside the fixtures makes them.
fn cell(column: &str, i: usize) -> Value {
    match column {
        "kernel_source" if i.is_multiple_of(3) => json!("a name too long for a view"),
        "kernel_source" => json!("cutlass"),
        "unique" => json!(format!("name {i} of sixty-four")),
        "maybe" if !i.is_multiple_of(7) => json!(format!("x{}", i % 5)),
        "m" => json!(i * 8),
        "k" if !i.is_multiple_of(5) => json!(i % 4),
        "latency" if i == 0 => json!(0),
        "latency" if (i as f64 * 0.37).fract() == 0.0 => json!((i as f64 * 0.37) as i64),
        "latency" => json!(i as f64 * 0.37),
        "power" if !i.is_multiple_of(11) => json!(1.0 / (i as f64 + 1.0)),
        "on" => json!(i.is_multiple_of(3)),
        "perhaps" if !i.is_multiple_of(13) => json!(i.is_multiple_of(2)),
        "maybe" | "k" | "power" | "perhaps" | "absent" => Value::Null,
        other => panic!("no column {other}"),
    }
}

#[test]
fn parquet_files_of_other_writers_have_the_same_cells() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/parquet");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().unwrap() != "parquet" || name.starts_with("refused") || name == "empty"
        {
            continue;
        }
        let table = Table::decode(&fixture(&name), Format::Parquet, &|_| false);
        let table = table.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(table.rows, 64, "{name}");
        for (column, cells) in table.columns() {
            for row in 0..64 {
                assert_eq!(cells.json(row), cell(column, row), "{name}: {column} of row {row}");
            }
        }
        read += 1;
    }
    assert!(read >= 18, "{read} files");
}

#[test]
fn a_parquet_file_without_rows_is_an_empty_table() {
    let table = Table::decode(&fixture("empty"), Format::Parquet, &|_| false);
    assert_eq!(table.unwrap_err(), TableFault::Empty);
}

#[test]
fn a_parquet_file_rewritten_from_its_pages_is_the_same_table() {
    for name in ["pyarrow-none", "pyarrow-groups", "pyarrow-v2", "polars"] {
        let bytes = File::read(&fixture(name)).unwrap().write();
        let table = Table::decode(&bytes, Format::Parquet, &|_| false).unwrap();
        assert_eq!(table.column("m").unwrap().json(9), json!(72), "{name}");
    }
}
