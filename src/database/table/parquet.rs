//! Parquet through polars' decoder, one file a thread.

use std::fmt::Display;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars_arrow::array::{Array, ArrayRef, BooleanArray, PrimitiveArray, new_null_array};
use polars_arrow::datatypes::{ArrowDataType, Field};
use polars_arrow::types::NativeType;
use polars_parquet::read::{
    BasicDecompressor, FileMetadata, Filter, PageReader, RowGroupMetadata, column_iter_to_arrays,
    infer_schema, read_metadata,
};

use super::{Column, Table, TableFault, Torn, pages, text};

/// The largest table known has 3.3 million cells; what claims far more is refused before it is
/// decoded, since a few bytes can claim any number.
pub(super) const MOST_CELLS: usize = 12_000_000;

pub(super) fn decode(bytes: &[u8]) -> Result<Table, TableFault> {
    // The decoder panics on some damaged files instead of returning an error.
    guarded(|| read(bytes)).map_err(TableFault::Unreadable)
}

fn guarded<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    crate::base::panics::quiet_panics(|| catch_unwind(AssertUnwindSafe(f)))
        .unwrap_or_else(|_| Err("the decoder gave up on damaged bytes".into()))
}

/// An error of the decoder in one line, however long it is.
pub(super) fn one_line(error: impl Display) -> String {
    let text = error.to_string();
    let text: Vec<&str> = text.split_whitespace().take(40).collect();
    text.join(" ")
}

fn read(bytes: &[u8]) -> Result<Table, String> {
    if bytes.len() < 12 || !bytes.starts_with(b"PAR1") {
        return Err("it does not begin as a parquet file does".into());
    }
    if !bytes.ends_with(b"PAR1") {
        return Err("it does not end as a parquet file does; it is cut off or damaged".into());
    }
    pages::footer(bytes)?;
    let metadata = read_metadata(&mut Cursor::new(bytes)).map_err(one_line)?;
    let schema = infer_schema(&metadata).map_err(one_line)?;
    let (rows, width) = (metadata.num_rows, schema.len());
    if rows.saturating_mul(width.max(1)) > MOST_CELLS {
        return Err(format!(
            "it claims {rows} rows of {width} columns, more than a table has (at most {} M cells)",
            MOST_CELLS / 1_000_000
        ));
    }
    let chunks = metadata.row_groups.iter().flat_map(|g| g.parquet_columns());
    pages::check(bytes, chunks.map(|c| c.byte_range()))?;
    let held = metadata.row_groups.iter().fold(0, |n: usize, g| n.saturating_add(g.num_rows()));
    if held != rows {
        return Err(format!("its footer states {rows} rows, its pages hold {held}"));
    }
    // A column of a type that no table has is named, not decoded; the others are judged.
    let (known, others): (Vec<_>, Vec<_>) = schema.iter_values().partition(|f| decodes(&f.dtype));
    let mut columns: Vec<(String, Column)> = known
        .into_iter()
        .map(|field| Ok((field.name.to_string(), column(bytes, &metadata, field)?)))
        .collect::<Result<_, String>>()?;
    columns.extend(
        others.into_iter().map(|f| (f.name.to_string(), Column::Other(type_name(&f.dtype)))),
    );
    Ok(Table { rows, columns, torn: Torn::default() })
}

/// Whether a column of this type is decoded: the types that tables have, in whatever width.
fn decodes(dtype: &ArrowDataType) -> bool {
    use ArrowDataType as T;
    match dtype {
        T::Boolean | T::Int8 | T::Int16 | T::Int32 | T::Int64 => true,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 | T::Float32 | T::Float64 => true,
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Null => true,
        T::Dictionary(_, values, _) => matches!(**values, T::Utf8 | T::LargeUtf8 | T::Utf8View),
        _ => false,
    }
}

/// A type's name, for people.
fn type_name(dtype: &ArrowDataType) -> String {
    let name = format!("{dtype:?}").to_lowercase();
    name.split(['(', ' ']).next().unwrap_or("unknown").to_owned()
}

