//! Writes columns to a Parquet file as the collectors do: zstd, one row group, text as strings.

use std::sync::Arc;

use polars_arrow::array::{
    ArrayRef, BooleanArray, MutableBinaryViewArray, PrimitiveArray, Utf8ViewArray,
};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::record_batch::RecordBatchT;
use polars_parquet::write::{
    CompressionOptions, FileWriter, StatisticsOptions, Version, WriteOptions, get_dtype_encoding,
    row_group_iter, schema_to_metadata_key,
};

use super::parquet::one_line;
use super::{Column, Table, Wanted, parquet};
use crate::base::error::{Error, Result};

/// Encodes columns as Parquet, decodes the result and checks that every cell is equal.
///
/// Integers are written as int64, numbers as double, flags as bool and texts as string. The public tables have the same
/// types. All columns are nullable.
///
/// # Errors
///
/// If the columns differ in length, two have the same name, one has an unsupported type, or the decoded cells differ.
pub fn encode(columns: &[(String, Column)]) -> Result<Vec<u8>> {
    let failed = |why: String| Error::new(format!("cannot write a table: {why}"), "");
    let bytes = bytes(columns).map_err(failed)?;
    let back = parquet::decode(&bytes, Wanted::All)
        .map_err(|fault| failed(format!("the written table cannot be read back: {fault}")))?;
    match difference(columns, &back) {
        None => Ok(bytes),
        Some(what) => {
            Err(failed(format!("the written table differs when it is read back: {what}")))
        }
    }
}

fn bytes(columns: &[(String, Column)]) -> Result<Vec<u8>, String> {
    let rows = columns.first().map_or(0, |(_, c)| c.len());
    if let Some((name, _)) = columns.iter().find(|(_, c)| c.len() != rows) {
        return Err(format!("column {name} has another length than the first column"));
    }
    let arrays = columns.iter().map(|(name, column)| array(name, column));
    let arrays: Vec<ArrayRef> = arrays.collect::<Result<_, _>>()?;
    // Collectors that merge tables treat string views as another type. Therefore, texts are written as views,
    // but the file's schema names them strings.
    let written = schema(columns, ArrowDataType::Utf8View);
    let named = schema(columns, ArrowDataType::Utf8);
    if named.len() != columns.len() {
        return Err("two columns have the same name".into());
    }
    let options = WriteOptions {
        statistics: StatisticsOptions::default(),
        version: Version::V1,
        compression: CompressionOptions::Zstd(None),
        data_page_size: None,
    };
    let mut bytes = Vec::new();
    let mut file = FileWriter::try_new(&mut bytes, written.clone(), options).map_err(one_line)?;
    if rows > 0 {
        let encodings = written.iter_values().map(|f| get_dtype_encoding(&f.dtype)).collect();
        let types = file.parquet_schema().fields().to_vec();
        let group = RecordBatchT::try_new(rows, Arc::new(written), arrays).map_err(one_line)?;
        let pages = row_group_iter(group, encodings, types, options);
        file.write(rows as u64, pages).map_err(one_line)?;
    }
    file.end(Some(vec![schema_to_metadata_key(&named)])).map_err(one_line)?;
    Ok(bytes)
}

/// Returns the columns' names and types, with `text` as the type of texts.
fn schema(columns: &[(String, Column)], text: ArrowDataType) -> ArrowSchema {
    let fields = columns.iter().map(|(name, column)| {
        let field = Field::new(name.as_str().into(), arrow_type(column, &text), true);
        (field.name.clone(), field)
    });
    fields.collect()
}

fn arrow_type(column: &Column, text: &ArrowDataType) -> ArrowDataType {
    match column {
        Column::Int { .. } => ArrowDataType::Int64,
        Column::Float { .. } => ArrowDataType::Float64,
        Column::Bool { .. } => ArrowDataType::Boolean,
        Column::Text { .. } | Column::Other(_) => text.clone(),
    }
}

fn array(name: &str, column: &Column) -> Result<ArrayRef, String> {
    fn cells<T: Copy>(values: &[T], nulls: &Option<Vec<bool>>) -> impl Iterator<Item = Option<T>> {
        let null = |row| nulls.as_ref().is_some_and(|n| n[row]);
        values.iter().enumerate().map(move |(row, value)| (!null(row)).then_some(*value))
    }
    Ok(match column {
        Column::Int { values, nulls } => {
            cells(values, nulls).collect::<PrimitiveArray<i64>>().boxed()
        }
        Column::Float { values, nulls } => {
            cells(values, nulls).collect::<PrimitiveArray<f64>>().boxed()
        }
        Column::Bool { values, nulls } => cells(values, nulls).collect::<BooleanArray>().boxed(),
        Column::Text { codes, dict, .. } => {
            let cells = codes.iter().map(|code| dict.get(*code as usize));
            let views: Utf8ViewArray = MutableBinaryViewArray::from_iter(cells).into();
            views.boxed()
        }
        Column::Other(kind) => {
            return Err(format!("column {name} contains {kind}, which tables cannot have"));
        }
    })
}