/// A column of all row groups.
fn column(bytes: &[u8], metadata: &FileMetadata, field: &Field) -> Result<Column, String> {
    use ArrowDataType as T;
    let mut field = field.clone();
    // Row groups have dictionaries of their own; as names their columns join.
    if matches!(field.dtype, T::Dictionary(..) | T::Utf8 | T::LargeUtf8) {
        field.dtype = T::Utf8View;
    }
    let mut arrays = Vec::new();
    for group in &metadata.row_groups {
        let chunk = chunk(bytes, group, &field)?;
        let (stated, held) = (group.num_rows(), chunk.iter().map(|a| a.len()).sum::<usize>());
        if stated != held {
            let name = &field.name;
            return Err(format!(
                "its footer states {stated} rows, its pages hold {held} of {name}"
            ));
        }
        arrays.extend(chunk);
    }
    cells(&field, &arrays)
}

/// A column of one row group.
fn chunk(bytes: &[u8], group: &RowGroupMetadata, field: &Field) -> Result<Vec<ArrayRef>, String> {
    let Some(chunks) = group.columns_under_root_iter(&field.name) else {
        // The file's Arrow schema names a column that its Parquet schema lacks.
        return Ok(vec![new_null_array(field.dtype.clone(), group.num_rows())]);
    };
    let (mut pages, mut types) = (Vec::new(), Vec::new());
    for chunk in chunks {
        let range = chunk.byte_range();
        let bytes = bytes.get(range.start as usize..range.end as usize);
        let bytes = bytes.ok_or_else(|| format!("column {} lies outside the file", field.name))?;
        let reader = PageReader::new(Cursor::new(bytes.to_vec().into()), chunk, vec![], usize::MAX);
        pages.push(BasicDecompressor::new(reader, vec![]));
        types.push(&chunk.descriptor().descriptor.primitive_type);
    }
    let rows = Filter::new_ranged(0, group.num_rows());
    let (arrays, _) =
        column_iter_to_arrays(pages, types, field.clone(), Some(rows)).map_err(one_line)?;
    Ok(arrays)
}

/// The cells of a column's arrays, all of the field's type.
fn cells(field: &Field, arrays: &[ArrayRef]) -> Result<Column, String> {
    use ArrowDataType as T;
    Ok(match field.dtype {
        T::Utf8View => text::column(&field.name, &cast(arrays)?)?,
        T::Boolean => {
            let bits = cast::<BooleanArray>(arrays)?;
            let values = bits.into_iter().flatten().map(|bit| bit.unwrap_or(false)).collect();
            Column::Bool { values, nulls: nulls(arrays) }
        }
        T::Float32 => floats::<f32>(arrays)?,
        T::Float64 => floats::<f64>(arrays)?,
        T::Int8 => ints::<i8>(arrays)?,
        T::Int16 => ints::<i16>(arrays)?,
        T::Int32 => ints::<i32>(arrays)?,
        T::Int64 => ints::<i64>(arrays)?,
        T::UInt8 => ints::<u8>(arrays)?,
        T::UInt16 => ints::<u16>(arrays)?,
        T::UInt32 => ints::<u32>(arrays)?,
        T::UInt64 => ints::<u64>(arrays)?,
        ref other => Column::Other(type_name(other)),
    })
}

/// Arrays as those of a type; they are of that type unless the file lies about its own.
fn cast<T: Array>(arrays: &[ArrayRef]) -> Result<Vec<&T>, String> {
    let arrays = arrays.iter().map(|array| array.as_any().downcast_ref::<T>());
    arrays.collect::<Option<_>>().ok_or_else(|| "its types differ".to_owned())
}

fn ints<T: NativeType + TryInto<i64>>(arrays: &[ArrayRef]) -> Result<Column, String> {
    let numbers = cast::<PrimitiveArray<T>>(arrays)?.into_iter().flatten();
    let ints = numbers.map(|n| n.map_or(Ok(0), |n| (*n).try_into()));
    Ok(match ints.collect::<Result<_, _>>() {
        Ok(values) => Column::Int { values, nulls: nulls(arrays) },
        Err(_) => Column::Other("a 64-bit number beyond range".into()),
    })
}

fn floats<T: NativeType + Into<f64>>(arrays: &[ArrayRef]) -> Result<Column, String> {
    let numbers = cast::<PrimitiveArray<T>>(arrays)?.into_iter().flatten();
    let values = numbers.map(|n| n.map_or(f64::NAN, |n| (*n).into())).collect();
    Ok(Column::Float { values, nulls: nulls(arrays) })
}

/// Which rows are null; none where no row is.
fn nulls(arrays: &[ArrayRef]) -> Option<Vec<bool>> {
    let any = arrays.iter().any(|array| array.null_count() > 0);
    any.then(|| arrays.iter().flat_map(|a| (0..a.len()).map(|row| a.is_null(row))).collect())
}