/// Describes the first difference between a table and the columns; `None` if they are equal bit by bit.
fn difference(columns: &[(String, Column)], table: &Table) -> Option<String> {
    let names = || columns.iter().map(|(n, _)| n.as_str());
    if !names().eq(table.columns().map(|(n, _)| n)) {
        return Some("the columns are different".into());
    }
    for ((name, a), (_, b)) in columns.iter().zip(table.columns()) {
        if a.len() != b.len() {
            return Some(format!("{name} has {} rows instead of {}", b.len(), a.len()));
        }
        if let Some(row) = (0..a.len()).find(|row| !same(a, b, *row)) {
            return Some(format!(
                "{name} of row {row} is {} instead of {}",
                b.json(row),
                a.json(row)
            ));
        }
    }
    None
}

fn same(a: &Column, b: &Column, row: usize) -> bool {
    if a.is_null(row) || b.is_null(row) {
        return a.is_null(row) && b.is_null(row);
    }
    match (a, b) {
        (Column::Int { values: a, .. }, Column::Int { values: b, .. }) => a[row] == b[row],
        (Column::Float { values: a, .. }, Column::Float { values: b, .. }) => {
            a[row].to_bits() == b[row].to_bits()
        }
        (Column::Bool { values: a, .. }, Column::Bool { values: b, .. }) => a[row] == b[row],
        (Column::Text { .. }, Column::Text { .. }) => a.text(row) == b.text(row),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn synthetic() -> Vec<(String, Column)> {
        let nulls = Some(vec![false, true, false]);
        let texts = ["0.19", "0.19", "a\"b,\u{e9}"].map(Some);
        vec![
            ("version".into(), Column::texts(texts)),
            ("kernel".into(), Column::texts([Some(""), None, Some("x")])),
            ("m".into(), Column::Int { values: vec![1, i64::MAX, i64::MIN].into(), nulls: None }),
            ("k".into(), Column::Int { values: vec![1, 0, 3].into(), nulls: nulls.clone() }),
            ("graph".into(), Column::Bool { values: vec![true, false, true], nulls }),
            (
                "latency".into(),
                Column::Float { values: vec![0.1 + 0.2, -0.0, 5e-324], nulls: None },
            ),
        ]
    }

    #[test]
    fn a_written_table_is_read_back_unchanged() {
        let columns = synthetic();
        let table = parquet::decode(&encode(&columns).unwrap(), Wanted::All).unwrap();
        assert_eq!(difference(&columns, &table), None);
        assert_eq!(table.rows, 3);
    }

    #[test]
    fn only_wanted_columns_are_decoded() {
        let columns = synthetic();
        let names = ["kernel", "latency", "unknown"].into();
        let table = parquet::decode(&encode(&columns).unwrap(), Wanted::Named(&names)).unwrap();
        let wanted = |(name, _): &(String, Column)| names.contains(name.as_str());
        let wanted: Vec<_> = synthetic().into_iter().filter(wanted).collect();
        assert_eq!((table.rows, wanted.len()), (3, 2));
        assert_eq!(difference(&wanted, &table), None);
    }

    #[test]
    fn the_first_differing_cell_of_two_tables_is_named() {
        let mut columns = synthetic();
        let table = parquet::decode(&encode(&columns).unwrap(), Wanted::All).unwrap();
        columns[2].1 = Column::Int { values: vec![1, 2, i64::MIN].into(), nulls: None };
        let said = difference(&columns, &table).unwrap();
        assert!(said.starts_with("m of row 1 is "), "{said}");
        // Zeros of different signs are different cells.
        let mut columns = synthetic();
        columns[5].1 = Column::Float { values: vec![0.1 + 0.2, 0.0, 5e-324], nulls: None };
        assert!(difference(&columns, &table).unwrap().starts_with("latency of row 1"));
    }

    #[test]
    fn columns_of_unequal_length_or_unknown_type_are_refused() {
        let uneven = [
            ("m".to_owned(), Column::Int { values: vec![1].into(), nulls: None }),
            ("n".to_owned(), Column::Int { values: vec![1, 2].into(), nulls: None }),
        ];
        assert!(encode(&uneven).unwrap_err().message.contains("column n"));
        let odd = [("t".to_owned(), Column::Other("timestamp".into()))];
        assert!(encode(&odd).is_err());
    }
}
